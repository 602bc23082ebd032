package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dure/inference"
)

// card has room for so many bytes of fake models, each of ten or less.
type card struct {
	mu   sync.Mutex
	free int64
}

// held gives its bytes back when it is closed.
type held struct {
	*fakeRunner
	card  *card
	bytes int64
	close sync.Once
}

func (h *held) Close() error {
	h.close.Do(func() {
		h.card.mu.Lock()
		defer h.card.mu.Unlock()
		h.card.free += h.bytes
	})
	return h.fakeRunner.Close()
}

func (c *card) start(_ context.Context, name string, shrink int) (Runner, int64, error) {
	time.Sleep(time.Second) // of the test's own clock
	c.mu.Lock()
	defer c.mu.Unlock()
	bytes := max(int64(10>>shrink), 1)
	if bytes > c.free {
		return nil, 0, &NoRoomError{Missing: bytes - c.free, Err: fmt.Errorf("%s lacks %d", name, bytes-c.free)}
	}
	c.free -= bytes
	return &held{fakeRunner: &fakeRunner{text: name, lost: make(chan struct{})}, card: c, bytes: bytes}, bytes, nil
}

func cardPool(room int64, rules Rules, specs ...Spec) *Pool {
	return New(rules, specs, (&card{free: room}).start, slog.New(slog.DiscardHandler))
}

// states is the pool in a line: name, state and bytes of each model.
func states(p *Pool) string {
	var all []string
	for _, s := range p.Status() {
		all = append(all, fmt.Sprintf("%s %s %d", s.Name, s.State, s.Bytes))
	}
	return strings.Join(all, ", ")
}

func wantStates(t *testing.T, p *Pool, want string) {
	t.Helper()
	if got := states(p); got != want {
		t.Errorf("the pool is %q, want %q", got, want)
	}
}

func mustSay(t *testing.T, p *Pool, name string) {
	t.Helper()
	if text, err := say(t.Context(), p, name); err != nil || text != name {
		t.Fatalf("%q, %v", text, err)
	}
}

func TestModelsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := cardPool(15, Rules{}, Spec{Name: "a"}, Spec{Name: "b"})
		defer p.Close()
		mustSay(t, p, "a")
		mustSay(t, p, "b")
		wantStates(t, p, "a absent 0, b loaded 10")
	})
}

func TestALoadThatDoesNotFitIsMadeSmaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := cardPool(4, Rules{}, Spec{Name: "a"})
		defer p.Close()
		mustSay(t, p, "a")
		if s := p.Status(); s[0].Shrunk != 2 || s[0].Bytes != 2 {
			t.Errorf("%+v", s)
		}
		none := cardPool(0, Rules{}, Spec{Name: "a"})
		defer none.Close()
		if _, err := say(t.Context(), none, "a"); err == nil || !strings.Contains(err.Error(), "a lacks") {
			t.Errorf("without any room: %v", err)
		}
	})
}

func TestLoadAndUnload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := cardPool(100, Rules{KeepAlive: time.Minute}, Spec{Name: "a"}, Spec{Name: "b"})
		defer p.Close()
		if err := p.Load(t.Context(), "a", time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := p.Load(t.Context(), "b", 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		wantStates(t, p, "a loaded 10, b absent 0")
		m, release, err := p.Open(t.Context(), "a", 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.Unload(ctx, "a", false); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("unload of a model in use: %v", err)
		}
		for ev, err := range m.Generate(t.Context(), &inference.Request{}) {
			if err != nil {
				t.Errorf("%+v, %v", ev, err)
			}
		}
		release()
		if err := p.Unload(t.Context(), "a", false); err != nil {
			t.Fatal(err)
		}
		wantStates(t, p, "a absent 0, b absent 0")
		for _, err := range []error{p.Unload(t.Context(), "c", true), p.Load(t.Context(), "c", 0)} {
			if !errors.Is(err, inference.ErrModelNotFound) {
				t.Errorf("unknown: %v", err)
			}
		}
	})
}

// A request of which nothing was heard yet goes on when its model is unloaded at
// once: the next load answers it.
func TestUnloadAtOnceOfAModelInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := cardPool(100, Rules{}, Spec{Name: "a"})
		defer p.Close()
		m, release, err := p.Open(t.Context(), "a", 0)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		if err := p.Unload(t.Context(), "a", true); err != nil {
			t.Fatal(err)
		}
		wantStates(t, p, "a absent 0")
		for _, err := range m.Generate(t.Context(), &inference.Request{}) {
			if err != nil {
				t.Error(err)
			}
		}
		wantStates(t, p, "a loaded 10")
	})
}

func TestPauseTakesAllAndResumeBringsThemBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := cardPool(100, Rules{}, Spec{Name: "a"}, Spec{Name: "b"}, Spec{Name: "c"})
		defer p.Close()
		mustSay(t, p, "a")
		mustSay(t, p, "b")
		if err := p.Pause(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		wantStates(t, p, "a absent 0, b absent 0")
		if _, err := say(t.Context(), p, "c"); !errors.Is(err, inference.ErrLoadFailed) || !strings.Contains(err.Error(), "dure load") {
			t.Errorf("while paused: %v", err)
		}
		if got := fmt.Sprint(p.Resume()); got != "[a b]" {
			t.Errorf("resumed %s", got)
		}
		time.Sleep(10 * time.Second)
		wantStates(t, p, "a loaded 10, b loaded 10")
		if err := p.Pause(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if err := p.Load(t.Context(), "c", 0); err != nil { // ends the pause, and leaves the others where they are
			t.Fatal(err)
		}
		mustSay(t, p, "c")
		wantStates(t, p, "a absent 0, b absent 0, c loaded 10")
	})
}

func TestAModelThatKeepsFailingIsNotStartedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &starter{fail: inference.Errorf(inference.CodeLoadFailed, "ggml_abort: no such tensor")}
		p := newPool(s)
		defer p.Close()
		var err error
		for range 2 * breakAt {
			_, err = say(t.Context(), p, "a")
		}
		var e *inference.Error
		if !errors.As(err, &e) || e.RetryAfter <= 0 || !strings.Contains(e.Message, "no such tensor") || s.loads.Load() != breakAt {
			t.Errorf("after %d loads: %v", s.loads.Load(), err)
		}
		status := p.Status()[0]
		if status.Failures != breakAt || status.Again <= 0 || !strings.Contains(status.Why, "no such tensor") {
			t.Errorf("%+v", status)
		}
		time.Sleep(time.Duration(brokenFor))
		s.fail = nil
		mustSay(t, p, "a")
	})
}
