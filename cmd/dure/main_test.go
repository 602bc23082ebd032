package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dure/inference/engine/enginetest"
)

// The test binary is dure itself when a test starts it so: what is tested is
// the whole program, with its child processes, under the race detector.
const envBeDure = "DURE_TEST_BE_DURE"

func TestMain(m *testing.M) {
	if os.Getenv(envBeDure) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// dureCommand is a run of the program with the real engine and model.
func dureCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), envBeDure+"=1", "DURE_HOME="+enginetest.Home(t), "ENGINE=cpu", "DURE_API_KEYS=")
	return cmd
}

// server is a running `dure serve`.
type server struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string // up to /v1
	out  string // what it printed until it was ready
	errs *lockedBuffer
	done chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startServer starts a server with one compute thread: several wait for each
// other at every step, which takes seconds where other tests use the cores. It
// keeps nothing on disk, so that no test finds what another has computed.
func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	return startCommand(t, dureCommand(t, append([]string{"serve", "--addr", "127.0.0.1:0", "--threads", "1", "--cache-disk", "0"}, args...)...))
}

// startCommand starts a server by a command that serves.
func startCommand(t *testing.T, cmd *exec.Cmd) *server {
	t.Helper()
	s := &server{t: t, cmd: cmd, errs: &lockedBuffer{}, done: make(chan error, 1)}
	s.cmd.Stderr = s.errs
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop() })
	lines := bufio.NewScanner(out)
	for s.url == "" && lines.Scan() {
		s.out += lines.Text() + "\n"
		if url, ok := strings.CutPrefix(lines.Text(), "ready    "); ok {
			s.url = url
		}
	}
	go func() {
		io.Copy(io.Discard, out)
		s.done <- s.cmd.Wait()
	}()
	if s.url == "" {
		t.Fatalf("the server did not get ready: %s", s.errs)
	}
	return s
}

// stop ends the server as Ctrl-C does and returns its exit error.
func (s *server) stop() error {
	s.cmd.Process.Signal(os.Interrupt)
	select {
	case err := <-s.done:
		s.done <- err
		return err
	case <-time.After(time.Minute):
		s.cmd.Process.Kill()
		s.t.Error("the server does not stop")
		return fmt.Errorf("killed")
	}
}

// post sends a chat request; the body is closed with the test.
func (s *server) post(ctx context.Context, body string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, "POST", s.url+"/chat/completions", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func chatBody(content string, more string) string {
	text, _ := json.Marshal(content)
	return fmt.Sprintf(`{"messages":[{"role":"user","content":%s}],"temperature":0%s}`, text, more)
}

const endlessMore = `,"stream":true,"ignore_eos":true`

// answer decodes a whole response.
type completion struct {
	Choices []struct {
		Message struct{ Content string }
		Finish  string `json:"finish_reason"`
	}
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
	Error *struct {
		Message, Type, Param string
		Code                 string
	}
	Warnings []string
}

func decode(t *testing.T, resp *http.Response) completion {
	t.Helper()
	var c completion
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatalf("%s: %v in %.300s", resp.Status, err, data)
	}
	return c
}

// metric reads one value from /metrics; -1 when it is not there.
func (s *server) metric(name string) float64 {
	s.t.Helper()
	resp, err := http.Get(strings.TrimSuffix(s.url, "/v1") + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			var v float64
			if _, err := fmt.Sscan(rest, &v); err != nil {
				s.t.Fatal(err)
			}
			return v
		}
	}
	return -1
}

func (s *server) modelMetric(name, label string) float64 {
	s.t.Helper()
	return s.metric(`dure_model_` + name + `{model="smollm2-135m"` + label + `}`)
}

// runnerPID finds the model's process as `dure ps` does.
func (s *server) runnerPID() int {
	s.t.Helper()
	addr := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/v1")
	models, err := loadedModels(s.t.Context(), addr)
	if err != nil || len(models) != 1 {
		s.t.Fatalf("%v, %v", models, err)
	}
	return models[0].PID
}

// eventually waits for a condition that another process brings about.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// processEnded reports whether a process is gone; a zombie counts as gone.
func processEnded(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
