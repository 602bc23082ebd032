package kvcache

import (
	"slices"
	"testing"
)

// team is a tree that a thousand agents with 8k tokens each have passed through,
// on 64 slots: most are parked.
func team(b *testing.B, hybrid bool) (*Tree, [][]Token) {
	cfg := Config{Slots: 64, Cells: 300_000, Unified: true, KVBytes: 34 << 10, RAMBytes: 200 << 30, DiskBytes: 1 << 40,
		Cost: Cost{Prefill: 1_000_000, RAM: 100_000, Disk: 400_000, HalfLife: 1000}, Sessions: 4096, Writes: 4}
	if hybrid {
		cfg.Checkpoints, cfg.StateBytes = true, 150<<20
	}
	t, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	trunk := text("trunk", 6000)
	var agents [][]Token
	for i := range 1000 {
		agents = append(agents, slices.Concat(trunk, []Token{Token(i)}, text("task", 1999)))
		turn(b, t, i, agents[i])
	}
	return t, agents
}

// obey answers every action at once.
func obey(b *testing.B, t *Tree) {
	for a, ok := t.Next(); ok; a, ok = t.Next() {
		if err := t.Done(t.now, a.ID, Result{}); err != nil {
			b.Fatal(err)
		}
	}
}

// turn serves one request of an agent: its prompt, and 48 tokens of answer.
func turn(b *testing.B, t *Tree, i int, tokens []Token) {
	id, _, err := t.Acquire(t.now+1, Request{Tokens: tokens, Marks: []int{6000, len(tokens) - 1}, Output: 48, Session: SessionID(i + 1)})
	if err != nil {
		b.Fatal(err)
	}
	obey(b, t)
	p, ready, err := t.Ready(id)
	if !ready || err != nil {
		b.Fatal(p, err)
	}
	at := p.Reuse
	for _, stop := range append(slices.Clone(p.Stops), len(tokens)) {
		if stop > at {
			must(b, t.Extend(t.now, id, tokens[at:stop]))
			at = stop
		}
		_, err := t.Checkpoint(t.now, id)
		must(b, err)
		obey(b, t)
	}
	for k := range 48 {
		must(b, t.Extend(t.now, id, []Token{Token(k)}))
	}
	t.Release(t.now, id, Waiting)
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkTurn(b *testing.B) {
	for name, hybrid := range map[string]bool{"plain": false, "hybrid": true} {
		b.Run(name, func(b *testing.B) {
			t, agents := team(b, hybrid)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				turn(b, t, i%1000, agents[i%1000])
				i++
			}
			s := t.Stats()
			b.ReportMetric(float64(s.SavedTokens)/float64(s.SavedTokens+s.ReadTokens), "reused/token")
			must(b, t.Check())
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	t, agents := team(b, true)
	i := 0
	for b.Loop() {
		t.Lookup(agents[i%1000], SessionID(i%1000+1))
		i++
	}
}

// BenchmarkEvict chooses what leaves a tier full of objects.
func BenchmarkEvict(b *testing.B) {
	t, _ := team(b, true)
	t.budget[Disk] = 0
	i := 0
	for b.Loop() {
		if len(t.heaps[RAM]) < 100 {
			b.StopTimer()
			t, _ = team(b, true)
			t.budget[Disk] = 0
			b.StartTimer()
		}
		j := &job{}
		t.demote(t.lowest(RAM, 1e300), j, true)
		i++
	}
}

func BenchmarkCheck(b *testing.B) {
	t, _ := team(b, true)
	for b.Loop() {
		must(b, t.Check())
	}
}
