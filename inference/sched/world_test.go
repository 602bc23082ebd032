package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// job is one request in a world.
type job struct {
	Request
	out     int // tokens it generates in all
	done    int // of them generated
	slot    int // -1 = it waits
	read    int
	cells   int // of its own
	since   Tick
	waited  Tick // from arrival to the first slot
	placed  bool
	nth     int  // which placement its first was
	last    Tick // its latest token
	gaps    []Tick
	parks   int
	partial int // tokens at the end of the prompt that it generated before it was parked
}

// world plays owner, engine and cache: it carries out what a Scheduler decides, on
// a clock of its own. Everything that was read stays in its cache; cells are what
// running requests hold beyond what they found there.
type world struct {
	tb     testing.TB
	s      *Scheduler
	now    Tick
	jobs   map[ID]*job
	cells  int // capacity
	used   int
	cached [][]Token // prompts that went out of their slot, as far as they were read
	marks  []int     // where they can be shared, for recurrent models
	last   ID

	step, row    Tick    // cost of a decode call, and of each row in it
	call, token  Tick    // of a chunk, and of each token in it
	deep         float64 // more of a token with each position, in Ticks
	noise        func(Tick) Tick
	chunks       []Tick // what each chunk took beside running streams
	read, placed int
	parked       int
	ended        func(*job)
	arrivals     []arrival
}

type arrival struct {
	at Tick
	j  *job
}

func newWorld(tb testing.TB, l Limits, cells int) *world {
	s, err := New(l)
	if err != nil {
		tb.Fatal(err)
	}
	return &world{
		tb: tb, s: s, jobs: map[ID]*job{}, cells: cells, step: 20e6, row: 1e6, call: 5e6, token: 1e6,
		noise: func(t Tick) Tick { return t }, ended: func(*job) {},
	}
}

// arrive plans a request.
func (w *world) arrive(at Tick, j *job) *job {
	w.last++
	j.ID, j.slot = w.last, -1
	w.arrivals = append(w.arrivals, arrival{at, j})
	slices.SortStableFunc(w.arrivals, func(a, b arrival) int { return int(a.at - b.at) })
	return j
}

// play runs until all is done, at most so many rounds.
func (w *world) play(rounds int) {
	w.tb.Helper()
	for range rounds {
		if len(w.jobs) == 0 && len(w.arrivals) == 0 {
			return
		}
		w.play1()
		if err := w.s.Check(); err != nil {
			w.tb.Fatal(err)
		}
	}
	w.tb.Fatalf("%d requests are not done after %d rounds: %+v", len(w.jobs), rounds, w.s.Counts(w.now))
}

// play1 is one round: who arrived is added, and a step carried out.
func (w *world) play1() {
	w.tb.Helper()
	for len(w.arrivals) > 0 && w.arrivals[0].at <= w.now {
		a := w.arrivals[0]
		w.arrivals = w.arrivals[1:]
		a.j.since = a.at
		if err := w.s.Add(w.now, a.j.Request); err != nil {
			w.tb.Fatal(err)
		}
		w.jobs[a.j.ID] = a.j
	}
	if !w.round() {
		w.sleep()
	}
}

// sleep lets time pass until something happens. Nothing to wait for is a deadlock.
func (w *world) sleep() {
	w.tb.Helper()
	at, ok := w.s.WaitUntil(w.now)
	if len(w.arrivals) > 0 && (!ok || w.arrivals[0].at < at) {
		at, ok = w.arrivals[0].at, true
	}
	if !ok {
		w.tb.Fatalf("%d requests stand still: %+v", len(w.jobs), w.s.Counts(w.now))
	}
	w.now = max(at, w.now+1)
}

func (w *world) round() bool {
	w.tb.Helper()
	for {
		id, ok := w.s.Candidate(w.now)
		if !ok {
			break
		}
		w.place(w.jobs[id])
	}
	step := w.s.Next(w.now)
	for len(step.Decode) > 0 && w.used+len(step.Decode) > w.cells {
		v, ok := w.s.Victim(w.now, 0)
		if !ok || len(w.s.running) == 1 {
			w.tb.Fatal("one request alone does not fit")
		}
		w.park(w.jobs[v])
		step = w.s.Next(w.now)
	}
	w.decode(slices.Clone(step.Decode))
	w.prefill(step.Prefill, len(step.Decode) > 0)
	return !step.Empty()
}

// place tries to find room for a request.
func (w *world) place(j *job) {
	w.tb.Helper()
	reuse := w.reuse(j)
	need := len(j.Tokens) - reuse
	for w.used+need > w.cells {
		v, ok := w.s.Full(w.now, j.ID)
		if !ok {
			if len(w.s.running) == 0 {
				w.tb.Fatalf("request %d will never fit", j.ID)
			}
			return
		}
		w.park(w.jobs[v])
	}
	slot := 0
	for slices.ContainsFunc(w.s.running, func(r *request) bool { return r.slot == slot }) {
		slot++
	}
	var stops []int
	for _, m := range w.marks {
		if m > reuse && m <= len(j.Tokens) {
			stops = append(stops, m)
		}
	}
	if err := w.s.Admit(w.now, j.ID, slot, reuse, stops); err != nil {
		w.tb.Fatal(err)
	}
	w.placed++
	j.slot, j.read, j.cells = slot, reuse, need
	w.used += need
	if !j.placed {
		j.placed, j.nth, j.waited = true, w.placed, w.now-j.since
	}
}

// reuse is how much of a prompt is in the cache.
func (w *world) reuse(j *job) int {
	best := 0
	share := func(tokens []Token) {
		n := commonPrefix(tokens, j.Tokens)
		if w.s.limits.Checkpoints && n < len(tokens) {
			at := 0
			for _, m := range w.marks {
				if m <= n {
					at = m
				}
			}
			n = at
		}
		best = max(best, n)
	}
	for _, o := range w.jobs {
		if o.slot >= 0 {
			share(o.Tokens[:min(o.read, len(o.Tokens))])
		}
	}
	for _, tokens := range w.cached {
		share(tokens)
	}
	return min(best, len(j.Tokens)-1)
}

func (w *world) free(j *job) {
	w.cached = append(w.cached, j.Tokens[:j.read])
	w.used -= j.cells
	j.slot, j.cells = -1, 0
}

func (w *world) park(j *job) {
	w.tb.Helper()
	w.parked++
	j.parks++
	generated := words(fmt.Sprint("out ", j.ID), j.done)
	old := j.Tokens[:len(j.Tokens)-j.partial]
	j.partial = j.done
	w.free(j)
	j.Tokens = append(slices.Clone(old), generated...)
	if err := w.s.Park(w.now, j.ID, j.Tokens); err != nil {
		w.tb.Fatal(err)
	}
}

func (w *world) decode(rows []Row) {
	if len(rows) == 0 {
		return
	}
	took := w.noise(w.step + w.row*Tick(len(rows)))
	w.now += took
	w.s.Decoded(len(rows), took)
	for _, row := range rows {
		j := w.jobs[row.ID]
		j.cells++
		w.used++
		w.token1(j)
	}
}

// token1 gives a request its next token.
func (w *world) token1(j *job) {
	if j.done > 0 {
		j.gaps = append(j.gaps, w.now-j.last)
	}
	j.last = w.now
	if j.done++; j.done < j.out {
		return
	}
	w.free(j)
	w.s.Remove(w.now, j.ID)
	delete(w.jobs, j.ID)
	w.ended(j)
}

func (w *world) prefill(c Chunk, busy bool) {
	j := w.jobs[c.ID]
	if c.N == 0 || j == nil || j.slot != c.Slot {
		return
	}
	took := w.noise(w.call + Tick(float64(c.N)*(float64(w.token)+w.deep*(float64(c.From)+float64(c.N)/2))))
	w.now += took
	if busy {
		w.chunks = append(w.chunks, took)
	}
	w.s.Read(c.ID, c.N, took)
	j.read += c.N
	w.read += c.N
	if c.Last {
		w.token1(j)
	}
}

// noisy costs are up to so many percent more or less.
func noisy(seed uint64, percent int64) func(Tick) Tick {
	r := rand.New(rand.NewPCG(seed, 9))
	return func(t Tick) Tick { return t + t*(r.Int64N(2*percent+1)-percent)/100 }
}
