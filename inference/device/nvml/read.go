package nvml

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"unsafe"
)

// maxCards bounds what a broken library may claim.
const maxCards = 256

// Read looks at all cards. Give ctx a deadline: a sick driver may never answer.
//
// The error is about the driver as a whole: DriverNotLoaded, VersionMismatch,
// NoPermission, ErrNoAnswer. What goes wrong for one card or one reading stands
// beside it in the Snapshot.
func (l *Library) Read(ctx context.Context) (Snapshot, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return Snapshot{}, fmt.Errorf("read NVIDIA's cards: an earlier call is still inside: %w: %w", ErrNoAnswer, ctx.Err())
	}
	if err := l.mayStart(ctx); err != nil {
		<-l.turn
		return Snapshot{}, err
	}
	type answer struct {
		s   Snapshot
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		s, err := l.snapshot()
		<-l.turn
		answers <- answer{s, err}
	}()
	select {
	case a := <-answers:
		return a.s, a.err
	case <-ctx.Done():
		return Snapshot{}, fmt.Errorf("read NVIDIA's cards: %w: %w", ErrNoAnswer, ctx.Err())
	}
}

// mayStart keeps a call from being left behind where its answer is not wanted.
func (l *Library) mayStart(ctx context.Context) error {
	if l.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("read NVIDIA's cards: %w", err)
	}
	return nil
}

func (l *Library) snapshot() (Snapshot, error) {
	if !l.initialised {
		if err := l.call("nvmlInit_v2"); err != nil {
			return Snapshot{}, fmt.Errorf("start NVIDIA's management library: %w", err)
		}
		l.initialised = true
	}
	var s Snapshot
	var count uint32
	if err := l.call("nvmlDeviceGetCount_v2", uintptr(unsafe.Pointer(&count))); err != nil {
		return Snapshot{}, errors.Join(fmt.Errorf("count NVIDIA's cards: %w", err), l.shutdown())
	}
	if count > maxCards {
		return Snapshot{}, fmt.Errorf("count NVIDIA's cards: the library says %d, which cannot be", count)
	}
	version := make([]byte, 80)
	err := l.call("nvmlSystemGetDriverVersion", uintptr(unsafe.Pointer(&version[0])), uintptr(len(version)))
	s.Driver = value(text(version), err)
	s.CUDA = l.cudaVersion()
	lost := false
	for i := range int(count) {
		card := l.card(i)
		lost = lost || card.Lost() != nil
		s.Cards = append(s.Cards, card)
	}
	if lost {
		// A card that comes back is seen only after a new start. That the
		// shutdown fails with a lost card is no news.
		_ = l.shutdown()
	}
	return s, nil
}

func (l *Library) cudaVersion() Value[Version] {
	var v int32
	err := l.call("nvmlSystemGetCudaDriverVersion_v2", uintptr(unsafe.Pointer(&v)))
	return value(Version{int(v) / 1000, int(v) % 1000 / 10}, err)
}

// text is the C string in a buffer, whose end may be missing.
func text(buf []byte) string {
	if end := bytes.IndexByte(buf, 0); end >= 0 {
		buf = buf[:end]
	}
	return string(buf)
}
