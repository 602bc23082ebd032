package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/runtime/control"
	"dure/runtime/event/sqlite"
	"dure/runtime/gate"
	"dure/runtime/sandbox"
	"dure/runtime/tool"
)

// Rows 15 and 16, as a person lives through them: a toy team stops at a block, its
// process dies, the next one finds it stopped, the person resumes, and every call was
// carried out once.
func TestSwarmToy(t *testing.T) {
	folder, err := os.MkdirTemp("", "toy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	names := toyNames[:4]
	start := func() (stop context.CancelFunc, ended chan error, out *bytes.Buffer) {
		ctx, stop := context.WithCancel(t.Context())
		ended, out = make(chan error, 1), &bytes.Buffer{}
		go func() {
			ended <- runToy(ctx, out, toyOptions{folder: folder, names: names, pace: 10 * time.Millisecond})
		}()
		return stop, ended, out
	}
	c := control.Dial(filepath.Join(folder, "control.sock"))
	stopped := func(ended chan error) control.Status {
		for {
			select {
			case err := <-ended:
				if errors.Is(err, sandbox.ErrRefused) {
					t.Skip("SKIPPED: ", err)
				}
				t.Fatal("the team ended: ", err)
			case <-time.After(10 * time.Millisecond):
			}
			if s, err := c.Status(t.Context()); err == nil && s.Gate.Phase == gate.PhaseStopped && len(s.Agents) == len(names) && s.Inside == 0 && len(s.Gate.Blocks) > 0 {
				return s
			}
		}
	}
	stop, ended, _ := start()
	s := stopped(ended)
	if len(s.Gate.Blocks) != 1 || s.Gate.Blocks[0].Agent != "noether" || s.Gate.Blocks[0].Rule != "read-secrets" {
		t.Errorf("blocked: %+v", s.Gate.Blocks)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	_, ended, out := start()
	again := stopped(ended)
	if len(again.Gate.Blocks) != 1 || again.Agents[0].Turns != 3 {
		t.Errorf("after a restart: %+v %+v", again.Gate.Blocks, again.Agents)
	}
	// A second one, also one that would begin anew, touches nothing.
	if err := runToy(t.Context(), &bytes.Buffer{}, toyOptions{folder: folder, names: names, fresh: true}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second process: %v", err)
	}
	if _, err := c.Resume(t.Context(), "me", "no"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "done\n"); !strings.Contains(out.String(), "cat ~/.ssh/id_rsa: blocked\n") || n < len(names) {
		t.Errorf("printed\n%s", out)
	}
	log, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(folder, "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	started, over := map[string]int{}, map[tool.Outcome]int{}
	for e, err := range log.ReadAll(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		switch p, _ := tool.Registry.Decode(e); p := p.(type) {
		case tool.Started:
			started[p.Agent+p.Call]++
		case tool.Ended:
			over[p.Outcome]++
		}
	}
	for call, n := range started {
		if n != 1 {
			t.Errorf("%s was started %d times", call, n)
		}
	}
	if over[tool.Blocked] != 1 || over[tool.Done]+over[tool.Interrupted] != 6*len(names)-1 {
		t.Errorf("ended: %v", over)
	}
}
