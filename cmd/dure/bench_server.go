package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"dure/inference/bench"
	"dure/inference/engine"
	"dure/inference/fetch"
	"dure/inference/remote"
)

// serverShape says how large a server is that is measured, dure or a peer.
type serverShape struct {
	model              string // name or path for dure, path for others
	context, sequences int    // tokens of each sequence
	threads            int
	gap                time.Duration
	more               []string // further flags of dure
}

// benchServer is a `dure serve` that is being measured.
type benchServer struct {
	cmd   *exec.Cmd
	addr  string
	url   string
	model *remote.Model
}

// startServer starts a server for the rig's model.
func (r *benchRig) startServer(ctx context.Context, sequences int) (*benchServer, error) {
	s, err := startDure(ctx, serverShape{model: r.entry.Name, context: 2048, sequences: sequences, threads: r.opt.threads}, "")
	if err == nil {
		s.model = remote.New(s.url, "", "", http.DefaultClient) // the one it was started with
	}
	return s, err
}

// startDure starts a server on a free port and returns when it is ready. home is
// where it keeps things; empty for the usual place.
func startDure(ctx context.Context, shape serverShape, home string) (*benchServer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "serve", shape.model, "--addr", "127.0.0.1:0", "--context", strconv.Itoa(shape.context),
		"--sequences", strconv.Itoa(shape.sequences), "--threads", strconv.Itoa(shape.threads), "--log-level", "error", "--gap", shape.gap.String())
	cmd.Args = append(cmd.Args, shape.more...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), envKeys+"=")
	if home != "" {
		cmd.Env = append(cmd.Env, envHome+"="+home)
	}
	// Ctrl-C is for the measurement, which ends the server itself when it has
	// counted what there is; the kernel does where the measurement was killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &benchServer{cmd: cmd}
	release := context.AfterFunc(ctx, func() { cmd.Process.Kill() }) // until it is ready
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		url, ok := strings.CutPrefix(lines.Text(), "ready    ")
		if !ok {
			continue
		}
		go io.Copy(io.Discard, out) // ends with the server
		if release(); ctx.Err() != nil {
			break
		}
		s.url, s.addr = url, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/v1")
		return s, nil
	}
	s.stop()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("`dure serve %s` did not get ready: %s; its own words are above", shape.model, cmd.ProcessState)
}

// stopGrace is more than a server takes to end its answers and write what it
// keeps.
const stopGrace = 30 * time.Second

// stop ends the server and returns when it is gone.
func (s *benchServer) stop() {
	s.cmd.Process.Signal(os.Interrupt)
	late := time.AfterFunc(stopGrace, func() { s.cmd.Process.Kill() })
	s.cmd.Wait()
	late.Stop()
}

// llamaServer is a llama-server that is being measured.
type llamaServer struct {
	url    string
	log    *lastBytes
	cancel context.CancelFunc
	done   chan error
}

// startLlamaServer starts one on a free port and returns when it is ready.
func startLlamaServer(ctx context.Context, peer bench.Peer, shape serverShape, flags ...string) (*llamaServer, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	threads := strconv.Itoa(shape.threads)
	p, err := peer("llama-server", append([]string{"-m", shape.model, "-c", strconv.Itoa(shape.context * shape.sequences), "-np", strconv.Itoa(shape.sequences),
		"-t", threads, "-tb", threads, "--host", "127.0.0.1", "--port", strconv.Itoa(port)}, flags...)...)
	if err != nil {
		return nil, err
	}
	log := &lastBytes{}
	p.Output = log
	inner, cancel := context.WithCancel(ctx)
	s := &llamaServer{url: fmt.Sprintf("http://127.0.0.1:%d/v1", port), log: log, cancel: cancel, done: make(chan error, 1)}
	go func() { s.done <- fetch.Run(inner, p) }()
	if err := s.ready(ctx); err != nil {
		s.stop()
		return nil, fmt.Errorf("%s: %w\n%s", p, err, log)
	}
	return s, nil
}

// freePort is one that nobody listens on at the moment.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// ready waits until the model is loaded. It asks often: the wait counts nowhere.
func (s *llamaServer) ready(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	addr := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/v1")
	for {
		if resp, err := get(ctx, addr, "/health"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-tick.C:
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("it ended before it was ready: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stop ends the server and returns when it is gone.
func (s *llamaServer) stop() {
	s.cancel()
	<-s.done
}

// lastBytes keeps the end of what a program prints. Its writer and reader are
// different goroutines.
type lastBytes struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (l *lastBytes) Write(p []byte) (int, error) {
	const most = 2000
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, p...)
	l.kept = l.kept[max(0, len(l.kept)-most):]
	return len(p), nil
}

// String is the end of the output.
func (l *lastBytes) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.kept)
}

// ownCPU streams n tokens and returns dure's own CPU time in microseconds a
// token: of the server and of the runner, but for the engine's own threads and
// for what the owner spent inside the engine. The stream is long, so that what
// a request costs once does not count for much.
func (s *benchServer) ownCPU(ctx context.Context, n int) (float64, error) {
	engineBefore, pid, err := s.engineCPU(ctx)
	if err != nil {
		return 0, err
	}
	before, err := s.allCPU(pid)
	if err != nil {
		return 0, err
	}
	if _, err := bench.Generate(ctx, s.model, benchPrompt, n); err != nil {
		return 0, err
	}
	after, err := s.allCPU(pid)
	if err != nil {
		return 0, err
	}
	engineAfter, _, err := s.engineCPU(ctx)
	own := after - before - (engineAfter - engineBefore)
	return float64(own.Microseconds()) / float64(n), err
}

// allCPU is the CPU time so far of server and runner, without the engine's own
// threads.
func (s *benchServer) allCPU(runner int) (time.Duration, error) {
	server, err := bench.CPUTime(s.cmd.Process.Pid, func(string) bool { return true })
	if err != nil {
		return 0, err
	}
	child, err := bench.CPUTime(runner, func(name string) bool { return name != engine.ComputeThread })
	return server + child, err
}

// engineCPU is what the model's owner spent inside the engine so far, and the
// runner's process.
func (s *benchServer) engineCPU(ctx context.Context) (time.Duration, int, error) {
	models, err := loadedModels(ctx, s.addr)
	if err != nil {
		return 0, 0, err
	}
	if len(models) != 1 {
		return 0, 0, fmt.Errorf("%d models are loaded, expected one", len(models))
	}
	return time.Duration(models[0].EngineCPU * float64(time.Second)), models[0].PID, nil
}
