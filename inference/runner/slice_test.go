package runner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/engine/enginetest"
	"dure/inference/pool/arbiter"
	"dure/inference/runner"
)

func newArbiter(t testing.TB, rules arbiter.Rules) *arbiter.Arbiter {
	t.Helper()
	a, err := arbiter.New(rules, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// demo starts the demo model; a may be nil.
func demo(t testing.TB, a *arbiter.Arbiter, name string, threads int) *runner.Client {
	t.Helper()
	opt := options(enginetest.Dir(t), enginetest.DemoModel(t))
	opt.Config.LLM.Context, opt.Config.LLM.Threads = 4096, threads
	if a != nil {
		line, err := a.Join(name, []string{"CPU"})
		if err != nil {
			t.Fatal(err)
		}
		opt.Turns = line
	}
	c, err := runner.Start(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// prompt is a request of about so many tokens that begins like no other.
func prompt(name string, tokens int) *inference.Request {
	req := request(name, 1)
	req.Messages[0].Content = name + strings.Repeat(" and", tokens)
	return req
}

// stream runs an answer that does not end, calling each for each of its events.
func stream(ctx context.Context, c *runner.Client, each func(n int)) (n int, err error) {
	for _, err := range c.Generate(ctx, request("stream", 0)) {
		if err != nil {
			return n, err
		}
		n++
		each(n)
	}
	return n, nil
}

// One model streams without an end, another reads a long prompt, on one device. Both
// get on: the prompt is read to its end, and between its pieces the stream goes on.
func TestTwoRunnersTakeTurns(t *testing.T) {
	a := newArbiter(t, arbiter.Rules{Silent: time.Minute}) // however slow the machine is
	streams, reads := demo(t, a, "streams", 1), demo(t, a, "reads", 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var tokens []time.Time
	var work sync.WaitGroup
	begun := make(chan struct{})
	work.Go(func() {
		_, err := stream(ctx, streams, func(n int) {
			if tokens = append(tokens, time.Now()); n == 3 {
				close(begun)
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the stream: %v", err)
		}
	})
	<-begun
	before := time.Now()
	_, usage, err := collect(t.Context(), reads, prompt("long", 1500))
	after := time.Now()
	stop()
	work.Wait()
	if err != nil || usage.PromptTokens < 1500 {
		t.Fatalf("%+v, %v", usage, err)
	}
	s, err := reads.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	between := len(slices.DeleteFunc(tokens, func(at time.Time) bool { return at.Before(before) || at.After(after) }))
	if between == 0 {
		t.Errorf("no token of the stream while the prompt was read in %d calls", s.Steps)
	}
	got := a.Stats()
	if got.Members != 2 || got.Dead != 0 || got.Stuck != 0 || got.Waits[arbiter.Decode].Count == 0 || got.Waits[arbiter.Prompt].Count == 0 {
		t.Errorf("%+v", got)
	}
	t.Logf("%d tokens beside %d calls of the prompt; %d overruns, waits: stream %v at most, prompt %v at most",
		between, s.Steps, got.Overruns, got.Waits[arbiter.Decode].Most, got.Waits[arbiter.Prompt].Most)
}

// A process that has the device is killed: another one goes on with it.
func TestKilledHolderFreesTheDevice(t *testing.T) {
	a := newArbiter(t, arbiter.Rules{Silent: time.Minute})
	holds, next := demo(t, a, "holds", 1), demo(t, a, "next", 1)
	_, err := stream(t.Context(), holds, func(n int) {
		if n == 5 { // it has had the device since its first call: nobody else wants it
			syscall.Kill(holds.PID(), syscall.SIGKILL)
		}
	})
	if !errors.Is(err, inference.ErrRunnerLost) {
		t.Errorf("the stream: %v", err)
	}
	if _, usage, err := collect(t.Context(), next, request("next", 5)); err != nil || usage.CompletionTokens != 5 {
		t.Errorf("%+v, %v", usage, err)
	}
	if s := a.Stats(); s.Dead != 1 || s.Members != 1 || s.Stuck != 0 {
		t.Errorf("%+v", s)
	}
}

// One that has the device is stopped without ending: others go on after a while, and
// so does it when it may.
func TestStoppedHolderIsPassedOver(t *testing.T) {
	a := newArbiter(t, arbiter.Rules{})
	holds, next := demo(t, a, "holds", 1), demo(t, a, "next", 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped, done := make(chan struct{}), make(chan error)
	later := 0
	go func() {
		_, err := stream(ctx, holds, func(n int) {
			if n == 5 {
				syscall.Kill(holds.PID(), syscall.SIGSTOP)
				close(stopped)
			}
			if later = n; n == 200 {
				stop()
			}
		})
		done <- err
	}()
	<-stopped
	if _, usage, err := collect(t.Context(), next, request("next", 5)); err != nil || usage.CompletionTokens != 5 {
		t.Errorf("%+v, %v", usage, err)
	}
	if s := a.Stats(); s.Stuck != 1 || s.Dead != 0 || s.Members != 2 {
		t.Errorf("%+v", s)
	}
	syscall.Kill(holds.PID(), syscall.SIGCONT)
	if err := <-done; !errors.Is(err, context.Canceled) || later < 200 {
		t.Errorf("the stream ended after %d tokens with %v", later, err)
	}
}

// Loads that fail leave nobody behind on the device.
func TestFailedLoadLeavesTheArbiter(t *testing.T) {
	a := newArbiter(t, arbiter.Rules{})
	for _, dir := range []string{t.TempDir(), "/none"} {
		opt := options(dir, "/none.gguf")
		line, err := a.Join("fails", []string{"CPU"})
		if err != nil {
			t.Fatal(err)
		}
		opt.Turns = line
		if _, err := runner.Start(t.Context(), opt); err == nil {
			t.Fatal("it started")
		}
		for a.Stats().Members > 0 { // the end of the line is read by another goroutine
		}
	}
}

// BenchmarkFrame is how long a frame takes that comes every 133 ms, one call of the
// demo model, while the same model in another process reads prompts of 3,000 tokens on
// the same cores. Without an arbiter both compute when they like.
//
//	go test ./inference/runner -run '^$' -bench Frame -benchtime 3x
func BenchmarkFrame(b *testing.B) {
	for _, threads := range []int{1, 2} {
		for _, turns := range []bool{false, true} {
			name := fmt.Sprintf("threads=%d/arbiter=%v", threads, turns)
			b.Run(name, func(b *testing.B) { benchmarkFrame(b, threads, turns) })
		}
	}
}

func benchmarkFrame(b *testing.B, threads int, turns bool) {
	const period = 133 * time.Millisecond
	a := newArbiter(b, arbiter.Rules{})
	joined, turn := a, (*arbiter.Turn)(nil)
	if turns {
		turn = frameTurn(b, a)
	} else {
		joined = nil
	}
	voice, reads := demo(b, nil, "voice", threads), demo(b, joined, "reads", threads)
	var waits, frames []float64 // ms
	frame := func() error {
		begin := time.Now()
		if turn != nil {
			turn.Take(arbiter.Voice, period)
			defer turn.Give()
		}
		waits = append(waits, time.Since(begin).Seconds()*1e3)
		_, _, err := collect(b.Context(), voice, request("frame", 1))
		frames = append(frames, time.Since(begin).Seconds()*1e3)
		return err
	}
	prompts := 0
	for b.Loop() {
		prompts++
		done := make(chan error, 1)
		go func() {
			_, _, err := collect(b.Context(), reads, prompt(fmt.Sprint(prompts), 3000))
			done <- err
		}()
		tick := time.NewTicker(period)
		for reading := true; reading; {
			select {
			case err := <-done:
				if reading = false; err != nil {
					b.Fatal(err)
				}
			case <-tick.C:
				if err := frame(); err != nil {
					b.Fatal(err)
				}
			}
		}
		tick.Stop()
	}
	for name, values := range map[string][]float64{"wait": waits, "frame": frames} {
		slices.Sort(values)
		b.ReportMetric(values[len(values)/2], name+"-p50-ms")
		b.ReportMetric(values[len(values)*99/100], name+"-p99-ms")
	}
	b.ReportMetric(float64(len(frames))/float64(prompts), "frames/prompt")
	b.ReportMetric(float64(a.Stats().Overruns)/float64(prompts), "overruns/prompt")
}

// frameTurn is a turn on the device of the models, in this process.
func frameTurn(b *testing.B, a *arbiter.Arbiter) *arbiter.Turn {
	line, err := a.Join("voice", []string{"CPU"})
	if err != nil {
		b.Fatal(err)
	}
	t, err := arbiter.Connect(line, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { t.Close() })
	return t
}
