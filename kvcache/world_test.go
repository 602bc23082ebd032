package kvcache

import (
	"errors"
	"fmt"
	"slices"
)

// world is an owner with a pretended engine and store: it carries out actions on
// lists of tokens and refuses what a real engine could not do. It is the naive
// model that the tree is compared with.
type world struct {
	tb   failer
	cfg  Config
	t    *Tree
	now  Tick
	seqs map[int]*sequence
	objs map[ObjectID]*stored

	leases   map[LeaseID]*request
	cells    int // ever made
	slow     []Action
	largest  [tiers]int64 // physical bytes ever
	log      []taken
	seen     []int // by cell: the last count that met it
	counting int
	fail     func(Action) Result // nil = nothing fails
	excused  [tiers]int64        // bytes beyond a budget that failures explain
}

// failer is a test of either testing or rapid.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// taken is an action and what became of it.
type taken struct {
	Action
	Err error
}

type sequence struct {
	tokens []Token
	cells  []int
}

// stored is an object with the tokens its bytes were computed from.
type stored struct {
	path  []Token
	from  int
	state bool
	tier  Tier
	bytes int64
	class uint8 // of Config.Smaller
	dead  bool  // its drop failed: the bytes are there, for nothing
}

type request struct {
	Request
	read  int // tokens in the sequence
	stops []int
	slot  int
	all   []Token // prompt and what was generated
}

var errTest = errors.New("test failure")

func newWorld(tb failer, cfg Config) *world {
	w := &world{tb: tb, cfg: cfg}
	w.boot()
	w.objs = map[ObjectID]*stored{}
	return w
}

func (w *world) boot() {
	t, err := New(w.cfg)
	if err != nil {
		w.tb.Fatal(err)
	}
	w.t, w.seqs, w.leases, w.slow = t, map[int]*sequence{}, map[LeaseID]*request{}, nil
}

func (w *world) fatalf(format string, args ...any) {
	w.tb.Helper()
	w.tb.Fatalf("%s\nlast actions: %+v", fmt.Sprintf(format, args...), w.log[max(0, len(w.log)-12):])
}

// pump carries out what the tree asks for. Actions of disk wait if deferred.
func (w *world) pump(deferSlow bool) {
	w.tb.Helper()
	for {
		a, ok := w.t.Next()
		if !ok {
			if deferSlow || len(w.slow) == 0 {
				return
			}
			a, w.slow = w.slow[0], w.slow[1:]
		} else if deferSlow && w.isSlow(a) {
			w.slow = append(w.slow, a)
			continue
		}
		w.act(a)
	}
}

func (w *world) isSlow(a Action) bool {
	return a.Kind == Write || a.Kind == Shrink || a.Kind == Drop && a.Objects[0].Tier == Disk ||
		a.Kind == Restore && (slices.ContainsFunc(a.Pieces, func(p Target) bool { return p.Tier == Disk }) ||
			a.State != 0 && w.objs[a.State].tier == Disk)
}

func (w *world) act(a Action) {
	w.tb.Helper()
	var r Result
	if w.fail != nil {
		r = w.fail(a)
	}
	if a.Kind == Shrink && r.Err == nil && r.Bytes == nil {
		r.Bytes = []int64{w.shrunk(a)}
	}
	w.log = append(w.log, taken{a, r.Err})
	if len(w.log) > 100 {
		w.log = slices.Delete(w.log, 0, 50)
	}
	if r.Err == nil {
		if err := w.carryOut(a, r); err != nil {
			w.fatalf("%s: %v", a.Kind, err)
		}
	} else if a.Kind == Restore {
		delete(w.seqs, a.Seq)
	} else if a.Kind == Drop {
		w.objs[a.Objects[0].ID].dead = true
	}
	if err := w.t.Done(w.now, a.ID, r); err != nil {
		w.fatalf("%v", err)
	}
}

func (w *world) carryOut(a Action, r Result) error {
	s := w.seqs[a.Seq]
	switch a.Kind {
	case Save:
		for i, o := range a.Objects {
			if s == nil || o.To > len(s.tokens) || o.State && o.To != len(s.tokens) {
				return fmt.Errorf("object %+v of a sequence %v", o, s)
			}
			w.store(o, s.tokens[:o.To], r, i)
		}
	case Write:
		src := w.objs[a.Source]
		o := a.Objects[0]
		if src == nil || src.tier != RAM || src.from != o.From || len(src.path) != o.To || src.state != o.State {
			return fmt.Errorf("object %+v of source %+v", o, src)
		}
		w.store(o, src.path, r, 0)
		w.objs[o.ID].class = a.Class
	case Shrink:
		o := w.objs[a.Objects[0].ID]
		if o == nil || o.tier != Disk || a.Class <= o.class {
			return fmt.Errorf("object %+v to class %d", o, a.Class)
		}
		o.bytes, o.class = r.Bytes[0], a.Class
	case Drop:
		if w.objs[a.Objects[0].ID] == nil {
			return fmt.Errorf("object %d does not exist", a.Objects[0].ID)
		}
		delete(w.objs, a.Objects[0].ID)
	case Clear:
		if s == nil {
			return errors.New("sequence is empty")
		}
		delete(w.seqs, a.Seq)
	case Restore:
		return w.restore(a)
	}
	return w.measure()
}

func (w *world) store(o Target, path []Token, r Result, i int) {
	b := o.Bytes
	if i < len(r.Bytes) {
		b = r.Bytes[i]
		w.excused[o.Tier] += max(0, b-o.Bytes)
	}
	if w.objs[o.ID] != nil {
		w.fatalf("object %d is made twice", o.ID)
	}
	if p := w.t.Path(o.ID); p != nil && !slices.Equal(p, path) {
		w.fatalf("object %d is said to be of %v, it is of %v", o.ID, p, path)
	}
	w.objs[o.ID] = &stored{path: slices.Clone(path), from: o.From, state: o.State, tier: o.Tier, bytes: b}
}

// shrunk is what a disk object takes coded in a class.
func (w *world) shrunk(a Action) int64 {
	o := w.objs[a.Objects[0].ID]
	if o == nil {
		return 0
	}
	part := w.cfg.Smaller[w.cfg.levelOf(a.Class)-1].Part
	if from := w.cfg.levelOf(o.class); from > 0 {
		part /= w.cfg.Smaller[from-1].Part
	}
	return max(1, int64(float64(o.bytes)*part))
}

func (w *world) restore(a Action) error {
	var out sequence
	if a.From >= 0 {
		src := w.seqs[a.From]
		if src == nil || len(src.tokens) < a.Shared {
			return fmt.Errorf("source %d holds %v", a.From, src)
		}
		out.tokens = slices.Clone(src.tokens[:a.Shared])
		if w.cfg.Unified || a.From == a.Seq {
			out.cells = slices.Clone(src.cells[:a.Shared])
		}
	}
	if a.From != a.Seq && w.seqs[a.Seq] != nil {
		return errors.New("sequence is not empty")
	}
	hasState := a.From >= 0 && a.Shared == a.At && len(w.seqs[a.From].tokens) == a.At
	for _, p := range a.Pieces {
		o := w.objs[p.ID]
		if o == nil || p.From != len(out.tokens) || p.From < o.from || p.To > len(o.path) || w.cfg.Opaque && p.From > 0 {
			return fmt.Errorf("piece %+v of %+v after %d", p, o, len(out.tokens))
		}
		if !slices.Equal(o.path[:p.From], out.tokens) {
			return fmt.Errorf("piece %+v rests on other tokens", p)
		}
		out.tokens = append(out.tokens, o.path[p.From:p.To]...)
		hasState = o.state && len(o.path) == a.At
	}
	if a.State != 0 {
		o := w.objs[a.State]
		if o == nil || !o.state || !slices.Equal(o.path, out.tokens) {
			return fmt.Errorf("state %d is %+v", a.State, o)
		}
		hasState = true
	}
	if len(out.tokens) != a.At || w.cfg.Checkpoints && !hasState {
		return fmt.Errorf("holds %d tokens, state %t", len(out.tokens), hasState)
	}
	w.fill(&out)
	w.seqs[a.Seq] = &out
	return w.measure()
}

func (w *world) fill(s *sequence) {
	for len(s.cells) < len(s.tokens) {
		w.cells++
		s.cells = append(s.cells, w.cells)
	}
}

// measure refuses more bytes or cells than there are.
func (w *world) measure() error {
	var sum [tiers]int64
	for _, o := range w.objs {
		sum[o.tier] += o.bytes
	}
	for tier, b := range map[Tier]int64{RAM: w.cfg.RAMBytes, Disk: w.cfg.DiskBytes} {
		w.largest[tier] = max(w.largest[tier], sum[tier])
		if sum[tier] > b+w.excused[tier] {
			return fmt.Errorf("%d bytes in %s, which has %d", sum[tier], tier, b)
		}
	}
	if n := w.physical(); n > w.cfg.Cells {
		return fmt.Errorf("%d cells of %d", n, w.cfg.Cells)
	}
	return nil
}

// physical is the cells in use.
func (w *world) physical() (n int) {
	w.counting++
	for len(w.seen) <= w.cells {
		w.seen = append(w.seen, 0)
	}
	for _, s := range w.seqs {
		for _, c := range s.cells {
			if w.seen[c] != w.counting {
				w.seen[c] = w.counting
				n++
			}
		}
	}
	return n
}

// open acquires; nil if the cache is full.
func (w *world) open(r Request) (LeaseID, *request) {
	w.tb.Helper()
	w.now++
	id, _, err := w.t.Acquire(w.now, r)
	if errors.Is(err, ErrFull) {
		return 0, nil
	}
	if err != nil {
		w.fatalf("acquire: %v", err)
	}
	q := &request{Request: r, read: -1, all: slices.Clone(r.Tokens)}
	w.leases[id] = q
	return id, q
}

// start checks that a ready sequence holds what the plan says.
func (w *world) start(id LeaseID, q *request) bool {
	w.tb.Helper()
	p, ready, err := w.t.Ready(id)
	if err != nil || !ready {
		return false
	}
	if q.read < 0 {
		var have []Token
		if s := w.seqs[p.Slot]; s != nil {
			have = s.tokens
		}
		if !slices.Equal(have, q.Tokens[:p.Reuse]) {
			w.fatalf("sequence %d holds %v, plan is %+v of %v", p.Slot, have, p, q.Tokens)
		}
		q.read, q.stops, q.slot = p.Reuse, p.Stops, p.Slot
	}
	return true
}

// compute reads or generates up to n tokens, pausing at a stop.
func (w *world) compute(id LeaseID, q *request, n int) {
	w.tb.Helper()
	n = min(n, len(q.all)-q.read)
	if len(q.stops) > 0 {
		n = min(n, q.stops[0]-q.read)
	}
	s := w.seqs[q.slot]
	if s == nil {
		s = &sequence{}
		w.seqs[q.slot] = s
	}
	s.tokens = append(s.tokens, q.all[q.read:q.read+n]...)
	w.fill(s)
	if err := w.t.Extend(w.now, id, q.all[q.read:q.read+n]); err != nil {
		w.fatalf("%v", err)
	}
	q.read += n
	if len(q.stops) > 0 && q.stops[0] == q.read {
		q.stops = q.stops[1:]
		if _, err := w.t.Checkpoint(w.now, id); err != nil {
			w.fatalf("%v", err)
		}
		w.pump(true)
	}
}

// naive is the longest usable prefix, by looking at everything there is.
func (w *world) naive(tokens []Token) int {
	rows := func(i int) bool { // of position i
		for _, s := range w.seqs {
			if i < len(s.tokens) && slices.Equal(s.tokens[:i+1], tokens[:i+1]) {
				return true
			}
		}
		for _, o := range w.objs {
			if !o.dead && o.from <= i && i < len(o.path) && slices.Equal(o.path[:i+1], tokens[:i+1]) {
				return true
			}
		}
		return false
	}
	state := func(p int) bool {
		for _, s := range w.seqs {
			if slices.Equal(s.tokens, tokens[:p]) {
				return true
			}
		}
		for _, o := range w.objs {
			if !o.dead && o.state && slices.Equal(o.path, tokens[:p]) {
				return true
			}
		}
		return false
	}
	best := 0
	for p := 1; p < len(tokens) && rows(p-1); p++ {
		if !w.cfg.Checkpoints || state(p) {
			best = p
		}
	}
	return best
}

// serve runs one request to its end: prompt and answer.
func (w *world) serve(r Request, answer []Token, p Phase) (Plan, bool) {
	w.tb.Helper()
	id, q := w.open(r)
	if q == nil {
		w.pump(false)
		return Plan{}, false
	}
	w.pump(false)
	if !w.start(id, q) {
		w.fatalf("lease %d does not get ready", id)
	}
	plan, _, _ := w.t.Ready(id)
	q.all = append(q.all, answer...)
	for q.read < len(q.all) {
		w.compute(id, q, 64)
	}
	w.t.Release(w.now, id, p)
	delete(w.leases, id)
	w.pump(false)
	w.check()
	return plan, true
}

func (w *world) check() {
	w.tb.Helper()
	if err := w.t.Check(); err != nil {
		w.fatalf("%v", err)
	}
	if n := w.physical(); n != w.t.cells {
		w.fatalf("%d cells are filled, the tree counts %d", n, w.t.cells)
	}
}

// crash loses everything but the disk and starts anew from that.
func (w *world) crash() {
	w.tb.Helper()
	var found []Stored
	var old []ObjectID
	for id, o := range w.objs {
		if o.tier == Disk {
			old = append(old, id)
		}
	}
	slices.Sort(old)
	for _, id := range old {
		o := w.objs[id]
		found = append(found, Stored{Path: o.path, From: o.from, State: o.state, Bytes: o.bytes, Class: o.class})
	}
	before := w.objs
	w.boot()
	w.objs = map[ObjectID]*stored{}
	for i, id := range w.t.Adopt(found) {
		if id != 0 {
			w.objs[id] = before[old[i]]
			w.objs[id].dead = false
		}
	}
	w.excused = [tiers]int64{}
}
