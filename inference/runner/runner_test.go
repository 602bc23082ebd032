package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dure/gguf/synth"
	"dure/inference"
	"dure/inference/engine/enginetest"
	"dure/inference/llm"
	"dure/inference/runner"
)

// The test binary is its own child: "runner" serves a model, "parent" starts
// one and waits to be killed.
func TestMain(m *testing.M) {
	discard := func(string) *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) }
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "runner":
			if err := runner.Serve(context.Background(), os.Stdin, os.NewFile(3, "status"), discard); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "parent":
			c, err := runner.Start(context.Background(), options(os.Args[2], os.Args[3]))
			if err != nil {
				fmt.Println("error", err)
				os.Exit(1)
			}
			fmt.Println(c.PID())
			select {}
		}
	}
	os.Exit(m.Run())
}

func options(engineDir, model string) runner.Options {
	return runner.Options{
		Command: []string{os.Args[0], "runner"}, Env: os.Environ(), Stderr: os.Stderr,
		Config: runner.Config{EngineDir: engineDir, ModelPath: model, MemoryBytes: 1 << 30, LogLevel: "warn",
			LLM: llm.Config{Name: "tiny", Context: 2048, Sequences: 2, Queue: 2, Threads: 1}},
		Log: slog.New(slog.DiscardHandler),
	}
}

func tiny(t *testing.T) runner.Options {
	return options(enginetest.Dir(t), enginetest.Llama(t, synth.Config{}))
}

func start(t *testing.T, opt runner.Options) *runner.Client {
	t.Helper()
	c, err := runner.Start(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func request(id string, max int) *inference.Request {
	return &inference.Request{ID: id, Messages: []inference.Message{{Role: "user", Content: "hello"}},
		Params: inference.Params{TopP: 1, MaxTokens: max, IgnoreEOS: true}}
}

func collect(ctx context.Context, m inference.Model, req *inference.Request) (text string, usage inference.Usage, err error) {
	var b strings.Builder
	for ev, err := range m.Generate(ctx, req) {
		if err != nil {
			return b.String(), usage, err
		}
		b.WriteString(ev.Text)
		if ev.Usage != nil {
			usage = *ev.Usage
		}
	}
	return b.String(), usage, nil
}

func TestAnswersAcrossTheSocket(t *testing.T) {
	var progress []float32
	opt := tiny(t)
	opt.Progress = func(p float32) { progress = append(progress, p) }
	c := start(t, opt)
	if len(progress) == 0 {
		t.Error("no progress of the load")
	}
	if c.Info().Architecture != "llama" || c.Info().Context != 2048 || len(c.Notes()) == 0 {
		t.Errorf("info %+v, notes %v", c.Info(), c.Notes())
	}
	a, usage, err := collect(t.Context(), c, request("a", 50))
	if err != nil || usage.CompletionTokens != 50 {
		t.Fatalf("%+v, %v", usage, err)
	}
	if b, _, err := collect(t.Context(), c, request("b", 50)); err != nil || a != b {
		t.Errorf("greedy answers differ: %q and %q, %v", a, b, err)
	}
	if s, err := c.Stats(t.Context()); err != nil || s.DecodedTokens == 0 {
		t.Errorf("stats %+v, %v", s, err)
	}
}

// The child loads a draft model beside its model, and its guesses are counted.
func TestDraftModelGuessesInTheChild(t *testing.T) {
	opt := tiny(t)
	opt.Config.DraftPath, opt.Config.LLM.GuessDepth = opt.Config.ModelPath, 3
	c := start(t, opt)
	req := request("r", 30)
	req.Params.IgnoreEOS = true
	var usage inference.Usage
	for ev, err := range c.Generate(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Usage != nil {
			usage = *ev.Usage
		}
	}
	if usage.CompletionTokens != 30 || usage.DraftedTokens == 0 || usage.AcceptedTokens < usage.DraftedTokens*9/10 {
		t.Errorf("%+v", usage)
	}
}

func TestTextAndLogprobsCrossTheSocket(t *testing.T) {
	c := start(t, tiny(t))
	tokens, err := c.Tokenize(t.Context(), "hello", false)
	if err != nil || len(tokens) == 0 {
		t.Fatalf("%v, %v", tokens, err)
	}
	pieces, err := c.Detokenize(t.Context(), tokens)
	if err != nil || string(slices.Concat(pieces...)) != "hello" {
		t.Errorf("%q, %v", pieces, err)
	}
	if _, err := c.Detokenize(t.Context(), []int32{-1}); !errors.Is(err, inference.ErrInvalidRequest) {
		t.Errorf("detokenize -1: %v", err)
	}
	req := request("logprobs", 5)
	text, err := c.Render(t.Context(), req, true)
	if err != nil || !strings.Contains(text, "hello") {
		t.Errorf("%q, %v", text, err)
	}
	req.Messages, req.Prompt = nil, &inference.Prompt{Tokens: tokens}
	req.Params.Logprobs, req.Params.TopLogprobs = true, 2
	var logprobs []inference.TokenLogprob
	for ev, err := range c.Generate(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		logprobs = append(logprobs, ev.Logprobs...)
	}
	if len(logprobs) != 5 || len(logprobs[0].Top) != 2 || len(logprobs[0].Bytes) == 0 {
		t.Errorf("%+v", logprobs)
	}
}

func TestTypedErrorsCrossTheSocket(t *testing.T) {
	c := start(t, tiny(t))
	req := request("big", 1)
	req.Messages[0].Content = strings.Repeat("word ", 4000)
	_, _, err := collect(t.Context(), c, req)
	var e *inference.Error
	if !errors.As(err, &e) || e.Code != inference.CodeContextExceeded || e.PromptTokens == 0 || e.Param != "messages" {
		t.Errorf("got %#v", err)
	}
}

func TestCancelReachesTheChild(t *testing.T) {
	c := start(t, tiny(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range c.Generate(ctx, request("c", 0)) {
		last = err
		if n++; n == 3 {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("ended with %v", last)
	}
	for { // the child learns of it by the closed connection
		s, err := c.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.CancelledDecode == 1 {
			if s.MaxCancelSteps > 1 || s.Decoding != 0 {
				t.Errorf("stats %+v", s)
			}
			return
		}
	}
}

func TestKilledChildIsATypedErrorForAll(t *testing.T) {
	c := start(t, tiny(t))
	var got error
	n := 0
	for _, err := range c.Generate(t.Context(), request("k", 0)) {
		got = err
		if n++; n == 3 {
			if err := syscall.Kill(c.PID(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !errors.Is(got, inference.ErrRunnerLost) || !strings.Contains(got.Error(), "killed") {
		t.Errorf("the running stream: %v", got)
	}
	<-c.Lost()
	if _, _, err := collect(t.Context(), c, request("later", 1)); !errors.Is(err, inference.ErrRunnerLost) {
		t.Errorf("the next request: %v", err)
	}
}

func TestCloseEndsStreamsInOrder(t *testing.T) {
	c := start(t, tiny(t))
	var got error
	n := 0
	for _, err := range c.Generate(t.Context(), request("k", 0)) {
		got = err
		if n++; n == 3 {
			go c.Close()
		}
	}
	if !errors.Is(got, inference.ErrShuttingDown) {
		t.Errorf("got %v", got)
	}
	<-c.Lost()
}

func TestLoadFailuresSayWhy(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.gguf")
	if err := os.WriteFile(text, []byte("not a model"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := enginetest.Llama(t, synth.Config{Vocabulary: 4096})
	for name, tc := range map[string]struct {
		change func(*runner.Options)
		want   string
	}{
		"no model":     {func(o *runner.Options) { o.Config.ModelPath = "/none.gguf" }, "no such file"},
		"not a model":  {func(o *runner.Options) { o.Config.ModelPath = text }, "not a GGUF file"},
		"no engine":    {func(o *runner.Options) { o.Config.EngineDir = t.TempDir() }, "dure engine install"},
		"no memory":    {func(o *runner.Options) { o.Config.MemoryBytes = 1 }, "MiB"},
		"no draft":     {func(o *runner.Options) { o.Config.DraftPath = text }, "draft model"},
		"other draft":  {func(o *runner.Options) { o.Config.DraftPath = other }, "another vocabulary"},
		"no program":   {func(o *runner.Options) { o.Command = []string{"/none"} }, "/none"},
		"dies at once": {func(o *runner.Options) { o.Command = []string{"false"} }, "exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			opt := tiny(t)
			opt.Stderr = io.Discard
			tc.change(&opt)
			c, err := runner.Start(t.Context(), opt)
			if err == nil {
				c.Close()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q does not say %q", err, tc.want)
			}
		})
	}
}

func TestTemporaryFolderThatCannotHoldTheSocket(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"missing": filepath.Join(t.TempDir(), "none"), "long": long} {
		t.Run(name, func(t *testing.T) {
			opt := tiny(t)
			t.Setenv("TMPDIR", dir)
			_, err := runner.Start(t.Context(), opt)
			if !errors.Is(err, inference.ErrLoadFailed) || !strings.Contains(err.Error(), "TMPDIR") {
				t.Errorf("%v", err)
			}
			left, _ := os.ReadDir(dir)
			if len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestCancelledStartLeavesNoProcess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	opt := tiny(t)
	opt.Progress = func(float32) { cancel() }
	if _, err := runner.Start(ctx, opt); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// A child never outlives its parent, however that ends.
func TestChildEndsWithAKilledParent(t *testing.T) {
	parent := exec.Command(os.Args[0], "parent", enginetest.Dir(t), enginetest.Llama(t, synth.Config{}))
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var line string
	if _, err := fmt.Fscanln(out, &line); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatalf("the parent said %q", line)
	}
	parent.Process.Kill()
	parent.Wait()
	for deadline := time.Now().Add(30 * time.Second); alive(pid); {
		if time.Now().After(deadline) {
			t.Fatalf("process %d outlives its parent", pid)
		}
	}
}

// alive reports whether a process still runs; a zombie that waits for its
// reaper does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}
