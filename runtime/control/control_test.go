package control_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dure/runtime/control"
	"dure/runtime/event/sqlite"
	"dure/runtime/gate"
)

func serve(t *testing.T) (*gate.Gate, *control.Client, string) {
	t.Helper()
	dir := t.TempDir()
	log, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.Open(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "control.sock")
	l, err := control.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: control.Server{Gate: g, Agents: func() []control.Agent {
		return []control.Agent{{Name: "noether", State: "working", Turns: 3}}
	}}.Handler()}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); _ = log.Close() })
	return g, control.Dial(path), path
}

func TestAPersonStopsAndResumes(t *testing.T) {
	g, c, path := serve(t)
	s, err := c.Status(t.Context())
	if err != nil || s.Gate.Phase != gate.PhaseOpen || len(s.Agents) != 1 || s.Agents[0].Turns != 3 {
		t.Fatalf("%+v %v", s, err)
	}
	if s, err = c.Stop(t.Context(), "me", "look"); err != nil || s.Gate.Phase != gate.PhaseStopped || s.Gate.Stop.Reason != "look" {
		t.Errorf("stop: %+v %v", s, err)
	}
	if s, err = c.Resume(t.Context(), "me", ""); err != nil || s.Gate.Phase != gate.PhaseOpen {
		t.Errorf("resume: %+v %v", s, err)
	}
	if _, err = c.Resume(t.Context(), "me", ""); err == nil || !strings.Contains(err.Error(), "not stopped") {
		t.Errorf("resume of an open team: %v", err)
	}
	id := gate.CallID{Agent: "noether", Call: "t1.1"}
	if err := g.Block(t.Context(), gate.Block{CallID: id, Tool: "shell", Reason: "reads keys"}); err != nil {
		t.Fatal(err)
	}
	if s, err = c.Status(t.Context()); err != nil || len(s.Gate.Blocks) != 1 || s.Gate.Blocks[0].Reason != "reads keys" {
		t.Errorf("%+v %v", s, err)
	}
	if _, err = c.Overrule(t.Context(), "me", gate.CallID{Agent: "x", Call: "y"}, ""); err == nil {
		t.Error("an unknown call was overruled")
	}
	if s, err = c.Overrule(t.Context(), "me", id, "a test key"); err != nil || s.Gate.Phase != gate.PhaseOpen {
		t.Errorf("overrule: %+v %v", s, err)
	}
	if s, err = c.End(t.Context(), "me", "enough"); err != nil || s.Gate.Phase != gate.PhaseEnded {
		t.Errorf("end: %+v %v", s, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can open the socket: %v %v", info.Mode(), err)
	}
	if _, err := control.Listen(path); err == nil {
		t.Error("two processes serve one team")
	}
}

func TestNobodyThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control.sock")
	if _, err := control.Dial(path).Status(t.Context()); !errors.Is(err, control.ErrNotRunning) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := control.Listen(path) // what a dead process left is replaced
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
