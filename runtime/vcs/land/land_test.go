package land

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"dure/runtime/vcs"
	"dure/runtime/vcs/merge"
	"dure/runtime/vcs/object"
)

// Each way onto main, one after the other, in a history that git finds sound.
// A file takes the place of a folder, and a folder that of a file: on main as it was,
// and beside others' changes.
func TestFoldersBecomeFiles(t *testing.T) {
	h := newHouse(t, Options{}, map[string]string{"a": "a\n", "d/x": "x\n", "d/e/y": "y\n", "z": "z\n"})
	base := h.main()
	h.lands("one", base, gone("d"), put("d", "file\n"))
	h.wants(map[string]string{"a": "a\n", "d": "file\n", "d/x": "-", "d/e/y": "-", "z": "z\n"})
	h.lands("two", base, gone("a"), put("a/b/c", "c\n"))
	h.wants(map[string]string{"a/b/c": "c\n", "d": "file\n", "z": "z\n"})
	h.lands("three", h.main(), gone("d"), put("d/again", "again\n"), put("z", "Z\n"))
	h.wants(map[string]string{"a/b/c": "c\n", "d/again": "again\n", "z": "Z\n"})
	if out := h.git("fsck", "--strict", "--full"); strings.Contains(out, "error") {
		t.Errorf("git fsck: %s", out)
	}
}

func TestTiers(t *testing.T) {
	h := newHouse(t, Options{}, map[string]string{"a": "a\n", "b": lines(20, nil), "d/x": lines(12, nil), "d/y": "y\n", "e/z": "z\n"})
	base := h.main()
	tier := func(l Landed, want Tier) {
		t.Helper()
		if l.Tier != want {
			t.Errorf("%s landed by %s, want %s", l.Agent, l.Tier, want)
		}
	}
	tier(h.lands("one", base, put("a", "A\n")), TierSplice)
	tier(h.lands("two", base, put("b", lines(20, map[int]string{3: "two"}))), TierSplice)
	tier(h.lands("three", base, put("b", lines(20, map[int]string{13: "three"})), put("new", "n\n")), TierLines)
	// One renames a file, another edits it under its old name.
	tier(h.lands("four", base, gone("d/x"), put("moved", lines(12, nil))), TierSplice)
	tier(h.lands("five", base, put("d/x", lines(12, map[int]string{5: "five"}))), TierGit)
	// The same change twice is no conflict.
	tier(h.lands("six", base, put("a", "A\n")), TierSplice)
	h.wants(map[string]string{
		"a": "A\n", "b": lines(20, map[int]string{3: "two", 13: "three"}), "new": "n\n",
		"d/x": "-", "moved": lines(12, map[int]string{5: "five"}),
	})
	if out := h.git("fsck", "--strict", "--full"); strings.Contains(out, "error") {
		t.Errorf("git fsck: %s", out)
	}
	// Row 3: all first parents are commits of the landing job.
	names := h.git("log", "--first-parent", "--format=%cn/%an/%p", "main")
	if n := strings.Count(names, "landing/"); n != 6 || !strings.HasSuffix(names, "owner/owner/") {
		t.Errorf("committers of main:\n%s", names)
	}
}

func TestRefusals(t *testing.T) {
	h := newHouse(t, Options{}, map[string]string{"a": "a\n", "marks": "<<<<<<< x\n=======\n>>>>>>> y\n"})
	base := h.main()
	one := h.commit("one", base, put("a", "1\n"))
	two := h.commit("two", base, put("a", "<<<<<<< ours\n1\n=======\n2\n>>>>>>> theirs\n"))
	for _, c := range []struct {
		name string
		q    Request
		want error
	}{
		{"another's commit", Request{Agent: "two", Commit: one}, ErrNotOwn},
		{"no branch", Request{Agent: "nobody", Commit: one}, ErrNotOwn},
		{"markers", Request{Agent: "two", Commit: two}, ErrMarkers},
		{"unknown conflict", Request{Agent: "one", Commit: one, Resolves: "x"}, ErrUnknown},
		{"no such file to split", Request{Agent: "one", Commit: one, Split: "nothing"}, ErrInvalid},
	} {
		if _, err := h.land(c.q); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if h.main() != base {
		t.Error("main moved")
	}
	if _, err := h.land(Request{Agent: "one", Commit: one}); err != nil {
		t.Error(err)
	}
	if _, err := h.land(Request{Agent: "one", Commit: one}); !errors.Is(err, ErrLanded) {
		t.Errorf("landed twice: %v", err)
	}
	// Markers that a file had before are somebody's example.
	h.lands("three", h.main(), put("marks", "more\n<<<<<<< x\n=======\n>>>>>>> y\n"))
	// An agent cannot move main itself (row 3).
	actor, _ := vcs.Agent("one")
	if err := h.repo.Apply(t.Context(), actor, nil, vcs.Move{Ref: h.repo.Main(), Old: h.main(), New: one}); !errors.Is(err, vcs.ErrRefused) {
		t.Errorf("an agent moves main: %v", err)
	}
}

// A true conflict is a record with all that a neutral agent needs, and main stays
// as it was. Those who wrote the sides may not settle it; another may (row 44).
func TestConflictIsSettledByANeutralAgent(t *testing.T) {
	h := newHouse(t, Options{}, map[string]string{"f": lines(9, nil)})
	base := h.main()
	first := h.lands("ann", base, put("f", lines(9, map[int]string{4: "ann"})))
	bob := h.commit("bob", base, put("f", lines(9, map[int]string{4: "bob", 8: "bob too"})))
	before := h.main()
	_, err := h.land(Request{Agent: "bob", Task: "b's task", Commit: bob})
	var conflict *ConflictError
	if !errors.As(err, &conflict) || !errors.Is(err, ErrConflict) || conflict.RetryAfter <= 0 {
		t.Fatalf("landing gives %v", err)
	}
	c := conflict.Conflict
	if h.main() != before || c.Main != before || c.Base != base || c.Theirs != (Side{"bob", "b's task", bob}) {
		t.Errorf("record %+v", c)
	}
	f := c.Files[0]
	blob := func(text string) object.ID { return object.Hash(object.TypeBlob, []byte(text)) }
	if len(c.Files) != 1 || f.Path != "f" || f.OursBy != (Side{"ann", "task of ann", first.Source}) ||
		f.Base.ID != blob(lines(9, nil)) || f.Ours.ID != blob(lines(9, map[int]string{4: "ann"})) ||
		f.Theirs.ID != blob(lines(9, map[int]string{4: "bob", 8: "bob too"})) {
		t.Errorf("file of the record %+v", f)
	}
	var at []merge.Range
	for _, hunk := range f.Hunks {
		if hunk.Kind == merge.Conflict {
			at = append(at, hunk.Base)
		}
	}
	if len(at) != 1 || at[0] != (merge.Range{Start: 4, End: 5}) {
		t.Errorf("conflicting lines %v", at)
	}

	settled := lines(9, map[int]string{4: "ann and bob", 8: "bob too"})
	h.commit("bob", before, put("f", settled))
	tip, _ := h.repo.Ref("refs/heads/agent/bob")
	if _, err := h.land(Request{Agent: "bob", Commit: tip, Resolves: c.ID}); !errors.Is(err, ErrPartial) {
		t.Errorf("bob settles his own conflict: %v", err)
	}
	cleo := h.commit("cleo", before, put("f", settled))
	cleo = h.commit("cleo", bob, put("note", "why\n")) // bob's commit is an ancestor now
	l, err := h.land(Request{Agent: "cleo", Task: "settle", Commit: cleo, Resolves: c.ID})
	if err != nil {
		t.Fatal(err)
	}
	h.wants(map[string]string{"f": settled, "note": "why\n"})
	if l.Resolves != c.ID || len(h.state().Open) != 0 {
		t.Errorf("landed %+v, open %v", l, h.state().Open)
	}
	if got := h.git("merge-base", "--is-ancestor", bob.String(), "main"); got != "" {
		t.Errorf("bob's commit is not on main: %s", got)
	}
}

// What git calls a conflict is one, with its stages.
func TestConflictOfRenames(t *testing.T) {
	h := newHouse(t, Options{}, map[string]string{"f": lines(9, nil), "g": "g\n"})
	base := h.main()
	h.lands("ann", base, gone("f"))
	id := h.commit("bob", base, put("f", lines(9, map[int]string{1: "bob"})))
	_, err := h.land(Request{Agent: "bob", Commit: id})
	var conflict *ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("landing gives %v", err)
	}
	f := conflict.Conflict.Files[0]
	if f.Path != "f" || f.Ours.Mode != 0 || f.Theirs.Mode != object.ModeFile || f.OursBy.Agent != "ann" || !strings.Contains(f.Why, "modify/delete") {
		t.Errorf("record %+v", f)
	}
	if h.text("f") != "-" {
		t.Error("main changed")
	}
}

// Two lines of one history that crossed: git begins the merge.
func TestCrosswiseHistories(t *testing.T) {
	h := newHouse(t, Options{}, map[string]string{"a": lines(20, nil), "b": "b\n"})
	base := h.main()
	one := h.commit("one", base, put("a", lines(20, map[int]string{2: "one"})))
	two := h.lands("two", base, put("b", "two\n"))
	three := h.lands("three", h.main(), put("c", "c\n"))
	_ = two
	if _, err := h.land(Request{Agent: "one", Commit: one}); err != nil {
		t.Fatal(err)
	}
	// one's branch, which main has now, takes in an older main.
	id := h.commit("one", three.Commit, put("a", lines(20, map[int]string{2: "one", 15: "again"})), put("b", "two\n"), put("c", "c\n"))
	l, err := h.land(Request{Agent: "one", Commit: id})
	if err != nil {
		t.Fatal(err)
	}
	if l.Tier != TierGit {
		t.Errorf("landed by %s", l.Tier)
	}
	h.wants(map[string]string{"a": lines(20, map[int]string{2: "one", 15: "again"}), "b": "two\n", "c": "c\n"})
}

// Many agents at once, on few files: each landing is on main, whole; counters equal
// what the agents saw (rows 40, 55, 56); main never has markers; and counters made
// of the recorded events, and a job that begins again from them, say the same.
func TestManyAgents(t *testing.T) {
	files := map[string]string{}
	for i := range 12 {
		files[fmt.Sprintf("dir%d/file", i)] = lines(40, nil)
	}
	h := newHouse(t, Options{Breaker: BreakerPolicy{Rate: -1}}, files)
	base := h.main()
	type seen struct{ landed, conflicts int }
	var mu sync.Mutex
	total := seen{}
	byPath := map[string]*seen{}
	agents := map[string]map[string]bool{}
	var wg sync.WaitGroup
	for a := range 30 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(9, uint64(a)))
			name := fmt.Sprintf("agent%d", a)
			from := base
			for turn := range 6 {
				path := fmt.Sprintf("dir%d/file", min(r.IntN(12), r.IntN(12)))
				at := from
				if tip, ok := h.repo.Ref(vcs.BranchOf(name)); ok {
					at = tip
				}
				root, err := h.repo.TreeAt(t.Context(), at)
				if err != nil {
					t.Error(err)
					return
				}
				e, err := vcs.Find(t.Context(), h.repo, root, path)
				if err != nil {
					t.Error(err)
					return
				}
				data, err := h.repo.Blob(t.Context(), e.ID)
				if err != nil {
					t.Error(err)
					return
				}
				text := strings.SplitAfter(string(data), "\n")
				text[r.IntN(40)] = fmt.Sprintf("%s in turn %d\n", name, turn)
				id, err := h.tryCommit(name, from, put(path, strings.Join(text, "")))
				if turn == 0 {
					from = object.Zero
				}
				if err != nil {
					t.Error(err)
					return
				}
				_, err = h.land(Request{Agent: name, Task: "t", Commit: id})
				var conflict *ConflictError
				if err != nil && !errors.As(err, &conflict) {
					t.Error(err)
					return
				}
				mu.Lock()
				touched := []string{path}
				if conflict != nil {
					total.conflicts++
					touched = conflict.Conflict.paths()
				} else {
					total.landed++
				}
				for _, p := range touched {
					if byPath[p] == nil {
						byPath[p], agents[p] = &seen{}, map[string]bool{}
					}
					agents[p][name] = true
					if conflict != nil {
						byPath[p].conflicts++
					} else {
						byPath[p].landed++
					}
				}
				mu.Unlock()
				if conflict != nil { // give this line of work up: begin anew from main
					return
				}
			}
		})
	}
	wg.Wait()
	if total.landed < 40 || total.conflicts == 0 {
		t.Errorf("%+v: the test tests little", total)
	}
	s := h.state()
	var landed int64
	for _, n := range s.Totals.Landed {
		landed += n
	}
	if int(landed) != total.landed || int(s.Totals.Conflicts) != total.conflicts {
		t.Errorf("counted %v, agents saw %+v", s.Totals, total)
	}
	for _, p := range s.Top {
		want := byPath[p.Path]
		if want == nil || p.Commits != want.landed || p.Conflicts != want.conflicts || p.Agents != len(agents[p.Path]) {
			t.Errorf("counted %+v, agents saw %+v by %d", p, want, len(agents[p.Path]))
		}
		if n := int64(len(h.text(p.Path))); p.Size != n {
			t.Errorf("%s has %d bytes, counted %d", p.Path, n, p.Size)
		}
		if merge.Marked([]byte(h.text(p.Path))) {
			t.Errorf("markers in %s on main", p.Path)
		}
	}
	if n := h.git("rev-list", "--count", "--first-parent", "main"); n != fmt.Sprint(total.landed+1) {
		t.Errorf("main has %s commits, want %d", n, total.landed+1)
	}
	h.git("fsck", "--strict", "--full")
	h.again(s)
}

// again begins the job anew from its events, and compares.
func (h *house) again(was State) {
	h.t.Helper()
	h.job.Close()
	past := h.events
	h.start(Options{Past: func(yield func(Event) bool) {
		for _, e := range past {
			if !yield(e) {
				return
			}
		}
	}, Breaker: BreakerPolicy{Rate: -1}})
	now := h.state()
	if fmt.Sprint(now.Top) != fmt.Sprint(was.Top) || fmt.Sprint(now.Minutes) != fmt.Sprint(was.Minutes) || len(now.Open) != len(was.Open) || now.Main != was.Main {
		h.t.Errorf("after beginning again %+v, was %+v", now.Top, was.Top)
	}
}

// The author of main's side is found in the history, too, and a restart forgets
// nothing that matters.
func TestAuthorFromHistory(t *testing.T) {
	h := newHouse(t, Options{}, map[string]string{"f": lines(9, nil), "g": "g\n"})
	base := h.main()
	h.lands("ann", base, put("f", lines(9, map[int]string{4: "ann"})))
	h.lands("eve", base, put("g", "G\n"))
	h.job.Close()
	h.start(Options{})
	id := h.commit("bob", base, put("f", lines(9, map[int]string{4: "bob"})))
	_, err := h.land(Request{Agent: "bob", Commit: id})
	var conflict *ConflictError
	if !errors.As(err, &conflict) || conflict.Conflict.Files[0].OursBy.Agent != "ann" || conflict.Conflict.Files[0].OursBy.Task != "task of ann" {
		t.Errorf("landing gives %v", err)
	}
}
