package land

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"dure/runtime/vcs"
	"dure/runtime/vcs/object"
)

// reads is a checker that looks at a file of main: "bad" in it fails, and each
// commit fails as often as flaky says before it may pass.
type reads struct {
	h     *house
	flaky map[object.ID]int
	fails int // runs without a result
}

func (c *reads) Check(ctx context.Context, commit object.ID) (Check, error) {
	if c.fails > 0 {
		c.fails--
		return Check{}, errors.New("no sandbox")
	}
	if c.flaky[commit] > 0 {
		c.flaky[commit]--
		return Check{Output: "flaked"}, nil
	}
	root, err := c.h.repo.TreeAt(ctx, commit)
	if err != nil {
		return Check{}, err
	}
	if _, err := vcs.Find(ctx, c.h.repo, root, "bad"); err == nil {
		return Check{Output: "there is a file called bad"}, nil
	}
	return Check{Passed: true}, nil
}

// green follows main up to the landing before the bad one, which is named with its
// agent and task, and goes on when another mends it. A flaky check is told apart.
func TestGreenFollowsMain(t *testing.T) {
	h := newHouse(t, Options{}, map[string]string{"f": "f\n"})
	var all []Landed
	land := func(i int, changes ...vcs.Change) {
		all = append(all, h.lands(fmt.Sprint("agent", i), h.main(), changes...))
	}
	for i := range 12 {
		if i == 7 {
			land(i, put("bad", "x\n"))
			continue
		}
		land(i, put(fmt.Sprint("file", i), "x\n"))
	}
	check := &reads{h: h, flaky: map[object.ID]int{all[4].Commit: 1, all[5].Commit: 2}, fails: 2}
	told := make(chan GreenEvent, 10)
	// Green stands at main's beginning, as after an import that was checked.
	if err := h.repo.Apply(t.Context(), vcs.Landing(), nil, vcs.Move{Ref: vcs.GreenRef, New: all[0].Parent}); err != nil {
		t.Fatal(err)
	}
	g := NewGreen(h.repo, check, FollowPolicy{}, func(e GreenEvent) { told <- e }, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	next := func() GreenEvent {
		t.Helper()
		select {
		case e := <-told:
			return e
		case err := <-ended:
			t.Fatalf("ended: %v", err)
		case <-time.After(time.Minute):
			t.Fatal("nothing is told")
		}
		return GreenEvent{}
	}
	var flaky []object.ID
	e := next()
	for ; e.Broken.IsZero(); e = next() {
		if !e.Flaky.IsZero() {
			flaky = append(flaky, e.Flaky)
		}
	}
	if e.Broken != all[7].Commit || e.By != (Side{"agent7", "task of agent7", all[7].Source}) || e.Green != all[6].Commit {
		t.Errorf("told %+v", e)
	}
	if len(flaky) == 0 {
		t.Error("no check was found flaky")
	}
	if ref, _ := h.repo.Ref(vcs.GreenRef); ref != all[6].Commit {
		t.Errorf("green is at %v", ref)
	}
	land(12, gone("bad"))
	g.Moved()
	if e := next(); !e.Mended || e.Green != all[12].Commit {
		t.Errorf("told %+v", e)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	// A checker that never has a result ends Run with its error.
	check.fails = 1000
	g = NewGreen(h.repo, check, FollowPolicy{}, func(GreenEvent) {}, slog.New(slog.DiscardHandler))
	h.lands("last", h.main(), put("last", "x\n"))
	if err := g.Run(t.Context()); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("a checker without results: %v", err)
	}
}
