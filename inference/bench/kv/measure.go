package kv

import (
	"context"
	"fmt"
	"time"

	"dure/inference/engine"
)

// parked is a setting that is ready to park states of the model.
type parked struct {
	Setting
	transform Transform
}

// bench is a run under way.
type bench struct {
	Options
	*rig
	hot    []Setting
	parked []parked
	ref    reference
	out    *Outcome
	// of the text that is measured now: how far the settings have read it, the full
	// cache the last of them
	reading text
	threads []thread
	begun   time.Time
	// spent on units that are done, which computed so many tokens
	spent time.Duration
	done  int
}

// text names one text.
type text struct {
	kind   Kind
	number int
}

// thread is a text as it is read on by one hot setting, from length to length.
type thread struct {
	state []byte
	end   int
}

// passage is one length of one text.
type passage struct {
	kind   Kind
	text   int
	tokens []engine.Token // of the whole text
	length int            // of the context
	starts []int          // of what is to be repeated
}

func (p passage) context() []engine.Token { return p.tokens[:p.length] }

func (b *bench) follow(p passage) []engine.Token { return p.tokens[p.length : p.length+b.Follow] }

func (p passage) sample(setting string) Sample {
	return Sample{Setting: setting, Kind: p.kind, Text: p.text, Length: p.length}
}

// passageOf measures one text at one length. Texts are read on from the length before.
func (b *bench) passageOf(ctx context.Context, u unit) ([]Sample, error) {
	longest := b.Lengths[len(b.Lengths)-1] + b.Follow
	tokens, err := b.fitted(ctx, longest, true, func(bytes int) string { return Text(u.kind, b.seed(u.text), bytes) })
	if err != nil {
		return nil, err
	}
	if now := (text{u.kind, u.text}); b.reading != now || b.threads == nil {
		b.reading, b.threads = now, make([]thread, len(b.hot)+1)
	}
	p := passage{kind: u.kind, text: u.text, tokens: tokens, length: u.length}
	d := dice{source("repeat", b.seed(u.text)+uint64(u.length))}
	for range b.Repeats {
		if room := u.length - repeatCue - repeatSpan; room > 0 {
			p.starts = append(p.starts, d.IntN(room))
		}
	}
	return b.passage(ctx, p, b.threads)
}

func (b *bench) seed(text int) uint64 { return b.Seed<<16 + uint64(text) }

// fitted is exactly so many tokens of an endless text; open ones begin it as the model
// wants it.
func (b *bench) fitted(ctx context.Context, n int, open bool, text func(bytes int) string) ([]engine.Token, error) {
	for bytes := 4 * n; ; bytes *= 2 {
		tokens, err := b.rig.tokens(ctx, text(bytes), open)
		if err != nil {
			return nil, err
		}
		if len(tokens) >= n {
			return tokens[:n], nil
		}
		if bytes > 256*n {
			return nil, fmt.Errorf("%d bytes of text have %d tokens only", bytes, len(tokens))
		}
	}
}

// passage is one length of one text for all settings.
func (b *bench) passage(ctx context.Context, p passage, threads []thread) ([]Sample, error) {
	full := &threads[len(threads)-1]
	state, repeat, err := b.fullPassage(ctx, p, full)
	if err != nil {
		return nil, fmt.Errorf("f16 cache: %w", err)
	}
	var out []Sample
	for _, s := range b.parked {
		sample := p.sample(s.Name)
		sample.FullRepeat, sample.StateBytes = repeat, len(state)
		if err := b.parkedPassage(ctx, p, s, state, &sample); err != nil {
			return nil, fmt.Errorf("class %s: %w", s.Name, err)
		}
		out = append(out, sample)
	}
	for i, s := range b.hot {
		sample := p.sample(s.Name)
		sample.FullRepeat, sample.StateBytes = repeat, len(state)
		if err := b.hotPassage(ctx, p, s, &threads[i], &sample); err != nil {
			return nil, fmt.Errorf("cache %s: %w", s.Name, err)
		}
		out = append(out, sample)
	}
	return out, nil
}

// advance reads the text up to the context's end, from where it was left if that is
// before it.
func (l *line) advance(ctx context.Context, p passage, t *thread) error {
	if t.end == 0 || t.end > p.length {
		t.end = 0
		if err := l.clear(); err != nil {
			return err
		}
	} else if err := l.set(t.state, t.end); err != nil {
		return err
	}
	return l.read(ctx, p.tokens[t.end:p.length])
}

// keep remembers where the text was left.
func (l *line) keep(t *thread) (err error) {
	t.state, err = l.state()
	t.end = l.end
	return err
}

// fullPassage is the reference, and the state of the context.
func (b *bench) fullPassage(ctx context.Context, p passage, t *thread) (state []byte, repeat float64, err error) {
	l := b.full
	if err := l.advance(ctx, p, t); err != nil {
		return nil, 0, err
	}
	if state, err = l.state(); err != nil {
		return nil, 0, err
	}
	if err := l.set(state, p.length); err != nil { // as the parked ones are
		return nil, 0, err
	}
	if err := b.ref.learn(ctx, l, b.follow(p), b.model.Facts().Vocabulary); err != nil {
		return nil, 0, err
	}
	if err := l.keep(t); err != nil {
		return nil, 0, err
	}
	if err := l.rewind(p.length, state); err != nil {
		return nil, 0, err
	}
	repeat, err = b.repeatLogprob(ctx, l, state, p.context(), p.starts)
	return state, repeat, err
}

func (b *bench) parkedPassage(ctx context.Context, p passage, s parked, state []byte, out *Sample) error {
	back, err := s.roundTrip(state, out)
	if err != nil {
		return err
	}
	return b.against(ctx, b.full, back, p, out)
}

// roundTrip parks a state and takes it back.
func (s parked) roundTrip(state []byte, out *Sample) ([]byte, error) {
	begun := time.Now()
	coded, err := s.transform.Encode(state)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	out.EncodeMS, out.CodedBytes = ms(begun), len(coded)
	begun = time.Now()
	back, err := s.transform.Decode(coded)
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	out.DecodeMS = ms(begun)
	if len(back) != len(state) {
		return nil, fmt.Errorf("%d bytes came back as %d", len(state), len(back))
	}
	return back, nil
}

func ms(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }

// against sets a state of the context and compares what follows.
func (b *bench) against(ctx context.Context, l *line, state []byte, p passage, out *Sample) (err error) {
	if err := l.set(state, p.length); err != nil {
		return err
	}
	if err := b.ref.compare(ctx, l, b.follow(p), out); err != nil {
		return err
	}
	if err := l.rewind(p.length, state); err != nil {
		return err
	}
	out.Repeat, err = b.repeatLogprob(ctx, l, state, p.context(), p.starts)
	return err
}

func (b *bench) hotPassage(ctx context.Context, p passage, s Setting, t *thread, out *Sample) error {
	return b.with(s, func(l *line) error {
		if err := l.advance(ctx, p, t); err != nil {
			return err
		}
		state, err := l.state()
		if err != nil {
			return err
		}
		if err := l.set(state, p.length); err != nil {
			return err
		}
		if err := b.ref.compare(ctx, l, b.follow(p), out); err != nil {
			return err
		}
		if err := l.keep(t); err != nil {
			return err
		}
		if err := l.rewind(p.length, state); err != nil {
			return err
		}
		out.Repeat, err = b.repeatLogprob(ctx, l, state, p.context(), p.starts)
		return err
	})
}

// with has a hot setting's context for as long as it is used: one at a time, since a
// card may hold no more.
func (b *bench) with(s Setting, use func(*line) error) (err error) {
	l, err := b.open(s)
	if err != nil {
		return err
	}
	defer func() {
		if e := l.close(); err == nil {
			err = e
		}
	}()
	return use(l)
}
