package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"dure/inference/engine/enginetest"
)

// One server for the tests that leave it as they found it.
func TestServe(t *testing.T) {
	s := startServer(t, "--context", "2048", "--sequences", "2", "--queue", "1")
	t.Run("says what it derived", func(t *testing.T) {
		for _, want := range []string{"engine   cpu", "llama.cpp 0.5.0", "device   CPU", "2 sequences x 2048 tokens", "ready    http://127.0.0.1:"} {
			if !strings.Contains(s.out, want) {
				t.Errorf("%q is missing in:\n%s", want, s.out)
			}
		}
	})
	t.Run("answers", func(t *testing.T) {
		c := decode(t, s.post(t.Context(), chatBody("What is the capital of France? Answer in one word.", `,"max_tokens":8`)))
		if len(c.Choices) != 1 || !strings.Contains(c.Choices[0].Message.Content, "Paris") || c.Usage.Completion == 0 {
			t.Errorf("%+v", c)
		}
	})
	t.Run("streams", func(t *testing.T) { testStream(t, s) })
	t.Run("stock clients", func(t *testing.T) { testStockClients(t, s) })
	t.Run("stock Go client", func(t *testing.T) { testGoClient(t, s) })
	t.Run("memory as planned", func(t *testing.T) {
		out, err := dureCommand(t, "ps", "--memory", "--addr", strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/v1")).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "kv cells and recurrent state") || strings.Contains(s.errs.String(), "not as planned") {
			t.Errorf("%v\n%s\n%s", err, out, s.errs.String())
		}
	})
	t.Run("prompt over the context", func(t *testing.T) {
		resp := s.post(t.Context(), chatBody(strings.Repeat("word ", 3000), ""))
		c := decode(t, resp)
		if resp.StatusCode != 400 || c.Error == nil || c.Error.Code != "context_length_exceeded" || !strings.Contains(c.Error.Message, "2048") || !strings.Contains(c.Error.Message, "messages[0]") {
			t.Errorf("%s %+v", resp.Status, c.Error)
		}
	})
	t.Run("unknown model", func(t *testing.T) {
		resp := s.post(t.Context(), `{"model":"gpt-9","messages":[{"role":"user","content":"hi"}]}`)
		if c := decode(t, resp); resp.StatusCode != 404 || !strings.Contains(c.Error.Message, "smollm2-135m") {
			t.Errorf("%s %+v", resp.Status, c.Error)
		}
	})
	t.Run("queue full", func(t *testing.T) { testQueueFull(t, s) })
	t.Run("client gone", func(t *testing.T) { testClientGone(t, s) })
	t.Run("killed runner", func(t *testing.T) { testKilledRunner(t, s) })
}

func testStream(t *testing.T, s *server) {
	resp := s.post(t.Context(), chatBody("Count from 1 to 5.", `,"max_tokens":12,"stream":true,"stream_options":{"include_usage":true}`))
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") || !strings.HasSuffix(strings.TrimSpace(text), "data: [DONE]") {
		t.Errorf("%v\n%s", resp.Header, text)
	}
	for _, want := range []string{`"role":"assistant"`, `"finish_reason":"length"`, `"completion_tokens":12`} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%s appears %d times in\n%s", want, strings.Count(text, want), text)
		}
	}
}

// testStockClients runs the clients that people really use.
func testStockClients(t *testing.T, s *server) {
	clients := filepath.Join(enginetest.Home(t), "clients")
	for name, cmd := range map[string]*exec.Cmd{
		"python": exec.Command("python3", "testdata/clients/chat.py", s.url),
		"npm":    exec.Command("node", "testdata/clients/chat.mjs", s.url, filepath.Join(clients, "npm", "node_modules", "openai", "index.mjs")),
	} {
		t.Run(name, func(t *testing.T) {
			cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(clients, "python"))
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "all good") {
				t.Errorf("%v (`make clients` fetches the clients)\n%s", err, out)
			}
		})
	}
}

// firstToken reads a stream up to its first text.
func firstToken(t *testing.T, resp *http.Response) *bufio.Reader {
	t.Helper()
	r := bufio.NewReader(resp.Body)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("no first token: %v", err)
		}
		if strings.Contains(line, `"content":"`) && !strings.Contains(line, `"content":""`) {
			return r
		}
	}
}

func testQueueFull(t *testing.T, s *server) {
	ctx, cancel := context.WithCancel(t.Context())
	for range 2 {
		firstToken(t, s.post(ctx, chatBody("go on", endlessMore)))
	}
	s.post(ctx, chatBody("wait", endlessMore)) // admitted, it waits for its turn
	eventually(t, "one request waits", func() bool { return s.modelMetric("requests", `,state="waiting"`) == 1 })
	resp := s.post(t.Context(), chatBody("too many", ""))
	c := decode(t, resp)
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); resp.StatusCode != 429 || c.Error.Code != "queue_full" || err != nil || seconds < 1 {
		t.Errorf("%s, Retry-After %q, %+v", resp.Status, resp.Header.Get("Retry-After"), c.Error)
	}
	cancel()
	eventually(t, "all were cancelled", func() bool {
		return s.modelMetric("requests", `,state="waiting"`)+s.modelMetric("requests", `,state="decode"`) == 0
	})
}

func testClientGone(t *testing.T, s *server) {
	before := s.modelMetric("cancelled_total", `,phase="decode"`)
	ctx, cancel := context.WithCancel(t.Context())
	firstToken(t, s.post(ctx, chatBody("go on", endlessMore)))
	cancel()
	eventually(t, "the cancel is counted", func() bool { return s.modelMetric("cancelled_total", `,phase="decode"`) == before+1 })
	if lag := s.modelMetric("cancel_steps_max", ""); lag > 1 || lag < 0 {
		t.Errorf("%g engine calls began between a cancel and its effect", lag)
	}
}

func testKilledRunner(t *testing.T, s *server) {
	pid := s.runnerPID()
	r := firstToken(t, s.post(t.Context(), chatBody("go on", endlessMore)))
	kill(t, pid)
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Errorf("the stream broke instead of ending with an error event: %v", err)
	}
	if !strings.Contains(string(rest), `"code":"runner_lost"`) || strings.Contains(string(rest), "[DONE]") {
		t.Errorf("after the kill:\n%.600s", rest)
	}
	c := decode(t, s.post(t.Context(), chatBody("What is the capital of France? Answer in one word.", `,"max_tokens":8`)))
	if c.Error != nil || !strings.Contains(c.Choices[0].Message.Content, "Paris") {
		t.Errorf("the next request: %+v", c)
	}
	if now := s.runnerPID(); now == pid {
		t.Error("the same process answers")
	}
}

// Ctrl-C with a running answer: it gets a typed error, the exit is clean, the
// child is gone.
func TestInterruptWhileStreaming(t *testing.T) {
	s := startServer(t, "--context", "8192", "--sequences", "1")
	pid := s.runnerPID()
	r := firstToken(t, s.post(t.Context(), chatBody("go on", endlessMore)))
	s.cmd.Process.Signal(os.Interrupt)
	rest, _ := io.ReadAll(r)
	if !strings.Contains(string(rest), "shutting_down") && !strings.Contains(string(rest), "[DONE]") {
		t.Errorf("the stream ended with\n%.300s", rest[max(0, len(rest)-300):])
	}
	if err := <-s.done; err != nil {
		t.Errorf("exit: %v\n%s", err, s.errs)
	}
	s.done <- nil
	eventually(t, "the runner ends", func() bool { return processEnded(pid) })
}

// Ctrl-C at any moment of the start ends the program and leaves nothing.
func TestInterruptAtEveryStage(t *testing.T) {
	for delay := time.Duration(0); delay <= 900*time.Millisecond; delay += 150 * time.Millisecond {
		cmd := dureCommand(t, "serve", "--addr", "127.0.0.1:0")
		cmd.Dir = t.TempDir()
		var errs strings.Builder
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(delay)
		cmd.Process.Signal(os.Interrupt)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			// A process that has not set up its handler yet is ended by the
			// signal itself; later ones leave in order.
			if code := cmd.ProcessState.ExitCode(); code != 0 && code != 130 && code != -1 {
				t.Errorf("after %v: %v\n%s", delay, err, errs.String())
			}
		case <-time.After(time.Minute):
			cmd.Process.Kill()
			t.Fatalf("after %v: it does not end\n%s", delay, errs.String())
		}
	}
}

// A killed server takes its runner with it.
func TestKilledServerLeavesNoRunner(t *testing.T) {
	s := startServer(t, "--context", "512", "--sequences", "1")
	pid := s.runnerPID()
	kill(t, s.cmd.Process.Pid)
	eventually(t, "the runner ends", func() bool { return processEnded(pid) })
}

func TestWrongInputs(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	text := filepath.Join(t.TempDir(), "text.gguf")
	if err := os.WriteFile(text, []byte("this is text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ args, want string }{
		{"serve --addr " + busy.Addr().String(), "is in use"},
		{"serve --addr nonsense", "HOST:PORT"},
		{"serve --addr 0.0.0.0:0", "DURE_API_KEYS"},
		{"serve gpt-9", "smollm2-135m"},
		{"serve /none.gguf", "none.gguf"},
		{"serve --addr 127.0.0.1:0 " + text, "GGUF"},
		{"serve --addr 127.0.0.1:0 --context 100000", "8192"},
		{"serve --addr 127.0.0.1:0 --context -1", "--context"},
		{"serve --addr 127.0.0.1:0 --flash-attention maybe", "auto, on or off"},
		{"serve --addr 127.0.0.1:0 --engine warp", "warp"},
		{"serve --log-level loud", "--log-level"},
		{"serve --addr 127.0.0.1:0 --layers -2", "--layers -2"},
		{"serve --addr 127.0.0.1:0 --engine cpu --layers 3", "there is none"},
		{"serve --addr 127.0.0.1:0 --reserve 3", "name the unit"},
		{"serve --addr 127.0.0.1:0 --pool unfied", "unified"},
		{"serve --addr 127.0.0.1:0 --micro-batch 513", "1 to 512"},
		{"serve --addr 127.0.0.1:0 --yarn", "name it with --context"},
		{"serve --addr 127.0.0.1:0 --yarn --context 4k", "within the trained 8192"},
		{"serve --addr 127.0.0.1:0 --reserve 900GiB", "does not fit"},
		{"serve smollm2-135", `did you mean "smollm2-135m"?`},
		{"pull smollm2-135", `did you mean "smollm2-135m"?`},
		{"run --addr 127.0.0.1:1 --pool unified smollm2-135m hello", "--pool"},
		{"serve --no-such-flag", "unknown flag"},
		{"srve", "serve"},
		{"run --json", "prompt"},
		{"run gpt-9 hello", "smollm2-135m"},
		{"run --addr " + busyNothing(t) + " smollm2-135m hello", "no server answers"},
		{"run --addr 127.0.0.1:1 --context 64 smollm2-135m hello", "--context"},
		{"run --max-tokens -1 smollm2-135m hello", "--max-tokens"},
		{"engine instal", "unknown command"},
		{"bench foo", "unknown command"},
		{"engine install --log-level loud", "--log-level"},
		{"serve --engine vulkan --addr 127.0.0.1:0", "dure engine install vulkan"},
		{"ps --addr " + busyNothing(t), "dure serve"},
		{"pull gpt-9", "smollm2-135m"},
		{"engine install warp", "warp"},
		{"engine build --backend warp", "warp"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			out, err := dureCommand(t, strings.Fields(tc.args)...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), tc.want) {
				t.Errorf("%v, wanted an error with %q:\n%s", err, tc.want, out)
			}
			if strings.Contains(string(out), "goroutine ") {
				t.Errorf("it panicked:\n%s", out)
			}
			if strings.Contains(string(out), "level=ERROR") {
				t.Errorf("the log tells what the command tells too:\n%s", out)
			}
		})
	}
}

// busyNothing is an address where nobody listens.
func busyNothing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestRunOnce(t *testing.T) {
	out, err := dureCommand(t, "run", "--threads", "1", "--max-tokens", "8", "smollm2-135m", "What is the capital of France? Answer in one word.").Output()
	if err != nil || !strings.Contains(string(out), "Paris") {
		t.Errorf("%v: %s", err, out)
	}
	cmd := dureCommand(t, "run", "--threads", "1", "--max-tokens", "4", "--json")
	cmd.Stdin = strings.NewReader("Hello")
	out, err = cmd.Output()
	if err != nil || !strings.Contains(string(out), `"kind":"done"`) || !strings.HasPrefix(string(out), `{"kind":"started"`) {
		t.Errorf("%v: %s", err, out)
	}
}

// A path is served as itself, also when its name is one of the catalogue's.
func TestPathWithTheNameOfACatalogueModel(t *testing.T) {
	data, err := os.ReadFile(enginetest.DemoModel(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "smollm2-135m.gguf")
	if err := os.WriteFile(path, data[:len(data)/3], 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := dureCommand(t, "serve", "--addr", "127.0.0.1:0", path).CombinedOutput()
	if err == nil || !strings.Contains(string(out), path) {
		t.Errorf("%v: the truncated file was not the one that was loaded:\n%s", err, out)
	}
	if strings.Contains(string(out), "msg=load ") {
		t.Errorf("the failure is told twice:\n%s", out)
	}
}

func TestListOnAnEmptyHome(t *testing.T) {
	cmd := dureCommand(t, "list")
	cmd.Env = append(cmd.Env, "DURE_HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "no: dure pull smollm2-135m") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDoctorOnAnEmptyHome(t *testing.T) {
	cmd := dureCommand(t, "doctor")
	cmd.Env = append(cmd.Env, "DURE_HOME="+t.TempDir(), "ENGINE=")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("nothing is installed and the doctor is content")
	}
	for _, want := range []string{"dure engine install", "dure pull smollm2-135m", "no telemetry", "processor"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}

func TestListVersionAndJSON(t *testing.T) {
	for _, args := range []string{"list", "list --json", "version", "version --json", "engine list", "engine list --json", "doctor --json", "help"} {
		out, err := dureCommand(t, strings.Fields(args)...).CombinedOutput()
		if err != nil || len(out) == 0 {
			t.Errorf("dure %s: %v\n%s", args, err, out)
		}
		if strings.HasSuffix(args, "--json") && out[0] != '{' && out[0] != '[' {
			t.Errorf("dure %s is no JSON: %.80s", args, out)
		}
	}
}

// What a plan can choose a server can load: the engine holds what was planned, and
// the model answers.
func TestServeLoadsWhatAPlanChooses(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"one pool":       {[]string{"--context", "1024", "--sequences", "3", "--pool", "unified", "--kv", "q8_0", "--micro-batch", "64", "--reserve", "1GiB"}, []string{"one pool for all", "3 sequences x 1024 tokens"}},
		"a long context": {[]string{"--context", "9k", "--sequences", "1", "--yarn", "--short-window", "--layers", "-1"}, []string{"YaRN scales all positions 2 times", "1 sequences x 9216 tokens"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, c.args...)
			for _, want := range c.want {
				if !strings.Contains(s.out, want) {
					t.Errorf("%q is missing in:\n%s", want, s.out)
				}
			}
			if a := decode(t, s.post(t.Context(), chatBody("Say hello.", `,"max_tokens":4`))); a.Error != nil || a.Usage.Completion == 0 {
				t.Errorf("%+v", a)
			}
			out, err := dureCommand(t, "ps", "--memory", "--addr", strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/v1")).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "the engine") || strings.Contains(s.errs.String(), "not as planned") {
				t.Errorf("%v\n%s\n%s", err, out, s.errs.String())
			}
		})
	}
}
