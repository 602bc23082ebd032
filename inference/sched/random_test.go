package sched

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// chooser makes the choices of a random run: rapid's, which shrink, or plain ones,
// which are a hundred times faster.
type chooser interface{ n(below int) int }

type plain struct{ *rand.Rand }

func (p plain) n(below int) int { return p.IntN(below) }

type drawn struct{ t *rapid.T }

func (d drawn) n(below int) int { return rapid.IntRange(0, below-1).Draw(d.t, "n") }

// mirror is what the test knows of a request.
type mirror struct {
	tokens         []Token
	priority       Priority
	arrival, limit Tick
	slot           int // -1 = it waits
	reuse, read    int
	stops          []int
	held, blocked  bool
	rested         int // chunks of others since its last one
}

func (m *mirror) reading() bool { return m.slot >= 0 && m.read < len(m.tokens) }

// rig plays the owner at random and compares every answer with what it knows.
type rig struct {
	c       chooser
	fatal   func(format string, args ...any)
	s       *Scheduler
	now     Tick
	all     map[ID]*mirror
	ids     []ID // alive, in order of arrival of the latest state
	last    ID
	reading int // most prompts read at once since one of them was read
}

func newRig(c chooser, fatal func(string, ...any)) *rig {
	l := Limits{
		Slots: 1 + c.n(5), Queue: c.n(9), Chunk: 1 + c.n(40), Gap: Tick(c.n(2)) * Tick(c.n(50)), Age: 1 + Tick(c.n(200)),
		Group: 1 + c.n(12), Checkpoints: c.n(2) == 0,
	}
	l.MinChunk = 1 + c.n(l.Chunk)
	s, err := New(l)
	if err != nil {
		fatal("limits %+v: %v", l, err)
	}
	return &rig{c: c, fatal: fatal, s: s, all: map[ID]*mirror{}}
}

// pick an id: mostly one alive, now and then a stranger.
func (r *rig) pick() (ID, *mirror) {
	if len(r.ids) == 0 || r.c.n(30) == 0 {
		return r.last + 1, nil
	}
	id := r.ids[r.c.n(len(r.ids))]
	return id, r.all[id]
}

// prompt is random, of few alphabets, so that many share prefixes.
func (r *rig) prompt() []Token {
	out := words([]string{"x", "y"}[r.c.n(2)], r.c.n(60))
	return append(out, words([]string{"p", "q", "r", "s"}[r.c.n(4)], 1+r.c.n(30))...)
}

func (r *rig) step() {
	r.now += Tick(r.c.n(12))
	switch r.c.n(16) {
	case 0, 1, 2:
		r.add()
	case 3, 4, 5, 6:
		r.place()
	case 7:
		r.remove()
	case 8:
		r.park()
	case 9:
		r.flag()
	case 10:
		r.victim()
	case 11:
		r.clock()
	default:
		r.compute()
	}
	if err := r.s.Check(); err != nil {
		r.fatal("%v", err)
	}
}

func (r *rig) add() {
	r.last++
	m := &mirror{tokens: r.prompt(), priority: Priority(r.c.n(Priorities)), arrival: r.now, slot: -1}
	if r.c.n(4) == 0 {
		m.limit = r.now + 1 + Tick(r.c.n(300))
	}
	err := r.s.Add(r.now, Request{ID: r.last, Tokens: m.tokens, Agent: uint64(r.c.n(4)), Priority: m.priority, Deadline: m.limit, Cached: r.c.n(2) * r.c.n(30)})
	full := len(r.ids) == r.s.limits.Slots+r.s.limits.Queue
	if full != errors.Is(err, ErrQueueFull) || !full && err != nil {
		r.fatal("add with %d alive: %v", len(r.ids), err)
	}
	if err == nil {
		r.all[r.last] = m
		r.ids = append(r.ids, r.last)
	}
}

func (r *rig) running() (n int) {
	for _, m := range r.all {
		if m.slot >= 0 {
			n++
		}
	}
	return n
}

func (r *rig) place() {
	id, ok := r.s.Candidate(r.now)
	if again, _ := r.s.Candidate(r.now); again != id {
		r.fatal("candidate %d, then %d", id, again)
	}
	if !ok {
		r.nobody()
		return
	}
	m := r.all[id]
	if m == nil || m.slot >= 0 || m.blocked || r.running() == r.s.limits.Slots {
		r.fatal("candidate %d: %+v", id, m)
	}
	if r.c.n(4) == 0 {
		r.full(id, m)
		return
	}
	slot := r.c.n(8)
	reuse, stops := r.found(m)
	taken := slices.ContainsFunc(r.ids, func(id ID) bool { return r.all[id].slot == slot })
	if err := r.s.Admit(r.now, id, slot, reuse, stops); taken != (err != nil) {
		r.fatal("admit into slot %d: %v", slot, err)
	}
	if !taken {
		m.slot, m.reuse, m.read, m.stops, m.rested = slot, reuse, reuse, stops, 0
		r.count()
	}
}

// found is what the cache holds of a prompt, and where reading shall pause.
func (r *rig) found(m *mirror) (reuse int, stops []int) {
	for p := 1 + r.c.n(20); p <= len(m.tokens); p += 1 + r.c.n(30) {
		stops = append(stops, p)
	}
	return r.c.n(len(m.tokens)), stops
}

// replan changes it for one that was placed.
func (r *rig) replan() {
	id, m := r.pick()
	if m == nil {
		return
	}
	reuse, stops := r.found(m)
	err := r.s.Replan(id, reuse, stops)
	if ok := m.slot >= 0 && m.read == m.reuse; ok != (err == nil) {
		r.fatal("replan %+v: %v", m, err)
	} else if ok {
		m.reuse, m.read, m.stops = reuse, reuse, stops
	}
}

// nobody checks that whoever waits has a reason: that nothing can stand still for
// ever.
func (r *rig) nobody() {
	running := r.running()
	if running == r.s.limits.Slots {
		return
	}
	for _, id := range r.ids {
		m, q := r.all[id], r.s.byID[id]
		if m.slot >= 0 || m.blocked {
			continue
		}
		if l := q.leader; l != nil {
			if lm := r.all[l.id]; lm == nil || !lm.reading() || lm.held && r.now-l.heldSince >= r.s.limits.Age/patience {
				r.fatal("request %d waits for request %d, which does not read: %+v", id, l.id, lm)
			}
			continue
		}
		refused := q.room.refusedAt == r.s.room.events
		if running == 0 && !refused || running > 0 && !refused && r.s.barrier() == nil && r.s.room.refused[m.priority] < triesPerClass {
			r.fatal("request %d is not offered, though %d run and it was not refused", id, running)
		}
	}
}

func (r *rig) full(id ID, m *mirror) {
	v, ok := r.s.Full(r.now, id)
	if !ok {
		if again, _ := r.s.Candidate(r.now); again == id {
			r.fatal("request %d is offered again at once after it was refused", id)
		}
		return
	}
	vm := r.all[v]
	if vm == nil || vm.slot < 0 || vm.held || vm.priority <= m.priority && !vm.blocked {
		r.fatal("victim %+v for %+v", vm, m)
	}
}

func (r *rig) remove() {
	id, m := r.pick()
	want := -1
	if m != nil {
		want = m.slot
	}
	if slot := r.s.Remove(r.now, id); slot != want {
		r.fatal("remove %d: slot %d, want %d", id, slot, want)
	}
	delete(r.all, id)
	r.ids = slices.DeleteFunc(r.ids, func(x ID) bool { return x == id })
}

func (r *rig) park() {
	id, m := r.pick()
	tokens := r.prompt()
	if m != nil {
		tokens = append(slices.Clone(m.tokens), tokens...)
		tokens = tokens[:min(len(tokens), 200)]
	}
	err := r.s.Park(r.now, id, tokens)
	if (err == nil) != (m != nil && m.slot >= 0) {
		r.fatal("park %+v: %v", m, err)
	}
	if err == nil {
		m.tokens, m.slot, m.read, m.held = tokens, -1, 0, false
	}
}

func (r *rig) flag() {
	id, m := r.pick()
	on := r.c.n(2) == 0
	switch r.c.n(4) {
	case 3:
		r.replan()
	case 0:
		r.s.Block(id, on)
		if m != nil {
			m.blocked = on
		}
	case 1:
		r.s.Hold(id, on)
		if m != nil && m.slot >= 0 {
			if m.held && !on {
				m.rested = 0
			}
			m.held = on
			r.count()
		}
	case 2:
		r.s.Room()
	}
}

func (r *rig) victim() {
	except, m := r.pick()
	v, ok := r.s.Victim(r.now, except)
	others := 0
	for id, m := range r.all {
		if m.slot >= 0 && !m.held && id != except {
			others++
		}
	}
	if vm := r.all[v]; ok && (v == except || vm == nil || vm.slot < 0 || vm.held) {
		r.fatal("victim %d: %+v", v, vm)
	}
	if wanted := m != nil && m.slot >= 0; !ok && others > 0 && !wanted {
		r.fatal("no victim of %d", others)
	} else if ok && wanted && !m.held {
		if _, back := r.s.Victim(r.now, v); back && others == 1 {
			r.fatal("requests %d and %d should give way for each other", v, except)
		}
	}
	if p, ok := r.s.Preempt(r.now); ok && (r.running() < r.s.limits.Slots || r.all[p].slot < 0 || r.all[p].held) {
		r.fatal("preempt %d", p)
	}
}

func (r *rig) clock() {
	var want []ID
	for _, id := range r.ids {
		if m := r.all[id]; m.limit != 0 && m.limit <= r.now {
			want = append(want, id)
		}
	}
	got := r.s.Expired(r.now)
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		r.fatal("expired %v, want %v", got, want)
	}
	at, ok := r.s.WaitUntil(r.now)
	for _, id := range r.ids {
		if l := r.all[id].limit; l != 0 && (!ok || at > l) {
			r.fatal("wake at %d %v, a deadline is at %d", at, ok, l)
		}
	}
	c := r.s.Counts(r.now)
	if c.Waiting != len(r.ids)-r.running() || c.Held+c.Prefilling+c.Decoding+c.Blocked != r.running() {
		r.fatal("counts %+v of %d alive, %d running", c, len(r.ids), r.running())
	}
}

// count notes how many prompts are being read.
func (r *rig) count() {
	n := 0
	for _, m := range r.all {
		if m.reading() && !m.held {
			n++
		}
	}
	r.reading = max(r.reading, n)
}

func (r *rig) compute() {
	step := r.s.Next(r.now)
	rows := 0
	for _, id := range r.ids {
		if m := r.all[id]; m.slot >= 0 && !m.reading() && !m.held && !m.blocked {
			rows++
		}
	}
	for i, row := range step.Decode {
		m := r.all[row.ID]
		if m == nil || m.slot != row.Slot || m.reading() || m.held || m.blocked || i > 0 && step.Decode[i-1].Slot >= row.Slot {
			r.fatal("row %+v of %+v", row, m)
		}
	}
	if rows != len(step.Decode) {
		r.fatal("%d rows, %d can decode", len(step.Decode), rows)
	}
	r.s.Decoded(rows, Tick(r.c.n(20)))
	r.read(step.Prefill, rows > 0)
}

func (r *rig) read(c Chunk, busy bool) {
	r.count()
	if c.N == 0 {
		for id, m := range r.all {
			if m.reading() && !m.held {
				r.fatal("nothing is read, though request %d could", id)
			}
		}
		return
	}
	m, l := r.all[c.ID], r.s.limits
	if m == nil || m.slot != c.Slot || m.held || c.From != m.read || c.From+c.N > len(m.tokens) || c.N > l.Chunk ||
		c.Last != (c.From+c.N == len(m.tokens)) || c.Stop != slices.Contains(m.stops, c.From+c.N) {
		r.fatal("chunk %+v of %+v", c, m)
	}
	for _, p := range m.stops {
		if c.From < p && p < c.From+c.N {
			r.fatal("chunk %+v crosses the stop at %d", c, p)
		}
	}
	if least := l.MinChunk; !c.Last && !c.Stop && (c.N < least || !busy && c.N != l.Chunk) {
		r.fatal("chunk %+v, busy %v, limits %+v", c, busy, l)
	}
	r.s.Read(c.ID, c.N, Tick(r.c.n(100)))
	m.read += c.N
	r.rest(m)
}

// rest checks that no prompt is passed over too long.
func (r *rig) rest(read *mirror) {
	most := 0
	for id, m := range r.all {
		if !m.reading() || m.held {
			continue
		}
		if m.rested++; m == read {
			m.rested = 0
		}
		if most = max(most, m.rested); m.rested > (overdue+1)*r.reading {
			r.fatal("request %d was passed over in %d chunks, %d prompts were read at most", id, m.rested, r.reading)
		}
	}
	if most == 0 {
		r.reading = 0
	}
}

// TestMillionOperations calls everything in any order.
func TestMillionOperations(t *testing.T) {
	total := 1_000_000
	if testing.Short() {
		total /= 20
	}
	const each = 2_000
	for seed := range uint64(total / each) {
		r := newRig(plain{rand.New(rand.NewPCG(seed, 5))}, func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d: "+format, append([]any{seed}, args...)...)
		})
		for range each {
			r.step()
		}
	}
}

// TestRandomOperations is the same with choices that shrink to a short failure.
func TestRandomOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(drawn{t}, t.Fatalf)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			r.step()
		}
	})
}
