package swarm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// GapShape is a long prompt that arrives while streams run.
type GapShape struct {
	Streams      int `json:"streams"`
	PromptTokens int `json:"prompt_tokens"`
	StreamTokens int `json:"stream_tokens"` // each stream may go on for so many
	Before       int `json:"before"`        // deliveries of each stream before the prompt comes
	// Settle is how long the server has to itself before the prompt is sent alone.
	Settle time.Duration `json:"settle_ns"`
	Seed   uint64        `json:"seed"`
}

// DefaultGapShape is the one of the figures in the README.
func DefaultGapShape() GapShape {
	return GapShape{Streams: 8, PromptTokens: 7000, StreamTokens: 6000, Before: 48, Settle: 2 * time.Second, Seed: 1}
}

// GapReport tells how long streams stood still, in milliseconds.
type GapReport struct {
	Server Kind     `json:"server"`
	Model  string   `json:"model"`
	Shape  GapShape `json:"shape"`

	// Step is the time of a token while only the streams ran, Gap the time
	// between deliveries while the prompt was read.
	Step Spread `json:"step_before_ms"`
	Gap  Spread `json:"gap_during_ms"`
	// Loaded is the prompt's time to first token beside the streams, Solo that
	// of another prompt of the same length on the idle server.
	Loaded float64 `json:"ttft_loaded_ms"`
	Solo   float64 `json:"ttft_solo_ms"`
	Prompt *int    `json:"prompt_tokens_told"`
}

// GapRatio is the p99 of the gaps over the median step.
func (r *GapReport) GapRatio() float64 { return ratio(r.Gap.P99, r.Step.P50) }

// TTFTRatio is the loaded time to first token over the solo one.
func (r *GapReport) TTFTRatio() float64 { return ratio(r.Loaded, r.Solo) }

// Gap measures one long prompt beside running streams, then alone.
func Gap(ctx context.Context, e *Endpoint, s GapShape) (*GapReport, error) {
	if s.Streams < 1 || s.PromptTokens < 1 || s.StreamTokens < 1 || s.Before < 2 {
		return nil, errors.New("gap: streams and tokens must be positive, deliveries before the prompt at least 2")
	}
	var texts [2]string
	for i := range texts {
		text, err := fit(ctx, s.Seed, fmt.Sprintf("gap %d", i), s.PromptTokens, e.counter())
		if err != nil {
			return nil, err
		}
		texts[i] = text
	}
	r := &GapReport{Server: e.Kind, Model: e.Model, Shape: s}
	if err := r.loaded(ctx, e, texts[0]); err != nil {
		return nil, err
	}
	if !sleep(ctx, s.Settle) {
		return nil, ctx.Err()
	}
	solo := e.Chat(ctx, Ask{Messages: User(texts[1]), Output: 8}, nil)
	if !solo.OK() {
		return nil, fmt.Errorf("prompt on the idle server: %w", solo.Err)
	}
	r.Solo = solo.wait()
	return r, nil
}

// loaded measures the prompt beside the streams.
func (r *GapReport) loaded(ctx context.Context, e *Endpoint, text string) error {
	inner, cancel := context.WithCancel(ctx)
	streams := newStreams(r.Shape.Streams)
	streams.start(inner, e, r.Shape)
	defer streams.wg.Wait()
	defer cancel() // before the wait
	if err := streams.until(ctx, r.Shape.Before); err != nil {
		return err
	}
	prompt := e.Chat(ctx, Ask{Messages: User(text), Output: 8}, nil)
	running := streams.running()
	cancel()
	streams.wg.Wait()
	if !prompt.OK() {
		return fmt.Errorf("prompt beside %d streams: %w", r.Shape.Streams, prompt.Err)
	}
	if running < r.Shape.Streams {
		return fmt.Errorf("%d of %d streams ended before the prompt was read (%v); raise their tokens, or the server's context",
			r.Shape.Streams-running, r.Shape.Streams, streams.firstError())
	}
	if prompt.Prompt != notTold {
		r.Prompt = &prompt.Prompt
	}
	r.Loaded = prompt.wait()
	r.Step, r.Gap = streams.split(prompt.Sent, prompt.Deliveries[0].At)
	return nil
}

// streams that run side by side.
type streams struct {
	turns []Turn
	seen  []atomic.Int64 // deliveries of each
	news  chan struct{}
	left  atomic.Int64
	wg    sync.WaitGroup
}

func newStreams(n int) *streams {
	return &streams{turns: make([]Turn, n), seen: make([]atomic.Int64, n), news: make(chan struct{}, 1)}
}

func (s *streams) start(ctx context.Context, e *Endpoint, shape GapShape) {
	s.left.Store(int64(len(s.turns)))
	for i := range s.turns {
		task := fmt.Sprintf("Story %d. %s", i, Text(shape.Seed, fmt.Sprintf("stream %d", i), 24))
		s.wg.Go(func() {
			s.turns[i] = e.Chat(ctx, Ask{Messages: User(task), Output: shape.StreamTokens}, func() {
				s.seen[i].Add(1)
				s.tell()
			})
			s.left.Add(-1)
			s.tell()
		})
	}
}

// tell wakes whoever waits in until; one message stands for all.
func (s *streams) tell() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *streams) running() int { return int(s.left.Load()) }

// until waits for n deliveries of each stream after the last one began.
func (s *streams) until(ctx context.Context, n int) error {
	goals := make([]int64, len(s.turns))
	for _, more := range []int64{1, int64(n)} {
		for i := range goals {
			goals[i] = s.seen[i].Load() + more
		}
		for !s.reached(goals) {
			if s.running() < len(s.turns) {
				return errors.New("a stream ended before the measurement began: raise the streams' tokens, or see that the server takes so many at once")
			}
			select {
			case <-s.news:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

func (s *streams) reached(goals []int64) bool {
	for i, goal := range goals {
		if s.seen[i].Load() < goal {
			return false
		}
	}
	return true
}

func (s *streams) firstError() error {
	for i := range s.turns {
		if err := s.turns[i].Err; err != nil && err.Kind != KindInterrupted {
			return err
		}
	}
	return errors.New("they had all the tokens that were asked for")
}

// split returns the steps while all streams ran and the prompt was not there,
// and the gaps that touch the time from when it was sent to its first token.
func (s *streams) split(sent, first time.Time) (before, during Spread) {
	var all time.Time // when the last stream began
	for i := range s.turns {
		if at := s.turns[i].Deliveries[0].At; at.After(all) {
			all = at
		}
	}
	var steps, gaps []float64
	for i := range s.turns {
		steps = append(steps, s.turns[i].steps(func(from, to time.Time) bool { return !from.Before(all) && !to.After(sent) })...)
		gaps = append(gaps, s.turns[i].gaps(func(from, to time.Time) bool { return to.After(sent) && from.Before(first) })...)
	}
	return NewSpread(steps), NewSpread(gaps)
}
