package control

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/runtime/event"
	"dure/runtime/event/sqlite"
	"dure/runtime/gate"
	"dure/runtime/swarm"
)

func open(ctx context.Context, file string) (event.Log, error) {
	log, err := sqlite.OpenReader(ctx, sqlite.Config{Path: file})
	if err != nil {
		return nil, err
	}
	return log, nil
}

// How a run stands is told in one word, the most pressing one.
func TestStanding(t *testing.T) {
	run := func(f func(*View)) Status {
		v := View{Plan: "p", Approved: "me", Active: 1}
		f(&v)
		return Status{Gate: gate.State{Phase: gate.PhaseOpen}, Run: &v}
	}
	stopped := run(func(*View) {})
	stopped.Gate.Phase = gate.PhaseStopped
	over := run(func(*View) {})
	over.Gate.Phase = gate.PhaseEnded
	taken := run(func(v *View) { v.Finished = &swarm.Finished{Finish: swarm.FinishDone} })
	taken.Accepted = &Taken{Branch: "b"}
	for name, c := range map[string]struct {
		s    Status
		want Standing
		rest Standing // where nobody runs it
	}{
		"at work":     {run(func(*View) {}), Running, AtRest},
		"a plan":      {run(func(v *View) { v.Approved = "" }), Approval, AtRest},
		"no plan yet": {run(func(v *View) { v.Plan, v.Approved = "", "" }), Running, AtRest},
		"paused":      {run(func(v *View) { v.Paused = &swarm.Paused{By: "me"} }), Paused, AtRest},
		"a question":  {run(func(v *View) { v.Questions, v.Active = []swarm.Question{{}}, 0 }), Question, AtRest},
		"beside work": {run(func(v *View) { v.Questions = []swarm.Question{{}} }), Running, AtRest},
		"stopped":     {stopped, Stopped, AtRest},
		"ended":       {over, Ended, Ended},
		"done":        {run(func(v *View) { v.Finished = &swarm.Finished{Finish: swarm.FinishDone} }), Finished, Finished},
		"late":        {run(func(v *View) { v.Finished = &swarm.Finished{Finish: swarm.FinishTime} }), Failed, Failed},
		"by a person": {run(func(v *View) { v.Finished = &swarm.Finished{Finish: swarm.FinishStopped} }), Failed, Failed},
		"taken":       {taken, Accepted, Accepted},
	} {
		if got, _ := c.s.standing(true); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got, why := c.s.standing(false); got != c.rest || got == AtRest && why == "" {
			t.Errorf("%s, at rest: %s (%s), want %s", name, got, why, c.rest)
		}
	}
}

// Folders that hold no run, logs that are none, and names that lead elsewhere harm nobody.
func TestOddFolders(t *testing.T) {
	dir := t.TempDir()
	r := Runs{Dir: dir, Open: open}
	for name, text := range map[string]string{"nolog": "", "text": strings.Repeat("no log\n", 500), "empty": "-", "begun": "*"} {
		folder := filepath.Join(dir, name)
		if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, AskedFile), []byte("{}"), 0o600)); err != nil {
			t.Fatal(err)
		}
		switch text {
		case "":
		case "-":
			text = ""
			fallthrough
		default:
			if err := os.WriteFile(filepath.Join(folder, LogFile), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		case "*":
			log, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(folder, LogFile)})
			if err == nil {
				err = errors.Join(swarm.Begin(t.Context(), log, time.Unix(9, 0), swarm.Started{Spec: "# X\ny", Check: "c"}), log.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	rows, err := r.List(t.Context())
	if err != nil || len(rows) != 4 {
		t.Fatalf("%+v %v", rows, err)
	}
	for _, row := range rows {
		if want := map[bool]Standing{true: AtRest, false: Damaged}[row.Name == "begun"]; row.State != want || row.Why == "" {
			t.Errorf("%+v, want %s", row, want)
		}
	}
	if s, err := r.Status(t.Context(), "begun"); err != nil || s.Run.Spec != "X" || s.Run.Began.Unix() != 9 || s.State != AtRest {
		t.Errorf("%+v %v", s, err)
	}
	var p *Problem
	for _, name := range []string{"", ".", "..", "../" + filepath.Base(dir), "begun/", "begun/../begun", "none"} {
		if _, err := r.Status(t.Context(), name); !errors.As(err, &p) || p.Status != 404 {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := r.Follow(t.Context(), name, 0, ""); !errors.As(err, &p) || p.Status != 404 {
			t.Errorf("followed %q: %v", name, err)
		}
	}
	if _, err := r.Follow(t.Context(), "begun", 3, ""); !errors.As(err, &p) || p.Status != 400 {
		t.Errorf("followed from beyond the end: %v", err)
	}
	found, err := r.Follow(t.Context(), "begun", 1, "")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for e, err := range found {
		if err != nil || e.Position != 2 {
			t.Errorf("%+v %v", e, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d events, want the second", n)
	}
}

func FuzzWish(f *testing.F) {
	for _, s := range []string{"", "{}", `{"text":"x","limits":{"time":5}}`, `{"by":"me"}`, "null", "[]", `{"caps":{"run":{"tokens":1}}} `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w, err := readWish(body)
		var p *Problem
		if err != nil && (!errors.As(err, &p) || p.Status != 400) {
			t.Fatalf("%q: %v", body, err)
		}
		if err == nil {
			for _, d := range decisions {
				for _, field := range d.needs {
					w.has(field)
				}
			}
		}
	})
}
