package replay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"dure/runtime/event"
	"dure/runtime/swarm"
)

// Stream is the stream of the log that holds seals.
const Stream = "seal"

// A Seal is the payload of run.sealed: the prints of a span of the run's events.
type Seal struct {
	From event.Sequence `json:"from"` // of the run's stream; the first that it has a print of
	To   event.Sequence `json:"to"`
	// Prints are 4 bytes for each event, the highest first.
	Prints []byte `json:"prints"`
	// Whole is a sum over the state after To.
	Whole uint32 `json:"whole"`
}

// SealType is the type of run.sealed.
var SealType = event.MustRegister[Seal](event.NewRegistry(), "run.sealed", 1)

// ErrDiffers: the log folds into another state than the program had that ran it.
var ErrDiffers = errors.New("the log folds into another state than was recorded")

// A book is the recorded prints, by sequence, and what whole states there are.
type book struct {
	prints map[event.Sequence]uint32
	wholes map[event.Sequence]uint32
	last   event.Sequence
}

func readSeals(ctx context.Context, log event.Log) (book, error) {
	b := book{map[event.Sequence]uint32{}, map[event.Sequence]uint32{}, 0}
	for e, err := range log.Read(ctx, Stream, 0) {
		if err != nil {
			return b, err
		}
		s, err := SealType.Decode(e)
		if err != nil {
			return b, err
		}
		if n := len(s.Prints); n == 0 || n%4 != 0 || s.From < 1 || s.To != s.From+event.Sequence(n/4)-1 {
			return b, fmt.Errorf("%w: the seal at position %d has %d bytes of prints for the events %d to %d", event.ErrDamaged, e.Position, len(s.Prints), s.From, s.To)
		}
		for i := range len(s.Prints) / 4 {
			b.prints[s.From+event.Sequence(i)] = binary.BigEndian.Uint32(s.Prints[4*i:])
		}
		b.wholes[s.To] = s.Whole
		b.last = max(b.last, s.To)
	}
	return b, nil
}

// check compares the fold after an event with what was recorded. compared says whether
// there was anything.
func (b book) check(f *fold, e event.Event) (compared bool, err error) {
	want, ok := b.prints[e.Sequence]
	if !ok {
		return false, nil
	}
	if want != f.print {
		return true, fmt.Errorf("%w: from event %d on (%s, position %d): its print is %08x, recorded is %08x", ErrDiffers, e.Sequence, e.Type, e.Position, f.print, want)
	}
	if whole, ok := b.wholes[e.Sequence]; ok {
		got, err := f.whole()
		if err == nil && got != whole {
			err = fmt.Errorf("%w: after event %d (%s, position %d): the sum of the whole is %08x, recorded is %08x", ErrDiffers, e.Sequence, e.Type, e.Position, got, whole)
		}
		return true, err
	}
	return true, nil
}

// Bounds of a seal: so many events, or so much time, whatever comes first.
const (
	sealEvents = 500
	sealEvery  = 30 * time.Second
)

// A Sealer writes the seals of a run that is being run.
type Sealer struct {
	log    event.Log
	fold   *fold
	from   event.Sequence
	prints []byte
	sealed time.Time
}

// NewSealer folds what the log has already, compares it with the seals there, and seals
// what is not sealed. Errors: ErrDiffers, and those of the log.
func NewSealer(ctx context.Context, log event.Log) (*Sealer, error) {
	b, err := readSeals(ctx, log)
	if err != nil {
		return nil, fmt.Errorf("seal the run: %w", err)
	}
	s := &Sealer{log: log, fold: newFold(), sealed: time.Now()}
	for e, err := range log.Read(ctx, swarm.Stream, 0) {
		if err == nil {
			err = s.fold.apply(e)
		}
		if err == nil {
			_, err = b.check(s.fold, e)
		}
		if err != nil {
			return nil, fmt.Errorf("seal the run: %w", err)
		}
		if e.Sequence > b.last {
			s.note(e)
		}
		if len(s.prints) >= 4*sealEvents {
			if err := s.Seal(ctx); err != nil {
				return nil, err
			}
		}
	}
	return s, s.Seal(ctx)
}

func (s *Sealer) note(e event.Event) {
	if len(s.prints) == 0 {
		s.from = e.Sequence
	}
	s.prints = binary.BigEndian.AppendUint32(s.prints, s.fold.print)
}

// Run seals the run's events as they come, until ctx ends.
func (s *Sealer) Run(ctx context.Context) error {
	for e, err := range s.log.Follow(ctx, swarm.Stream, s.fold.state.Last()+1) {
		if err == nil {
			err = s.take(ctx, e)
		}
		if ctx.Err() != nil {
			return nil // what is not sealed is Finish's
		}
		if err != nil {
			return fmt.Errorf("seal the run: %w", err)
		}
	}
	return nil
}

func (s *Sealer) take(ctx context.Context, e event.Event) error {
	if err := s.fold.apply(e); err != nil {
		return err
	}
	s.note(e)
	if len(s.prints) >= 4*sealEvents || time.Since(s.sealed) > sealEvery || e.Type == swarm.Events.Finished.Name() {
		return s.Seal(ctx)
	}
	return nil
}

// Finish takes what came since Run ended, and seals it. It is called after Run returned.
func (s *Sealer) Finish(ctx context.Context) error {
	for e, err := range s.log.Read(ctx, swarm.Stream, s.fold.state.Last()+1) {
		if err == nil {
			err = s.take(ctx, e)
		}
		if err != nil {
			return fmt.Errorf("seal the run: %w", err)
		}
	}
	return s.Seal(ctx)
}

// Seal writes the prints that no seal has yet.
func (s *Sealer) Seal(ctx context.Context) error {
	s.sealed = time.Now()
	if len(s.prints) == 0 {
		return nil
	}
	whole, err := s.fold.whole()
	if err != nil {
		return err
	}
	to := s.from + event.Sequence(len(s.prints)/4) - 1
	e, err := SealType.New(Seal{From: s.from, To: to, Prints: s.prints, Whole: whole})
	if err == nil {
		// The same span is sealed once, also by two who do not know of each other.
		e.ID = event.DerivedID("seal", fmt.Sprint(s.from), fmt.Sprint(to))
		_, err = s.log.Append(ctx, Stream, event.Any, e)
	}
	if err != nil && !errors.Is(err, event.ErrDuplicate) {
		return fmt.Errorf("seal the run: %w", err)
	}
	s.prints = nil
	return nil
}
