package arbiter

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var quiet = slog.New(slog.DiscardHandler)

func arbiterFor(t *testing.T, rules Rules, log *slog.Logger) *Arbiter {
	t.Helper()
	a, err := New(rules, log)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// piped joins a process within this one; its line works with a fake clock.
func piped(t *testing.T, a *Arbiter, name string, devices ...string) (*Turn, net.Conn) {
	t.Helper()
	mine, theirs := net.Pipe()
	if err := a.join(name, devices, mine); err != nil {
		t.Fatal(err)
	}
	return connect(theirs, quiet), theirs
}

func (t *Turn) compute(c Class, due, took time.Duration) (waited time.Duration) {
	begin := time.Now()
	t.Take(c, due)
	waited = time.Since(begin)
	time.Sleep(took)
	t.Give()
	return waited
}

// On a fake clock: a voice computes for 20 ms every 133 ms, beside two models that
// have something to compute all the time. Each frame waits for one slice at most.
func TestFrameBesideTwoBusyModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slice, frame = 40 * time.Millisecond, 133 * time.Millisecond
		a := arbiterFor(t, Rules{}, quiet)
		voice, _ := piped(t, a, "voice", "gpu")
		var work sync.WaitGroup
		var stop atomic.Bool
		var calls [2]int
		for i, c := range []Class{Decode, Prompt} {
			turn, _ := piped(t, a, c.String(), "gpu")
			work.Go(func() {
				for !stop.Load() {
					took := 11 * time.Millisecond
					if c == Prompt {
						took = turn.Slice()
					}
					turn.compute(c, 0, took)
					calls[i]++
					time.Sleep(time.Millisecond)
				}
				if err := turn.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		begin := time.Now()
		for k := range 100 {
			time.Sleep(time.Until(begin.Add(time.Duration(k) * frame)))
			if w := voice.compute(Voice, frame, 20*time.Millisecond); w > slice {
				t.Errorf("frame %d waited for %v", k, w)
			}
		}
		stop.Store(true)
		work.Wait()
		if calls[0] < 100 || calls[1] < 100 {
			t.Errorf("%d calls of answers, %d of prompts: somebody starves", calls[0], calls[1])
		}
		synctest.Wait()
		s := a.Stats()
		if s.Late > 0 || s.Overruns > 0 || s.Dead > 0 || s.Stuck > 0 || s.Members != 1 || s.Shared != 0 {
			t.Errorf("%+v", s)
		}
		voice.Close()
		a.Close()
	})
}

// Alone on its device, or while the others rest, a call costs no message.
func TestCallsAloneCostNoMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := arbiterFor(t, Rules{}, quiet)
		one, _ := piped(t, a, "one", "gpu")
		two, _ := piped(t, a, "two", "gpu")
		asked := func() (n uint64) {
			for _, w := range a.Stats().Waits {
				n += w.Count
			}
			return n
		}
		for range 50 {
			one.compute(Decode, 0, time.Millisecond)
		}
		if n := asked(); n != 1 {
			t.Errorf("50 calls asked %d times", n)
		}
		two.compute(Prompt, 0, time.Millisecond)
		two.compute(Prompt, 0, time.Millisecond)
		if n := asked(); n != 2 {
			t.Errorf("the other one's calls and those 50 asked %d times", n)
		}
		one.Close()
		two.Close()
		synctest.Wait()
		if s := a.Stats(); s.Members != 0 || s.Dead != 0 {
			t.Errorf("%+v", s)
		}
		a.Close()
	})
}

// A call that is too long goes back at once, is counted, and the next is meant to be
// shorter; short ones bring the slice back.
func TestOverrunsMakeTheNextShorter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := arbiterFor(t, Rules{}, quiet)
		one, _ := piped(t, a, "one", "gpu")
		synctest.Wait()
		if one.Slice() != 0 {
			t.Errorf("alone it is to keep to %v", one.Slice())
		}
		two, _ := piped(t, a, "two", "gpu")
		synctest.Wait()
		if one.Slice() != 40*time.Millisecond {
			t.Errorf("it is to keep to %v", one.Slice())
		}
		one.compute(Decode, 0, 80*time.Millisecond)
		if one.Slice() != 40*time.Millisecond {
			t.Errorf("tokens of answers cannot be made less, %v", one.Slice())
		}
		one.compute(Prompt, 0, 80*time.Millisecond)
		if one.Slice() != 20*time.Millisecond {
			t.Errorf("after twice the slice it is to keep to %v", one.Slice())
		}
		synctest.Wait()
		if s := a.Stats(); s.Overruns != 2 || s.Holding != 0 {
			t.Errorf("%+v", s)
		}
		for range 10 {
			one.compute(Prompt, 0, 10*time.Millisecond)
		}
		if one.Slice() != 40*time.Millisecond {
			t.Errorf("after short calls it is to keep to %v", one.Slice())
		}
		two.Close()
		synctest.Wait()
		if one.Slice() != 0 {
			t.Errorf("alone again it is to keep to %v", one.Slice())
		}
		one.Close()
		a.Close()
	})
}

// A process ends in the middle of a call: the next has the device at once. Another is
// silent: after a second the next has it, and the silent one may come back.
func TestDeadAndSilentHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		a := arbiterFor(t, Rules{}, slog.New(slog.NewTextHandler(&logged, nil)))
		dead, line := piped(t, a, "dead", "gpu")
		silent, _ := piped(t, a, "silent", "gpu")
		next, _ := piped(t, a, "next", "gpu")
		dead.Take(Prompt, 0)
		time.AfterFunc(100*time.Millisecond, func() { line.Close() })
		if w := next.compute(Voice, time.Second, 0); w != 100*time.Millisecond {
			t.Errorf("waited for %v, the holder died after 100 ms", w)
		}
		silent.Take(Decode, 0)
		for range 2 {
			begin := time.Now()
			next.Take(Voice, time.Second)
			if w := time.Since(begin); w != time.Second {
				t.Errorf("waited for %v, want a second", w)
			}
			next.Give()
			silent.Give()
			silent.Take(Decode, 0)
		}
		silent.Give()
		silent.Close()
		next.Close()
		synctest.Wait()
		if s := a.Stats(); s.Dead != 1 || s.Stuck != 2 || s.Members != 0 {
			t.Errorf("%+v", s)
		}
		a.Close()
		if n := strings.Count(logged.String(), "does not give its device back"); n != 1 {
			t.Errorf("said %d times:\n%s", n, &logged)
		}
	})
}

// Without an arbiter, or with one that talks nonsense, calls go on, and it is said.
func TestTurnsGoOnWithoutAnArbiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, end := range map[string]func(net.Conn){
			"closed":    func(c net.Conn) { c.Close() },
			"nonsense":  func(c net.Conn) { c.Write(make([]byte, frameSize)) },
			"unasked":   func(c net.Conn) { b := frame{frameGrant, 1, 5, 0}.encode(); c.Write(b[:]) },
			"confused":  func(c net.Conn) { b := frame{frameAsk, 1, 5, 0}.encode(); c.Write(b[:]) },
			"half full": func(c net.Conn) { c.Write([]byte{1}); c.Close() },
		} {
			var logged bytes.Buffer
			mine, theirs := net.Pipe()
			turn := connect(theirs, slog.New(slog.NewTextHandler(&logged, nil)))
			go func() {
				readFrame(mine)
				end(mine)
			}()
			for range 3 {
				turn.compute(Prompt, 0, time.Second)
			}
			if turn.Slice() != 0 || !strings.Contains(logged.String(), "without") {
				t.Errorf("%s: slice %v, log %q", name, turn.Slice(), &logged)
			}
			turn.Close()
			mine.Close()
		}
	})
}

// A member that does what none may is shown out; the others do not notice.
func TestRudeMembersAreShownOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := arbiterFor(t, Rules{}, quiet)
		next, _ := piped(t, a, "next", "gpu")
		for name, frames := range map[string][]frame{
			"asks twice":   {{frameAsk, 0, 1, 0}, {frameAsk, 0, 2, 0}, {frameAsk, 0, 3, 0}},
			"gives":        {{frameDone, 0, 1, 0}},
			"sends grants": {{frameGrant, 0, 1, 0}},
			"nonsense":     {{77, 0, 1, 0}},
		} {
			mine, theirs := net.Pipe()
			if err := a.join(name, []string{"gpu"}, mine); err != nil {
				t.Fatal(err)
			}
			go func() {
				for { // it reads what it is told
					if _, err := readFrame(theirs); err != nil {
						return
					}
				}
			}()
			for _, f := range frames {
				b := f.encode()
				theirs.Write(b[:]) // the last ones fail
			}
			synctest.Wait()
			if s := a.Stats(); s.Members != 1 {
				t.Errorf("%s: still here, %+v", name, s)
			}
			theirs.Close()
		}
		// One that reads nothing of what it is told is shown out when too much waits.
		mine, theirs := net.Pipe()
		if err := a.join("deaf", []string{"other gpu"}, mine); err != nil {
			t.Fatal(err)
		}
		for range outFrames { // each time it is told that it shares, and that it does not
			other, _ := piped(t, a, "other", "other gpu")
			other.Close()
			synctest.Wait()
		}
		if s := a.Stats(); s.Members != 1 {
			t.Errorf("%+v", s)
		}
		theirs.Close()
		next.Close()
		a.Close()
	})
}

func TestClosedArbiter(t *testing.T) {
	a := arbiterFor(t, Rules{}, quiet)
	f, err := a.Join("one", []string{"gpu", "gpu"})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := Connect(f, quiet)
	if err != nil {
		t.Fatal(err)
	}
	turn.Take(Prompt, 0)
	if _, err := a.Join("none", nil); err == nil {
		t.Error("a process on no device joins")
	}
	a.Close()
	turn.Give()
	turn.Take(Prompt, 0) // does not wait for ever
	turn.Give()
	turn.Close()
	if _, err := a.Join("two", []string{"gpu"}); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	if s := a.Stats(); s != (Stats{}) {
		t.Errorf("%+v", s)
	}
	a.Close()
}

// Over real sockets, on real threads: never two at once, and all end.
func TestNeverTwoAtOnce(t *testing.T) {
	a := arbiterFor(t, Rules{Slice: time.Millisecond, Silent: time.Minute}, quiet)
	defer a.Close()
	var inside, most atomic.Int32
	var work sync.WaitGroup
	for i := range 4 {
		f, err := a.Join("one", []string{"gpu"})
		if err != nil {
			t.Fatal(err)
		}
		turn, err := Connect(f, quiet)
		if err != nil {
			t.Fatal(err)
		}
		work.Go(func() {
			defer turn.Close()
			for range 2000 {
				turn.Take(Class(i%classes), time.Millisecond)
				if n := inside.Add(1); n > most.Load() {
					most.Store(n)
				}
				inside.Add(-1)
				turn.Give()
			}
		})
	}
	work.Wait()
	if most.Load() != 1 {
		t.Errorf("%d had the device at once", most.Load())
	}
}

// BenchmarkTake is what a call pays for its turn.
func BenchmarkTake(b *testing.B) {
	a, err := New(Rules{}, quiet)
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	join := func() *Turn {
		f, err := a.Join("one", []string{"gpu"})
		if err != nil {
			b.Fatal(err)
		}
		t, err := Connect(f, quiet)
		if err != nil {
			b.Fatal(err)
		}
		return t
	}
	one, two := join(), join()
	defer one.Close()
	defer two.Close()
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			one.Take(Decode, 0)
			one.Give()
		}
	})
	b.Run("recalled", func(b *testing.B) { // the device changes hands each time
		for b.Loop() {
			one.Take(Decode, 0)
			one.Give()
			one, two = two, one
		}
	})
}
