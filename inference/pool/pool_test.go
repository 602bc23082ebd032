package pool

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"dure/inference"
)

// fakeRunner answers "name/n" where n counts the loads.
type fakeRunner struct {
	text   string
	lost   chan struct{}
	once   sync.Once
	closed atomic.Bool
	// diesOnUse breaks the first request before its first event.
	diesOnUse bool
}

func (r *fakeRunner) die()                  { r.once.Do(func() { close(r.lost) }) }
func (r *fakeRunner) Info() inference.Info  { return inference.Info{Name: r.text} }
func (r *fakeRunner) Lost() <-chan struct{} { return r.lost }
func (r *fakeRunner) End() error            { return inference.Errorf(inference.CodeRunnerLost, "lost") }
func (r *fakeRunner) Close() error          { r.closed.Store(true); r.die(); return nil }

func (r *fakeRunner) Generate(ctx context.Context, _ *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		if err := r.use(); err != nil {
			yield(inference.Event{}, err)
			return
		}
		_ = yield(inference.Event{Kind: inference.EventText, Text: r.text}, nil) &&
			yield(inference.Event{Kind: inference.EventDone}, nil)
	}
}

// use is how every question begins.
func (r *fakeRunner) use() error {
	if r.diesOnUse {
		r.die()
	}
	if isLost(r) {
		return inference.Errorf(inference.CodeRunnerLost, "lost")
	}
	return nil
}

func (r *fakeRunner) Tokenize(_ context.Context, text string, _ bool) ([]int32, error) {
	return []int32{int32(len(text))}, r.use()
}

func (r *fakeRunner) Detokenize(_ context.Context, tokens []int32) ([][]byte, error) {
	return make([][]byte, len(tokens)), r.use()
}

func (r *fakeRunner) Render(context.Context, *inference.Request, bool) (string, error) {
	return r.text, r.use()
}

// starter makes fakeRunners; gate, when set, holds loads back.
type starter struct {
	loads     atomic.Int32
	gate      chan struct{}
	fail      error
	diesOnUse int32 // runners up to this count break when used
	mu        sync.Mutex
	all       []*fakeRunner
}

func (s *starter) start(ctx context.Context, name string, shrink int) (Runner, int64, error) {
	n := s.loads.Add(1)
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
	if s.fail != nil {
		return nil, 0, s.fail
	}
	r := &fakeRunner{text: name, lost: make(chan struct{}), diesOnUse: n <= s.diesOnUse}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, r)
	return r, 1, nil
}

func newPool(s *starter) *Pool {
	return New(Rules{}, []Spec{{Name: "a"}, {Name: "b"}}, s.start, slog.New(slog.DiscardHandler))
}

func say(ctx context.Context, p *Pool, name string) (string, error) {
	m, release, err := p.Open(ctx, name, 0)
	if err != nil {
		return "", err
	}
	defer release()
	var b strings.Builder
	for ev, err := range m.Generate(ctx, &inference.Request{}) {
		if err != nil {
			return b.String(), err
		}
		b.WriteString(ev.Text)
	}
	return b.String(), nil
}

func TestConcurrentCallersJoinOneLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &starter{gate: make(chan struct{})}
		p := newPool(s)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if text, err := say(t.Context(), p, "a"); err != nil || text != "a" {
					t.Errorf("got %q, %v", text, err)
				}
			})
		}
		synctest.Wait()
		close(s.gate)
		wg.Wait()
		if n := s.loads.Load(); n != 1 {
			t.Errorf("%d loads for one model", n)
		}
		p.Close()
		if !s.all[0].closed.Load() {
			t.Error("the runner was not closed")
		}
	})
}

func TestLostRunnerIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // later attempts wait
		s := &starter{}
		p := newPool(s)
		defer p.Close()
		for range 3 {
			if _, err := say(t.Context(), p, "a"); err != nil {
				t.Fatal(err)
			}
			s.all[len(s.all)-1].die()
		}
		if n := s.loads.Load(); n != 3 {
			t.Errorf("%d loads, want one for each life", n)
		}
		if len(p.Loaded()) != 0 {
			t.Errorf("a dead runner is listed: %v", p.Loaded())
		}
	})
}

func TestRequestThatHadNoAnswerIsTriedOnceMore(t *testing.T) {
	s := &starter{diesOnUse: 1}
	p := newPool(s)
	defer p.Close()
	if text, err := say(t.Context(), p, "a"); err != nil || text != "a" {
		t.Fatalf("got %q, %v", text, err)
	}
	s2 := &starter{diesOnUse: 100}
	p2 := newPool(s2)
	defer p2.Close()
	if _, err := say(t.Context(), p2, "a"); !errors.Is(err, inference.ErrRunnerLost) {
		t.Fatalf("a model that always dies: %v", err)
	}
	if n := s2.loads.Load(); n != 2 {
		t.Errorf("%d loads, want two tries", n)
	}
}

func TestQuestionsAreAskedOnceMoreToo(t *testing.T) {
	p := newPool(&starter{diesOnUse: 1})
	defer p.Close()
	m, release, err := p.Open(t.Context(), "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	tokens, err := m.(inference.Tokenizer).Tokenize(t.Context(), "four", false)
	if err != nil || len(tokens) != 1 || tokens[0] != 4 {
		t.Errorf("%v, %v", tokens, err)
	}
	p2 := newPool(&starter{diesOnUse: 100})
	defer p2.Close()
	m2, release2, err := p2.Open(t.Context(), "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer release2()
	if _, err := m2.(inference.Tokenizer).Render(t.Context(), nil, true); !errors.Is(err, inference.ErrRunnerLost) {
		t.Errorf("a model that always dies: %v", err)
	}
}

func TestFailedLoadIsToldToAllAndTriedAgain(t *testing.T) {
	s := &starter{fail: inference.Errorf(inference.CodeLoadFailed, "no memory")}
	p := newPool(s)
	defer p.Close()
	for want := int32(1); want <= 2; want++ {
		if _, err := say(t.Context(), p, "a"); !errors.Is(err, inference.ErrLoadFailed) {
			t.Fatal(err)
		}
		if n := s.loads.Load(); n != want {
			t.Errorf("%d loads, want %d", n, want)
		}
	}
}

func TestUnknownModelNamesThoseThatExist(t *testing.T) {
	p := newPool(&starter{})
	defer p.Close()
	_, err := say(t.Context(), p, "c")
	if !errors.Is(err, inference.ErrModelNotFound) || !strings.Contains(err.Error(), "a, b") {
		t.Fatal(err)
	}
}

func TestCallerThatLeavesDoesNotStopTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &starter{gate: make(chan struct{})}
		p := newPool(s)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { synctest.Wait(); cancel() }()
		if _, err := say(ctx, p, "a"); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		close(s.gate)
		if _, err := say(t.Context(), p, "a"); err != nil || s.loads.Load() != 1 {
			t.Fatalf("%v after %d loads", err, s.loads.Load())
		}
		p.Close()
	})
}

func TestCloseWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &starter{gate: make(chan struct{})}
		p := newPool(s)
		got := make(chan error, 1)
		go func() { _, err := say(t.Context(), p, "a"); got <- err }()
		synctest.Wait()
		p.Close()
		if err := <-got; err == nil {
			t.Error("a load survived the close")
		}
		if _, err := say(t.Context(), p, "a"); !errors.Is(err, inference.ErrShuttingDown) {
			t.Errorf("open after close: %v", err)
		}
	})
}
