package vad

import (
	"context"
	"fmt"
	"slices"

	"dure/audio/onnx"
)

// Hop is how long one probability is of, at a rate: 32 ms. 0 is a rate that the network
// does not know.
func Hop(rate int) int {
	switch rate {
	case 16000:
		return 512
	case 8000:
		return 256
	}
	return 0
}

// Model is the loaded network, shared by any number of streams.
type Model struct {
	lib     *onnx.Library
	session *onnx.Session
	legacy  bool
}

// Load reads the network from the bytes of a silero_vad .onnx file of version 4 or later.
func Load(lib *onnx.Library, model []byte) (*Model, error) {
	s, err := lib.Load(model, onnx.Options{Threads: 1})
	if err != nil {
		return nil, fmt.Errorf("load voice detector: %w", err)
	}
	in := s.Inputs()
	switch {
	case slices.Equal(in, []string{"input", "state", "sr"}):
		return &Model{lib: lib, session: s}, nil
	case slices.Equal(in, []string{"input", "sr", "h", "c"}):
		return &Model{lib: lib, session: s, legacy: true}, nil
	}
	s.Close()
	return nil, fmt.Errorf("load voice detector: it takes %v; want Silero VAD of version 4, 5 or 6", in)
}

// Close releases the network. Its streams must not be used any more.
func (m *Model) Close() { m.session.Close() }

// Stream is one person's sound. It is used by one goroutine at a time.
type Stream struct {
	m       *Model
	rate    int
	hop     int
	context int       // samples before a hop that the network sees with it
	window  []float32 // context, then the hop
	pending []float32 // less than a hop
	state   [2][]float32
}

// Open begins a stream at 8000 or 16000 samples a second.
func (m *Model) Open(rate int) (*Stream, error) {
	s := &Stream{m: m, rate: rate, hop: Hop(rate)}
	if s.hop == 0 {
		return nil, fmt.Errorf("voice detector: %d samples a second: want 8000 or 16000", rate)
	}
	if !m.legacy {
		s.context = s.hop / 8
	}
	s.window = make([]float32, s.context+s.hop)
	s.Reset()
	return s, nil
}

// Reset forgets what was heard.
func (s *Stream) Reset() {
	clear(s.window)
	s.pending = s.pending[:0]
	size := []int{2 * 128, 0}
	if s.m.legacy {
		size = []int{2 * 64, 2 * 64}
	}
	for i, n := range size {
		s.state[i] = make([]float32, n)
	}
}

// Feed takes samples of any number and calls hear with the probability of speech, from 0
// to 1, of every hop that became whole.
func (s *Stream) Feed(ctx context.Context, samples []float32, hear func(p float32)) error {
	for len(samples) > 0 {
		n := min(len(samples), s.hop-len(s.pending))
		s.pending = append(s.pending, samples[:n]...)
		samples = samples[n:]
		if len(s.pending) < s.hop {
			return nil
		}
		copy(s.window, s.window[s.hop:])
		copy(s.window[s.context:], s.pending)
		s.pending = s.pending[:0]
		p, err := s.one(ctx)
		if err != nil {
			return fmt.Errorf("voice detector: %w", err)
		}
		hear(p)
	}
	return nil
}

// one runs the network over the window and keeps its state.
func (s *Stream) one(ctx context.Context) (float32, error) {
	var in []*onnx.Value
	defer func() { onnx.CloseAll(in) }()
	add := func(v *onnx.Value, err error) error {
		if err == nil {
			in = append(in, v)
		}
		return err
	}
	lib := s.m.lib
	if err := add(onnx.New(lib, []int64{1, int64(len(s.window))}, s.window)); err != nil {
		return 0, err
	}
	rate := []int64{int64(s.rate)}
	var err error
	if s.m.legacy {
		shape := []int64{2, 1, 64}
		if err = add(onnx.New(lib, []int64{}, rate)); err == nil {
			if err = add(onnx.New(lib, shape, s.state[0])); err == nil {
				err = add(onnx.New(lib, shape, s.state[1]))
			}
		}
	} else if err = add(onnx.New(lib, []int64{2, 1, 128}, s.state[0])); err == nil {
		err = add(onnx.New(lib, []int64{}, rate))
	}
	if err != nil {
		return 0, err
	}
	out, err := s.m.session.Run(ctx, in...)
	if err != nil {
		return 0, err
	}
	defer onnx.CloseAll(out)
	for i, v := range out[1:] {
		state, err := onnx.Data[float32](v)
		if err != nil || len(state) != len(s.state[i]) {
			return 0, fmt.Errorf("the network's state has %d numbers, want %d: %w", len(state), len(s.state[i]), err)
		}
		copy(s.state[i], state)
	}
	p, err := onnx.Data[float32](out[0])
	if err != nil || len(p) != 1 {
		return 0, fmt.Errorf("the network gave %d probabilities, want 1: %w", len(p), err)
	}
	return p[0], nil
}
