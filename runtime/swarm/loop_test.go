package swarm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dure/runtime/event"
	"dure/runtime/event/sqlite"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// house is a plan in which everything goes wrong once.
var house = map[string][]Spawn{
	"the specification": {
		{Title: "walls", Kind: KindPlan, Goal: "walls"},
		{Title: "roof huge", Goal: "roof", Assumes: []TaskID{"walls"}},
		{Title: "garden quits", Crew: "garden"},
		{Title: "party", After: []TaskID{"roof huge"}},
	},
	"walls": {
		{Title: "north bad"},
		{Title: "south clash", After: []TaskID{"north bad"}},
		{Title: "east doubted broken"},
		{Title: "west", Kind: KindPlan},
	},
	"west": {{Title: "door bad clash"}, {Title: "window"}},
}

var houseLimits = Limits{Agents: 3, Active: 3}

// houseEnd is what comes of it, however often the process dies: each task by title.
var houseEnd = []string{
	"door bad clash: done, came back 1", "east doubted broken: done, came back 1", "garden quits: done, came back 1",
	"merge: door bad clash: done, came back 2", "merge: south clash: done, came back 1", "north bad: done, came back 1",
	"party: done, came back 0", "roof huge: done, came back 1", "south clash: done, came back 0",
	"the specification: done, came back 0", "walls: done, came back 0", "west: done, came back 0", "window: done, came back 0",
}

func digest(s *State) []string {
	var out []string
	for _, t := range s.Tasks() {
		out = append(out, fmt.Sprintf("%s: %s, came back %d", t.Title, t.Outcome, t.Returns))
	}
	slices.Sort(out)
	return out
}

func beginRun(t testing.TB, log event.Log, limits Limits) {
	t.Helper()
	if err := Begin(t.Context(), log, time.Now(), Started{Spec: "a house", Check: "make test", Limits: limits, Judge: true}); err != nil {
		t.Fatal(err)
	}
}

func runOn(ctx context.Context, log event.Log, w *script) (Finished, error) {
	w.c = New(log, w, time.Now, quiet)
	return w.c.Run(ctx)
}

func checkHouse(t *testing.T, log event.Log, w *script) {
	t.Helper()
	s, err := Load(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	if got := digest(s); !slices.Equal(got, houseEnd) {
		t.Errorf("it ended as\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(houseEnd, "\n"))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for title, n := range w.landed {
		if n != 1 {
			t.Errorf("%s landed %d times", title, n)
		}
	}
	if g := s.Goals(); g != (Goals{Total: 2, Proved: 2}) {
		t.Errorf("goals %+v", g)
	}
}

func TestRunToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, w := &memory{}, newScript(t, house)
		beginRun(t, log, houseLimits)
		f, err := runOn(t.Context(), log, w)
		if err != nil || f.Finish != FinishDone {
			t.Fatalf("finished %+v, %v", f, err)
		}
		checkHouse(t, log, w)
		if w.most > houseLimits.Active || w.most < 2 {
			t.Errorf("%d were at work at once", w.most)
		}
	})
}

// The process dies at every event of a run, and the next one ends where the
// uninterrupted one does.
func TestCrashAtEveryEvent(t *testing.T) {
	whole := &memory{}
	synctest.Test(t, func(t *testing.T) {
		beginRun(t, whole, houseLimits)
		if _, err := runOn(t.Context(), whole, newScript(t, house)); err != nil {
			t.Fatal(err)
		}
	})
	for most := 2; most < whole.size(); most++ {
		synctest.Test(t, func(t *testing.T) {
			log, w := &memory{most: most}, newScript(t, house)
			beginRun(t, log, houseLimits)
			if _, err := runOn(t.Context(), log, w); !errors.Is(err, errCrash) {
				t.Fatalf("after %d events: %v", most, err)
			}
			log.most = 0
			if _, err := runOn(t.Context(), log, w); err != nil {
				t.Fatal(err)
			}
			checkHouse(t, log, w)
		})
		if t.Failed() {
			t.Fatalf("after %d of %d events", most, whole.size())
		}
	}
	t.Logf("died at each of %d events", whole.size())
}

// It dies again and again: after every few events.
func TestCrashAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, w := &memory{}, newScript(t, house)
		beginRun(t, log, houseLimits)
		deaths := 0
		for {
			log.most = log.size() + 4
			_, err := runOn(t.Context(), log, w)
			if err == nil {
				break
			}
			if !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			deaths++
		}
		checkHouse(t, log, w)
		if deaths < 10 {
			t.Errorf("died %d times", deaths)
		}
	})
}

// The same on a log on disk, stopped from outside.
func TestStoppedAndGoneOnOnDisk(t *testing.T) {
	log, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	w := newScript(t, house)
	w.pace = 0
	beginRun(t, log, houseLimits)
	for stops := event.Sequence(10); ; stops += 25 {
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			defer stop()
			for e, err := range log.Follow(ctx, Stream, 0) {
				if err != nil || e.Sequence >= stops {
					return
				}
			}
		}()
		_, err := runOn(ctx, log, w)
		stop()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	checkHouse(t, log, w)
}

// A second coordinator of the same run ends one of the two.
func TestOneCoordinatorOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, w := &memory{}, newScript(t, house)
		beginRun(t, log, houseLimits)
		if err := Begin(t.Context(), log, time.Now(), Started{Spec: "x", Check: "y"}); !errors.Is(err, event.ErrConflict) {
			t.Fatalf("a second run: %v", err)
		}
		if _, err := Extend(t.Context(), log, time.Now(), "ada", Limits{Agents: 4}); err != nil {
			t.Fatal(err)
		}
		w.c = New(log, w, time.Now, quiet)
		errs := make(chan error, 1)
		go func() {
			_, err := w.c.Run(t.Context())
			errs <- err
		}()
		synctest.Wait()
		if _, err := Extend(t.Context(), log, time.Now(), "ada", Limits{Agents: 5}); err != nil {
			t.Fatal(err)
		}
		if err := <-errs; !errors.Is(err, event.ErrConflict) {
			t.Errorf("the first ends with %v", err)
		}
		if err := w.c.Pause(t.Context(), "ada", ""); !errors.Is(err, ErrNotRunning) {
			t.Errorf("pause: %v", err)
		}
	})
}
