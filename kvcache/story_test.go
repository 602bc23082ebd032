package kvcache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// text makes n tokens that are the same for the same name and differ otherwise.
func text(name string, n int) []Token {
	var seed uint64 = 14695981039346656037
	for _, c := range name {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]Token, n)
	for i := range out {
		out[i] = r.Int32N(50_000)
	}
	return out
}

// both runs a story on a plain and on a hybrid model.
func both(t *testing.T, story func(t *testing.T, cfg Config)) {
	roomy := Config{Slots: 16, Cells: 1 << 20, Unified: true, KVBytes: 100, RAMBytes: 1 << 30, DiskBytes: 1 << 30,
		Cost: Cost{Prefill: 1_000_000, RAM: 1000, Disk: 10_000, HalfLife: 1000}, Sessions: 1000, Writes: 4}
	t.Run("plain", func(t *testing.T) { story(t, roomy) })
	t.Run("hybrid", func(t *testing.T) {
		roomy.Checkpoints, roomy.StateBytes = true, 50_000
		story(t, roomy)
	})
}

// agent is one conversation that grows turn by turn.
type agent struct {
	name    string
	session SessionID
	past    []Token
	turn    int
}

func newAgent(i int, trunk []Token) *agent {
	a := &agent{name: fmt.Sprint("agent ", i), session: SessionID(i + 1), past: slices.Clone(trunk)}
	return a
}

// next is the agent's next prompt: its past and something new.
func (a *agent) next(n, trunk int) Request {
	a.turn++
	a.past = append(a.past, text(fmt.Sprint(a.name, " asks ", a.turn), n)...)
	return Request{Tokens: slices.Clone(a.past), Marks: []int{trunk, len(a.past)}, Output: 48, Session: a.session}
}

// serve runs the agent's next turn.
func (w *world) turn(a *agent, n, trunk int) Plan {
	w.tb.Helper()
	answer := text(fmt.Sprint(a.name, " hears ", a.turn), 48)
	plan, ok := w.serve(a.next(n, trunk), answer, Waiting)
	if !ok {
		w.fatalf("%s: the cache is full", a.name)
	}
	a.past = append(a.past, answer...)
	return plan
}

// balance until nothing is left to write.
func (w *world) balance() {
	w.tb.Helper()
	for before := ActionID(1 << 62); before != w.t.lastAction; {
		before = w.t.lastAction
		w.t.Balance(w.now)
		w.pump(false)
	}
}

func (w *world) distinct(agents []*agent, trunk int) int {
	n := trunk
	for _, a := range agents {
		n += len(a.past) - trunk
	}
	return n
}

// Sixteen agents share tools and system prompt and take six turns each. All of
// it fits: nothing is read twice.
func TestStoryTeamOnOneTrunk(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, cfg)
		trunk := text("tools and system", 2000)
		var team []*agent
		for i := range 16 {
			team = append(team, newAgent(i, trunk))
		}
		for turn := range 6 {
			for i, a := range team {
				p := w.turn(a, 200, len(trunk))
				if p.Tier != Hot && (turn > 0 || i > 0 && !cfg.Checkpoints) {
					t.Errorf("%s, turn %d: reused %d from %s", a.name, turn, p.Reuse, p.Tier)
				}
			}
		}
		read := w.t.Stats().ReadTokens
		generated := 16 * 6 * 48
		if want := w.distinct(team, len(trunk)) - generated; read != want {
			t.Errorf("%d prompt tokens read, %d were new", read, want)
		}
		if n := w.physical(); n != w.distinct(team, len(trunk)) {
			t.Errorf("%d cells for %d distinct tokens", n, w.distinct(team, len(trunk)))
		}
	})
}

// Sixty-four agents take turns on a pool with room for eight. Everybody is
// served, comes back from RAM, and nothing is read twice.
func TestStoryMoreAgentsThanSlots(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Slots, cfg.Cells = 8, 500+8*700
		w := newWorld(t, cfg)
		trunk := text("tools and system", 500)
		var team []*agent
		for i := range 64 {
			team = append(team, newAgent(i, trunk))
		}
		for range 4 {
			for _, a := range team {
				w.turn(a, 100, len(trunk))
			}
		}
		s := w.t.Stats()
		if want := w.distinct(team, len(trunk)) - 64*4*48; s.ReadTokens != want {
			t.Errorf("%d prompt tokens read, %d were new", s.ReadTokens, want)
		}
		if s.Requests[RAM] < 64*3-cfg.Slots || s.Lost != 0 {
			t.Errorf("returns from RAM: %d of %d, lost %d", s.Requests[RAM], 64*3, s.Lost)
		}
		stored := int64(0)
		for _, o := range w.objs {
			if o.tier == RAM && !o.state {
				stored += o.bytes
			}
		}
		if limit := int64(w.distinct(team, len(trunk))) * cfg.KVBytes; stored > limit {
			t.Errorf("%d bytes of rows in RAM for %d distinct ones: the trunk is stored more than once", stored, limit)
		}
	})
}

// A long conversation is edited in the middle, twice. What comes before the edit
// is reused, and both branches stay.
func TestStoryConversationBranches(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, cfg)
		base := text("first half", 2000)
		left := slices.Concat(base, text("left", 500))
		right := slices.Concat(base, text("right", 500))
		ask := func(tokens []Token, want int) {
			t.Helper()
			p, _ := w.serve(Request{Tokens: tokens, Marks: []int{1000, min(2000, len(tokens))}}, nil, Unknown)
			if p.Reuse != want {
				t.Errorf("%d tokens reused, want %d: %+v", p.Reuse, want, p)
			}
		}
		ask(left, 0)
		ask(right, 2000)
		ask(append(slices.Clone(left), 1, 2, 3), 2500)
		ask(append(slices.Clone(right), 1, 2, 3), 2500)
		want := 1100
		if cfg.Checkpoints {
			want = 1000 // the mark before
		}
		ask(slices.Concat(base[:1100], text("third", 10)), want)
	})
}

// A recurrent model reuses at checkpoints only, and says so.
func TestStoryCheckpoints(t *testing.T) {
	cfg := Config{Slots: 4, Cells: 100_000, Unified: true, Checkpoints: true, KVBytes: 100, StateBytes: 50_000,
		RAMBytes: 1 << 30, Cost: Cost{Prefill: 1_000_000, HalfLife: 1000}, Sessions: 9, Writes: 1}
	w := newWorld(t, cfg)
	doc := text("document", 4000)
	w.serve(Request{Tokens: doc, Marks: SpanMarks([]int{500}, len(doc), 1000)}, nil, Unknown)
	for _, tc := range []struct {
		at, reuse int
		reason    Reason
	}{
		{3999, 3500, ReasonCheckpoint}, // a token must be left to read
		{3600, 3500, ReasonCheckpoint},
		{1500, 1500, ReasonNone},
		{1400, 500, ReasonCheckpoint},
		{400, 0, ReasonCheckpoint},
	} {
		m := w.t.Lookup(append(slices.Clone(doc[:tc.at]), -1), 0)
		if m.Reuse != tc.reuse || m.Reason != tc.reason || m.Known != tc.at {
			t.Errorf("branch at %d: %+v, want reuse %d, reason %s", tc.at, m, tc.reuse, tc.reason)
		}
	}
}

// The disk is small and then breaks. What is worth least goes; requests go on.
func TestStoryDiskFull(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Slots, cfg.Cells = 2, 20_000
		cfg.RAMBytes, cfg.DiskBytes = 250_000, 250_000
		if cfg.Checkpoints {
			cfg.RAMBytes, cfg.DiskBytes = 500_000, 500_000
		}
		w := newWorld(t, cfg)
		trunk := text("tools and system", 1000)
		var team []*agent
		for i := range 12 {
			team = append(team, newAgent(i, trunk))
		}
		work := func() {
			for _, a := range team {
				w.turn(a, 100, len(trunk))
				w.t.Balance(w.now)
				w.pump(false)
			}
		}
		work()
		if s := w.t.Stats(); s.Objects[Disk] == 0 || s.Used[Disk] > s.Budget[Disk] {
			t.Fatalf("disk: %+v", s)
		}
		work()
		w.fail = func(a Action) Result {
			if a.Kind == Write {
				return Result{Err: errTest}
			}
			return Result{}
		}
		work()
		s := w.t.Stats()
		if s.Failed == 0 || s.Lost == 0 || s.Over[RAM]+s.Over[Disk] != 0 {
			t.Errorf("nothing was lost to a broken disk: %+v", s)
		}
		if m := w.t.Lookup(append(slices.Clone(trunk), -1), 0); m.Reuse < len(trunk) {
			t.Errorf("the trunk of all was given up: %+v", m)
		}
	})
}

// A pinned system prompt survives any amount of other work, although it was
// used once and long ago; without the pin it does not.
func TestStoryPinnedPrompt(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Slots, cfg.Cells, cfg.RAMBytes, cfg.DiskBytes = 2, 5000, 600_000, 0
		system := text("system", 1000)
		for _, pinned := range []bool{false, true} {
			w := newWorld(t, cfg)
			if pinned {
				if _, err := w.t.Pin(0, system); err != nil {
					t.Fatal(err)
				}
			}
			w.serve(Request{Tokens: append(slices.Clone(system), 1)}, nil, Ended)
			for i := range 60 {
				w.now += 1000
				w.serve(Request{Tokens: text(fmt.Sprint("other ", i), 1500)}, nil, Unknown)
			}
			m := w.t.Lookup(append(slices.Clone(system), 2), 0)
			if (m.Reuse == len(system)) != pinned {
				t.Errorf("pinned %t: %+v", pinned, m)
			}
			if want := ReasonNew; !pinned && m.Reason != want && m.Reason != ReasonEvicted {
				t.Errorf("a lost prefix is explained as %s", m.Reason)
			}
		}
	})
}

// The template drops the thinking of the last turn: the answer says where the
// prompt left what the session's cache holds, and by which tokens.
func TestStoryDriftedTemplate(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, cfg)
		prompt := text("prompt", 300)
		thinking, answer := text("thinking", 100), text("answer", 50)
		w.serve(Request{Tokens: prompt, Marks: []int{300}, Output: 150, Session: 7}, slices.Concat(thinking, answer), Idle)

		faithful := slices.Concat(prompt, thinking, answer, text("more", 20))
		if m := w.t.Lookup(faithful, 7); m.Broke != nil || m.Reuse != 450 {
			t.Errorf("a faithful prompt: %+v", m)
		}
		for name, c := range map[string]struct {
			tokens []Token
			want   Past
		}{
			"faithful":    {faithful, Past{450, 450, []Token{}}},
			"shorter":     {prompt[:100], Past{450, 100, prompt[100:103]}},
			"without end": {slices.Concat(prompt, thinking, answer[:49]), Past{450, 449, answer[49:]}},
			"drifted":     {slices.Concat(prompt, answer), Past{450, 300, thinking[:3]}},
		} {
			in := w.t.Inspect(c.tokens, 7, 3)
			if p := in.Past; p == nil || p.Length != c.want.Length || p.Same != c.want.Same || !slices.Equal(p.Next, c.want.Next) {
				t.Errorf("%s: %+v, want %+v", name, p, c.want)
			}
			if w.t.Inspect(c.tokens, 8, 3).Past != nil || w.t.Inspect(c.tokens, 0, 3).Past != nil {
				t.Errorf("%s: a session that is not known has a past", name)
			}
		}
		drifted := slices.Concat(prompt, answer, text("more", 20))
		p, _ := w.serve(Request{Tokens: drifted, Session: 7}, nil, Idle)
		want := Break{At: 300, Was: thinking[0], Is: answer[0]}
		if p.Broke == nil || *p.Broke != want || p.Reuse != 300 || p.Reason != ReasonNew {
			t.Errorf("a drifted prompt: %+v broke %+v, want %+v", p, p.Broke, want)
		}
		if m := w.t.Lookup(prompt[:100], 7); m.Broke != nil {
			t.Errorf("a prompt that ends before the session's past does: %+v broke %+v", m, m.Broke)
		}
		if n := w.t.Stats().Broken; n != 1 {
			t.Errorf("%d broken prompts counted", n)
		}
	})
}

// In a pool with one slot the sequence that holds the trunk has to go for the
// agent that would share it: what is saved is reused all the same.
func TestStoryCrowdedPool(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Slots = 1
		w := newWorld(t, cfg)
		trunk := text("tools and system", 2000)
		a, b := newAgent(1, trunk), newAgent(2, trunk)
		w.turn(a, 200, len(trunk))
		w.turn(b, 200, len(trunk))
		for range 3 {
			for _, x := range []*agent{a, b} {
				past := len(x.past)
				if p := w.turn(x, 200, len(trunk)); p.Reuse != past {
					t.Errorf("%s: reused %d of %d from %s, reason %s", x.name, p.Reuse, past, p.Tier, p.Reason)
				}
			}
		}
	})
}

// After a crash the disk is all there is, and a session reads only what is new.
// An object without the rows it rests on is refused, and so is one twice too
// large for the budget.
func TestStoryRestart(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, cfg)
		trunk := text("tools and system", 2000)
		a, b := newAgent(1, trunk), newAgent(2, trunk)
		for range 2 {
			for _, x := range []*agent{a, b} {
				w.turn(x, 200, len(trunk))
				if err := w.t.Park(w.now, w.t.Own(x.session)); err != nil {
					t.Fatal(err)
				}
				w.pump(false)
				w.balance()
			}
		}
		w.crash()
		w.check()
		for _, x := range []*agent{a, b} {
			past := len(x.past)
			if p := w.turn(x, 200, len(trunk)); p.Reuse != past || p.Tier > RAM && x == a {
				t.Errorf("%s: reused %d of %d from %s", x.name, p.Reuse, past, p.Tier)
			}
		}
		lone := Stored{Path: text("nobody knows", 50), From: 10, Bytes: 10}
		huge := Stored{Path: text("huge", 50), Bytes: cfg.DiskBytes + 1}
		if ids := w.t.Adopt([]Stored{lone, huge, {}}); !slices.Equal(ids, []ObjectID{0, 0, 0}) {
			t.Errorf("adopted %v", ids)
		}
		w.check()
	})
}

// What is found on disk is adopted whatever was cut when: rows of a long path are
// the ground of a shorter one that leaves it halfway.
func TestStoryAdoptBranches(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, cfg)
		long := text("the longer", 300)
		short := slices.Concat(long[:200], text("the shorter", 50))
		found := []Stored{{Path: short, From: 200, Bytes: 10}, {Path: long, From: 100, Bytes: 10}, {Path: long[:100], Bytes: 10}}
		if cfg.Checkpoints {
			found = append(found, Stored{Path: short, From: 250, State: true, Bytes: 10})
		}
		for i, id := range w.t.Adopt(found) {
			if id == 0 {
				t.Errorf("object %d of those that were found is refused", i)
			}
		}
		w.check()
	})
}

// While something is written, balancing again does not write it a second time.
func TestStoryWriteOnce(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, cfg)
		a := newAgent(1, text("tools and system", 2000))
		w.turn(a, 200, 2000)
		if err := w.t.Park(w.now, w.t.Own(a.session)); err != nil {
			t.Fatal(err)
		}
		w.pump(false)
		slices.Reverse(w.t.unwritten) // the agent's own part first: it brings the trunk along
		for range 3 {
			w.t.Balance(w.now)
			w.pump(true)
		}
		w.pump(false)
		w.balance()
		if s := w.t.Stats(); s.Objects[Disk] != s.Objects[RAM] || s.Objects[Disk] == 0 {
			t.Errorf("%d objects in memory, %d on disk", s.Objects[RAM], s.Objects[Disk])
		}
		w.check()
	})
}

// A file turns out to be bad when it is read. It is dropped, what rests on it
// too, and the request goes on with what is left.
func TestStoryBadFile(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, cfg)
		trunk := text("tools and system", 2000)
		a, b := newAgent(1, trunk), newAgent(2, trunk)
		for _, x := range []*agent{a, b} {
			w.turn(x, 200, len(trunk))
			if err := w.t.Park(w.now, w.t.Own(x.session)); err != nil {
				t.Fatal(err)
			}
			w.pump(false)
		}
		w.balance()
		w.crash()
		bad := ObjectID(0)
		w.fail = func(r Action) Result {
			if r.Kind == Restore && bad == 0 {
				bad = r.Pieces[len(r.Pieces)-1].ID // the agent's own part
				return Result{Err: errTest, Bad: bad}
			}
			return Result{}
		}
		p := w.turn(a, 200, len(trunk))
		const want = 2200 // the end of its prompt, before the answer
		if bad == 0 || p.Reuse != want || w.objs[bad] != nil {
			t.Errorf("with a bad part of its own: %+v", p)
		}
		if p := w.turn(b, 200, len(trunk)); p.Reuse != 2248 {
			t.Errorf("the other agent: %+v", p)
		}
	})
}

// Writing what a parked agent rests on fails. Nothing is written that could not
// be used after a crash.
func TestStoryWriteFails(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, cfg)
		a := newAgent(1, text("tools and system", 2000))
		w.turn(a, 200, 2000)
		if err := w.t.Park(w.now, w.t.Own(a.session)); err != nil {
			t.Fatal(err)
		}
		w.pump(false)
		slices.Reverse(w.t.unwritten) // the agent's own part first: it brings the trunk along
		failed := false
		w.fail = func(r Action) Result {
			if r.Kind == Write && !failed {
				failed = true
				return Result{Err: errTest}
			}
			return Result{}
		}
		w.t.cfg.Writes = 1
		w.t.Balance(w.now)
		w.pump(false)
		if s := w.t.Stats(); !failed || s.Objects[Disk] != 0 || s.Skipped == 0 {
			t.Errorf("after the first of several writes failed: %+v", s)
		}
		w.check()
	})
}

// Of two parked sessions the one that waits for a tool outlives the one that
// ended, although both are as large and as old.
func TestStoryHints(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Slots, cfg.RAMBytes, cfg.DiskBytes = 3, 500*cfg.KVBytes*2+2*cfg.StateBytes+100, 0
		w := newWorld(t, cfg)
		prompts := map[Phase][]Token{Waiting: text("waits", 500), Ended: text("ended", 500), Idle: text("new", 500)}
		for i, phase := range []Phase{Waiting, Ended, Idle} {
			s := SessionID(i + 1)
			w.serve(Request{Tokens: prompts[phase], Session: s}, nil, phase)
			if err := w.t.Park(w.now, w.t.Own(s)); err != nil {
				t.Fatal(err)
			}
			w.pump(false)
		}
		for phase, tokens := range prompts {
			want := 500
			if phase == Ended {
				want = 0
			}
			if m := w.t.Lookup(append(slices.Clone(tokens), -1), 0); m.Reuse != want {
				t.Errorf("phase %d: %+v, want %d", phase, m, want)
			}
		}
	})
}

// Slots are handed out lowest first; a full pool says so and changes nothing
// that matters; what can never fit is refused as such.
func TestStorySlots(t *testing.T) {
	cfg := small(Config{Unified: true})
	cfg.Cells = 80
	w := newWorld(t, cfg)
	var ids []LeaseID
	for i := range 4 {
		id, p, err := w.t.Acquire(0, Request{Tokens: text(fmt.Sprint(i), 10), Output: 5})
		if err != nil || p.Slot != i {
			t.Fatalf("request %d: slot %d, %v", i, p.Slot, err)
		}
		ids = append(ids, id)
	}
	if _, _, err := w.t.Acquire(0, Request{Tokens: text("x", 10)}); !errors.Is(err, ErrFull) {
		t.Errorf("a fifth request in four slots: %v", err)
	}
	w.t.Release(0, ids[1], Ended)
	if _, p, err := w.t.Acquire(0, Request{Tokens: text("y", 10)}); err != nil || p.Slot != 1 {
		t.Errorf("the slot that came free: %+v, %v", p, err)
	}
	w.t.Release(0, ids[2], Ended)
	if _, _, err := w.t.Acquire(0, Request{Tokens: text("z", 45)}); !errors.Is(err, ErrFull) {
		t.Errorf("too many cells for now: %v", err)
	}
	if _, _, err := w.t.Acquire(0, Request{Tokens: text("z", 70), Output: 20}); !errors.Is(err, ErrTooLong) {
		t.Errorf("too many cells for ever: %v", err)
	}
	for _, r := range []Request{{}, {Tokens: text("", 3), Marks: []int{4}}, {Tokens: text("", 3), Marks: []int{2, 1}}, {Tokens: text("", 3), Output: -1}} {
		if _, _, err := w.t.Acquire(0, r); err == nil || errors.Is(err, ErrFull) {
			t.Errorf("request %+v: %v", r, err)
		}
	}
	w.check()
}

// A plain model's request forks from one that is still being read.
func TestStoryTogether(t *testing.T) {
	cfg := small(Config{Unified: true})
	w := newWorld(t, cfg)
	trunk := text("trunk", 20)
	first, q := w.open(Request{Tokens: append(slices.Clone(trunk), 1)})
	w.start(first, q)
	w.compute(first, q, 15)
	_, p, err := w.t.Acquire(0, Request{Tokens: append(slices.Clone(trunk), 2)})
	if err != nil || p.Reuse != 15 || p.Tier != Hot {
		t.Errorf("beside a running reader: %+v, %v", p, err)
	}
	w.pump(false)
	w.check()
}

// A recurrent state that was to come from a running sequence is gone when that
// has moved on: the plan is made anew.
func TestStorySourceMovesOn(t *testing.T) {
	cfg := small(Config{Unified: true, Checkpoints: true, StateBytes: 60})
	w := newWorld(t, cfg)
	trunk := text("trunk", 20)
	first, q := w.open(Request{Tokens: append(slices.Clone(trunk), 1)})
	w.start(first, q)
	w.compute(first, q, 20)
	id, p, err := w.t.Acquire(0, Request{Tokens: append(slices.Clone(trunk), 2)})
	if err != nil || p.Reuse != 20 {
		t.Fatalf("beside one that stands at the branch: %+v, %v", p, err)
	}
	w.compute(first, q, 1)
	w.pump(false)
	p, ready, err := w.t.Ready(id)
	if !ready || err != nil || p.Reuse != 0 || w.t.Stats().Replanned != 1 {
		t.Errorf("after it moved on: %+v, ready %t, %v", p, ready, err)
	}
	w.check()
}

func TestSpanMarks(t *testing.T) {
	for _, tc := range []struct {
		marks         []int
		length, limit int
		want          []int
	}{
		{nil, 100, 200, []int{}},
		{nil, 100, 40, []int{40, 80}},
		{[]int{30, 100}, 100, 40, []int{30, 70, 100}},
		{[]int{40, 80}, 80, 40, []int{40, 80}},
		{[]int{10}, 100, 1000, []int{10}},
	} {
		if got := SpanMarks(tc.marks, tc.length, tc.limit); !slices.Equal(got, tc.want) {
			t.Errorf("SpanMarks(%v, %d, %d) = %v, want %v", tc.marks, tc.length, tc.limit, got, tc.want)
		}
	}
}

func TestConfig(t *testing.T) {
	good := small(kinds["hybrid unified"])
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Config){
		"no slots":        func(c *Config) { c.Slots = 0 },
		"too many slots":  func(c *Config) { c.Slots = MaxSlots + 1 },
		"no cells":        func(c *Config) { c.Cells = 1 },
		"no state":        func(c *Config) { c.StateBytes = 0 },
		"negative":        func(c *Config) { c.RAMBytes = -1 },
		"free prefill":    func(c *Config) { c.Cost.Prefill = 0 },
		"no half-life":    func(c *Config) { c.Cost.HalfLife = 0 },
		"no sessions":     func(c *Config) { c.Sessions = 0 },
		"weightless rows": func(c *Config) { c.KVBytes = -1 },
	} {
		c := good
		spoil(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
