package kvcache

import (
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// kinds of caches that the random tests run on.
var kinds = map[string]Config{
	"plain unified":  {Unified: true},
	"plain split":    {},
	"hybrid unified": {Unified: true, Checkpoints: true, StateBytes: 60},
	"hybrid split":   {Checkpoints: true, StateBytes: 60},
	"plain opaque":   {Unified: true, Opaque: true},
	"hybrid opaque":  {Unified: true, Checkpoints: true, StateBytes: 60, Opaque: true},
	"plain smaller":  {Unified: true, Smaller: testSmaller},
	"hybrid smaller": {Checkpoints: true, StateBytes: 60, Smaller: testSmaller},
}

var testSmaller = []Coding{{Class: 2, Part: 0.5}, {Class: 4, Part: 0.2}}

func small(c Config) Config {
	c.Slots, c.Cells, c.KVBytes, c.RAMBytes, c.DiskBytes = 4, 80, 10, 400, 1400
	if c.Unified {
		c.Cells = 48 // what slots want is not all there
	}
	c.Cost = Cost{Prefill: 1000, HalfLife: 50}
	c.Sessions, c.Writes = 6, 2
	return c
}

// dice decides; both rand and rapid can be behind it.
type dice interface{ roll(n int) int }

type seeded struct{ *rand.Rand }

func (s seeded) roll(n int) int { return s.IntN(n) }

type drawn struct{ *rapid.T }

func (d drawn) roll(n int) int { return rapid.IntRange(0, n-1).Draw(d.T, "n") }

type bytesDice struct {
	data []byte
	over bool
}

func (b *bytesDice) roll(n int) int {
	if len(b.data) == 0 {
		b.over = true
		return 0
	}
	v := int(b.data[0])
	b.data = b.data[1:]
	return v % n
}

// player makes random operations on a world.
type player struct {
	*world
	d       dice
	history [][]Token
	pinned  []PinID
}

func newPlayer(tb failer, cfg Config, d dice, failures bool) *player {
	p := &player{world: newWorld(tb, cfg), d: d}
	if failures {
		p.fail = p.chance
	}
	return p
}

// chance makes some actions fail and some objects come out larger or smaller.
func (p *player) chance(a Action) Result {
	if a.Kind == Clear || a.Kind == Drop && a.Objects[0].Tier == RAM || p.d.roll(8) > 0 {
		return Result{}
	}
	switch {
	case a.Kind == Drop:
		p.excused[Disk] += a.Objects[0].Bytes
	case a.Kind == Shrink && p.d.roll(2) == 0:
		switch p.d.roll(3) {
		case 0:
			return Result{Bytes: []int64{a.Objects[0].Bytes}} // it would not get smaller
		case 1:
			return Result{Err: errTest, Bad: a.Objects[0].ID}
		}
		return Result{Bytes: []int64{max(1, a.Objects[0].Bytes-int64(p.d.roll(4)))}}
	case a.Kind == Restore && len(a.Pieces) > 0 && p.d.roll(2) == 0:
		return Result{Err: errTest, Bad: a.Pieces[p.d.roll(len(a.Pieces))].ID}
	case a.Kind == Save || a.Kind == Write:
		if p.d.roll(2) == 0 {
			var r Result
			for _, o := range a.Objects {
				r.Bytes = append(r.Bytes, o.Bytes+int64(p.d.roll(5))-3)
			}
			return r
		}
	}
	return Result{Err: errTest}
}

// prompt is a former one, cut somewhere and continued.
func (p *player) prompt() []Token {
	var out []Token
	if n := len(p.history); n > 0 && p.d.roll(8) > 0 {
		old := p.history[p.d.roll(n)]
		out = slices.Clone(old)
		if p.d.roll(3) == 0 {
			out = out[:p.d.roll(len(out)+1)]
		}
	}
	for range 1 + p.d.roll(6) {
		out = append(out, Token(p.d.roll(3)))
	}
	out = out[:min(len(out), 16)]
	if len(p.history) < 24 {
		p.history = append(p.history, out)
	} else {
		p.history[p.d.roll(24)] = out
	}
	return out
}

func (p *player) step() {
	p.now++
	switch op := p.d.roll(26); {
	case op < 5:
		tokens := p.prompt()
		p.compare(tokens)
		r := Request{Tokens: tokens, Output: p.d.roll(4), Session: SessionID(p.d.roll(9)), Rank: Rank(p.d.roll(4))}
		if p.d.roll(2) == 0 {
			r.Marks = []int{p.d.roll(len(tokens)) / 2, len(tokens)}
		}
		p.open(r)
	case op < 11:
		p.advance()
	case op < 16:
		p.finishOne()
	case op < 19:
		p.pump(true)
	case op < 20 && p.d.roll(2) == 0:
		p.pump(false)
	case op < 21 && p.d.roll(2) == 0:
		p.t.Backup(p.now, p.d.roll(p.cfg.Slots))
	case op < 21:
		_ = p.t.Park(p.now, p.d.roll(p.cfg.Slots)) // full is an answer
	case op < 22:
		p.t.Balance(p.now)
	case op < 23:
		p.rare()
	case op < 25:
		p.reserve()
	default:
		if len(p.slow) > 0 { // disk answers in any order
			i := p.d.roll(len(p.slow))
			a := p.slow[i]
			p.slow = slices.Delete(p.slow, i, i+1)
			p.act(a)
		}
	}
	p.check()
}

// compare checks a lookup against the naive model, when nothing is under way.
func (p *player) compare(tokens []Token) {
	if len(p.t.runnable)+len(p.t.flight) > 0 {
		return
	}
	got := p.t.Lookup(tokens, 0)
	if want := p.naive(tokens); !p.cfg.Opaque && got.Reuse != want || got.Reuse > want {
		p.fatalf("%v: %d tokens can be reused, lookup says %+v", tokens, want, got)
	}
	session := SessionID(len(tokens) % 8)
	got = p.t.Lookup(tokens, session)
	in := p.t.Inspect(tokens, session, 2)
	at, slowest := 0, Gone
	for _, s := range in.Spans {
		if s.From != at || s.To <= at || s.Tier == Gone {
			p.fatalf("%v: spans %v", tokens, in.Spans)
		}
		at, slowest = s.To, slower(slowest, s.Tier)
	}
	if in.Reuse != got.Reuse || in.Tier != got.Tier || at != got.Reuse || got.Tier > slowest {
		p.fatalf("%v: lookup says %+v, inspection %+v", tokens, got, in)
	}
	if (in.Past != nil) != (p.t.sessions[session] != nil) {
		p.fatalf("session %d: %+v", session, in.Past)
	}
}

// pick a lease, the same for the same dice.
func (p *player) pick() (LeaseID, *request) {
	if len(p.leases) == 0 {
		return 0, nil
	}
	ids := make([]LeaseID, 0, 8)
	for id := range p.leases {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	id := ids[p.d.roll(len(ids))]
	return id, p.leases[id]
}

func (p *player) advance() {
	p.pump(true) // what concerns sequences comes before computing
	id, q := p.pick()
	if q == nil || !p.start(id, q) {
		return
	}
	if q.read == len(q.all) && len(q.all) < len(q.Tokens)+q.Output {
		q.all = append(q.all, Token(p.d.roll(3)))
	}
	if q.read < len(q.all) {
		p.compute(id, q, 1+p.d.roll(8))
	}
}

func (p *player) finishOne() {
	id, q := p.pick()
	if q == nil {
		return
	}
	if p.d.roll(12) == 0 {
		p.t.Discard(p.now, id)
	} else {
		p.t.Release(p.now, id, Phase(p.d.roll(4)-1))
	}
	p.t.Release(p.now, id, Ended) // once more is nothing
	delete(p.leases, id)
}

func (p *player) rare() {
	switch p.d.roll(8) {
	case 0:
		if len(p.pinned) < 2 {
			tokens := p.prompt()
			id, err := p.t.Pin(p.now, tokens[:1+p.d.roll(len(tokens))])
			if err != nil {
				p.fatalf("%v", err)
			}
			p.pinned = append(p.pinned, id)
		}
	case 1, 2:
		if n := len(p.pinned); n > 0 {
			p.t.Unpin(p.pinned[n-1])
			p.pinned = p.pinned[:n-1]
		}
	case 3:
		p.t.Forget(SessionID(p.d.roll(9)))
	case 4:
		p.t.Hint(p.now, SessionID(p.d.roll(9)), Phase(p.d.roll(4)-1))
	case 5:
		if p.d.roll(4) == 0 {
			p.crash()
			p.pinned = nil
		}
	default:
		p.reserve()
	}
}

func (p *player) reserve() {
	id, q := p.pick()
	if q == nil {
		return
	}
	n := p.d.roll(16)
	if err := p.t.Reserve(p.now, id, n); err == nil {
		q.Output += n
	} else if _, ready, _ := p.t.Ready(id); ready && !errors.Is(err, ErrFull) {
		p.fatalf("%v", err)
	}
}

// drain ends everything and checks that all of it was given back.
func (p *player) drain() {
	for id := range p.leases {
		p.t.Release(p.now, id, Ended)
	}
	p.leases = map[LeaseID]*request{}
	p.fail = nil
	p.pump(false)
	for range 2 + len(p.t.objects) { // it writes a few at a time
		p.t.Balance(p.now)
		p.pump(false)
	}
	p.check()
	s := p.t.Stats()
	if s.Unwritten != 0 {
		p.fatalf("%d copies are said to be on their way to the disk, for ever", s.Unwritten)
	}
	if s.Reserved != 0 || s.Leases != 0 || s.Idle != s.Sequences || len(p.t.flight) != 0 {
		p.fatalf("not everything came back: %+v", s)
	}
	var sum [tiers]int64
	for _, o := range p.objs {
		sum[o.tier] += o.bytes
	}
	if sum != p.t.used || len(p.objs) != len(p.t.objects) || len(p.seqs) != s.Sequences {
		p.fatalf("the store holds %v, the ledger says %v", sum, p.t.used)
	}
}

var operations = flag.Int("operations", 300_000, "of TestManyOperations, over all its kinds")

func TestManyOperations(t *testing.T) {
	n := *operations / len(kinds) / 2
	for name, cfg := range kinds {
		for _, failures := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " with failures"}[failures], func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(10) {
					p := newPlayer(t, small(cfg), seeded{rand.New(rand.NewPCG(seed, 7))}, failures)
					for range n / 10 {
						p.step()
					}
					p.drain()
				}
			})
		}
	}
}

func TestRandomOperations(t *testing.T) {
	for name, cfg := range kinds {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				p := newPlayer(r, small(cfg), drawn{r}, rapid.Bool().Draw(r, "failures"))
				for range rapid.IntRange(1, 60).Draw(r, "steps") {
					p.step()
				}
				p.drain()
			})
		})
	}
}

func FuzzOperations(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 || len(data) > 4096 {
			return
		}
		all := []string{"plain unified", "plain split", "hybrid unified", "hybrid split", "plain opaque", "hybrid opaque", "plain smaller", "hybrid smaller"}
		d := &bytesDice{data: data[1:]}
		p := newPlayer(t, small(kinds[all[int(data[0]>>1)%len(all)]]), d, data[0]&1 == 1)
		for !d.over {
			p.step()
		}
		p.drain()
	})
}
