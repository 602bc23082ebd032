package main

import (
	"errors"
	"flag"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/bench/swarm"
	"dure/inference/plan"
	"dure/inference/pool"
)

// swapServer has room for one model.
func swapServer(t *testing.T) *server {
	t.Helper()
	return startServer(t, "smollm2-135m", "--max-models", "1", "--turn", "500ms", "--context", "1024", "--sequences", "4", "--cache-disk", "1GiB")
}

func (s *server) send(path, body string) (int, string) {
	s.t.Helper()
	resp, err := http.Post(s.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

var swaps = flag.Int("swaps", 4, "how often TestSwapsLoseNothing has one model take another's place, twice")

// TestSwapsLoseNothing: sessions of two models that never fit together.
func TestSwapsLoseNothing(t *testing.T) {
	s := swapServer(t)
	e, err := swarm.Connect(t.Context(), swarm.Options{URL: s.url, Stall: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	shape := swarm.DefaultSwapShape("smollm2-135m", "gemma-3-270m")
	shape.Swaps, shape.Timed, shape.Sessions, shape.Seed = *swaps, 1, 2, uint64(time.Now().UnixNano())
	r, err := benchSwap(t.Context(), e, shape, s.cmd.Process.Pid, io.Discard)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.errs)
	}
	if r.Errors > 0 || r.Lost > 0 || r.Continued == 0 {
		t.Errorf("%+v", r.SwapReport)
	}
	if b, a := r.Leaks.Before, r.Leaks.After; a.Processes > b.Processes+1 || a.Files > b.Files+16 || a.Temporary > b.Temporary+2 {
		t.Errorf("before %+v, after %+v", b, a)
	}
}

func TestLoadAndUnload(t *testing.T) {
	s := swapServer(t)
	addr := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/v1")
	dure := func(args ...string) string {
		t.Helper()
		out, err := dureCommand(t, append(args, "--addr", addr)...).CombinedOutput()
		if err != nil {
			t.Fatalf("dure %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if out := dure("load", "gemma-3-270m", "--keep-alive", "1h"); !strings.Contains(out, "in 1h0m0s") || !strings.Contains(out, "absent") {
		t.Errorf("after load:\n%s", out)
	}
	if out := dure("unload", "--now"); !strings.Contains(out, "comes back with `dure load`") {
		t.Errorf("after unload:\n%s", out)
	}
	if out := dure("ps"); !strings.Contains(out, "absent") || !strings.Contains(out, "comes back with `dure load`") {
		t.Errorf("ps meanwhile:\n%s", out)
	}
	if unloads := s.modelMetric("unloads_total", ""); unloads < 1 {
		t.Errorf("%g unloads are counted", unloads)
	}
	if code, body := s.send("/chat/completions", `{"messages":[{"role":"user","content":"Hi"}]}`); code != 503 || !strings.Contains(body, "dure load") {
		t.Errorf("a request meanwhile: %d %s", code, body)
	}
	dure("load")
	eventually(t, "it is back", func() bool { return strings.Contains(dure("load", "gemma-3-270m"), "loaded") })
	if code, body := s.send("/dure/models/gemma-3-270m/unload", `{"now":1}`); code != 400 || !strings.Contains(body, "now") {
		t.Errorf("a wrong field: %d %s", code, body)
	}
	if out, err := dureCommand(t, "unload", "nothing", "--addr", addr).CombinedOutput(); err == nil || !strings.Contains(string(out), "gemma-3-270m") {
		t.Errorf("an unknown model: %v\n%s", err, out)
	}
}

func TestWhatIsNoRoom(t *testing.T) {
	refused := &refusedLoad{loadError("model x: too large"), &plan.RefusedError{Need: 100, Free: 60}}
	for err, missing := range map[error]int64{refused: 40, errors.New("ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory"): 0} {
		var room *pool.NoRoomError
		if got := noRoom(err); !errors.As(got, &room) || room.Missing != missing {
			t.Errorf("%v: %#v", err, got)
		}
	}
	if err := noRoom(refused); !errors.Is(err, inference.ErrLoadFailed) || err.Error() != "model x: too large" {
		t.Errorf("%v", err)
	}
	if err := errors.New("no such file"); noRoom(err) != err || noRoom(nil) != nil {
		t.Error("other errors are no lack of room")
	}
}
