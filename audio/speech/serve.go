package speech

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
)

// maxConfig bounds the first line of a child's input.
const maxConfig = 1 << 20

// Serve is the child. The first line of in is its Config as JSON, frames follow. It
// returns when in ends, which is how the parent ends it, or when it cannot go on.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, maxConfig)
	line, err := r.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("speech: read configuration: %w", err)
	}
	w := &writer{w: out}
	var cfg Config
	if err := json.Unmarshal(line, &cfg); err != nil {
		return fail(w, 0, "config", fmt.Errorf("speech: configuration: %w", err))
	}
	if err := lower(cfg.Nice); err != nil {
		return fail(w, 0, "priority", err)
	}
	e, err := load(cfg)
	if err != nil {
		return fail(w, 0, "load", err)
	}
	if err := w.json(0, kReady, e.info()); err != nil {
		return err
	}
	// Files and models in the making took much more than what is left of them.
	go debug.FreeOSMemory()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{ctx: ctx, e: e, out: w, streams: map[uint32]stream{}}
	return s.loop(r)
}

// fail tells the parent and is the error itself.
func fail(w *writer, id uint32, code string, err error) error {
	return errors.Join(err, w.json(id, kError, failure{Code: code, Message: err.Error()}))
}

// lower sets the priority of every thread that there is; those that libraries make later
// inherit it. On Linux a priority is a thread's.
func lower(nice int) error {
	if nice == 0 {
		return nil
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("speech: lower the priority: %w", err)
	}
	for _, t := range tasks {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, nice); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("speech: lower the priority: %w", err)
		}
	}
	return nil
}

// stream is one of the child's. Its methods are called by the loop and do not block, but
// for a vad's sound, which is its computation.
type stream interface {
	sound(pcm []float32) error
	finish()
	peek()
	reset()
	close()
}

// server is a child at work. The loop's goroutine owns streams.
type server struct {
	ctx     context.Context // of everything under way
	e       *engines
	out     *writer
	streams map[uint32]stream
	pcm     []float32
}

// maxStreams bounds what a parent that has lost count could make.
const maxStreams = 4096

func (s *server) loop(r io.Reader) error {
	var buf []byte
	for {
		var f frame
		var err error
		if f, buf, err = readFrame(r, buf); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := s.take(f); err != nil {
			if st := s.streams[f.stream]; st != nil {
				st.close()
				delete(s.streams, f.stream)
			}
			if err := s.out.json(f.stream, kError, failure{Code: "failed", Message: err.Error()}); err != nil {
				return err
			}
		}
	}
}

// take carries out one frame. An error ends the stream. Frames for a stream that is over
// crossed its end on the way and are dropped.
func (s *server) take(f frame) error {
	if f.kind == kOpen {
		return s.open(f.stream, f.body)
	}
	st := s.streams[f.stream]
	if st == nil {
		return nil
	}
	switch f.kind {
	case kSound:
		pcm, err := decode(s.pcm[:0], f.body)
		if err != nil {
			return err
		}
		s.pcm = pcm
		return st.sound(pcm)
	case kFinish:
		st.finish()
	case kPeek:
		st.peek()
	case kReset:
		st.reset()
	case kClose:
		st.close()
		delete(s.streams, f.stream)
	default:
		return fmt.Errorf("speech: a frame of kind %d is not known", f.kind)
	}
	return nil
}

func (s *server) open(id uint32, body []byte) error {
	var o opening
	if err := json.Unmarshal(body, &o); err != nil {
		return fmt.Errorf("speech: open: %w", err)
	}
	if s.streams[id] != nil || id == 0 || len(s.streams) >= maxStreams {
		return fmt.Errorf("speech: open: stream %d is in use, or %d streams are too many", id, len(s.streams))
	}
	var st stream
	var err error
	switch o.Kind {
	case "vad":
		st, err = s.openVAD(id)
	case "stt":
		st, err = s.openEars(id, o)
	case "tts":
		st, err = s.openVoice(id, o)
	default:
		err = fmt.Errorf("speech: open: %q is no kind of stream", o.Kind)
	}
	if err == nil {
		s.streams[id] = st
	}
	return err
}
