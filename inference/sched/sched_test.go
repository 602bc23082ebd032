package sched

import (
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func mustNew(t testing.TB, l Limits) *Scheduler {
	t.Helper()
	s, err := New(l)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFirstComeFirstServed(t *testing.T) {
	s := mustNew(t, Limits{Slots: 2, Queue: 1, Chunk: 8, ChunkBusy: 4})
	for id := ID(1); id <= 3; id++ {
		if err := s.Add(id, 10); err != nil {
			t.Fatalf("add %d: %v", id, err)
		}
	}
	if err := s.Add(4, 10); !errors.Is(err, ErrQueueFull) {
		t.Fatalf("the fourth of two slots and one place: %v", err)
	}
	want := []Chunk{
		{ID: 1, Slot: 0, From: 0, N: 8}, {ID: 1, Slot: 0, From: 8, N: 2, Last: true},
		// Request 1 decodes now, so request 2 reads in smaller chunks.
		{ID: 2, Slot: 1, From: 0, N: 4}, {ID: 2, Slot: 1, From: 4, N: 4}, {ID: 2, Slot: 1, From: 8, N: 2, Last: true},
	}
	for i, w := range want {
		step := s.Next()
		if step.Prefill != w {
			t.Fatalf("step %d reads %+v, want %+v", i, step.Prefill, w)
		}
		s.Read(w.ID, w.N)
	}
	if step := s.Next(); step.Prefill.N != 0 || !reflect.DeepEqual(step.Decode, []Row{{1, 0}, {2, 1}}) {
		t.Fatalf("with both prompts read: %+v", step)
	}
	if slot := s.Remove(1); slot != 0 {
		t.Fatalf("request 1 held slot %d", slot)
	}
	if step := s.Next(); step.Prefill.ID != 3 || step.Prefill.Slot != 0 {
		t.Fatalf("request 3 should take the lowest free slot: %+v", step)
	}
}

func TestBlockedSequencesDoNotDecode(t *testing.T) {
	s := mustNew(t, Limits{Slots: 1, Chunk: 8, ChunkBusy: 4})
	if err := s.Add(7, 1); err != nil {
		t.Fatal(err)
	}
	s.Next()
	s.Read(7, 1)
	s.Block(7, true)
	if step := s.Next(); !step.Empty() {
		t.Fatalf("a blocked sequence is computed: %+v", step)
	}
	s.Block(7, false)
	if step := s.Next(); len(step.Decode) != 1 {
		t.Fatalf("an unblocked sequence is not computed: %+v", step)
	}
}

func TestBadLimits(t *testing.T) {
	for _, l := range []Limits{{}, {Slots: 1, Chunk: 1}, {Slots: 1, Chunk: 1, ChunkBusy: 1, Queue: -1}} {
		if _, err := New(l); err == nil {
			t.Errorf("limits %+v were accepted", l)
		}
	}
}

// TestRandomOperations drives random operations and checks, besides the
// invariants, that nobody starves: once operations stop, every request gets
// its prompt read in a bounded number of steps.
func TestRandomOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{
			Slots: rapid.IntRange(1, 5).Draw(t, "slots"), Queue: rapid.IntRange(0, 6).Draw(t, "queue"),
			Chunk: rapid.IntRange(1, 32).Draw(t, "chunk"), ChunkBusy: rapid.IntRange(1, 8).Draw(t, "busy"),
		}
		s := mustNew2(t, l)
		prompts, read := map[ID]int{}, map[ID]int{}
		var next ID
		carry := func(step Step) {
			if step.Prefill.N > 0 {
				c := step.Prefill
				if c.From != read[c.ID] || c.From+c.N > prompts[c.ID] || c.Last != (c.From+c.N == prompts[c.ID]) {
					t.Fatalf("chunk %+v of a prompt of %d with %d read", c, prompts[c.ID], read[c.ID])
				}
				read[c.ID] += c.N
				s.Read(c.ID, c.N)
			}
			for i, r := range step.Decode {
				if read[r.ID] != prompts[r.ID] {
					t.Fatalf("row %+v decodes before its prompt is read", r)
				}
				if i > 0 && step.Decode[i-1].Slot >= r.Slot {
					t.Fatalf("rows not ascending: %+v", step.Decode)
				}
			}
		}
		for range rapid.IntRange(1, 80).Draw(t, "operations") {
			switch rapid.IntRange(0, 3).Draw(t, "op") {
			case 0:
				next++
				n := rapid.IntRange(1, 60).Draw(t, "prompt")
				if err := s.Add(next, n); err == nil {
					prompts[next] = n
				} else if !errors.Is(err, ErrQueueFull) {
					t.Fatal(err)
				}
			case 1:
				id := ID(rapid.IntRange(0, int(next)+1).Draw(t, "id"))
				s.Remove(id)
				delete(prompts, id)
				delete(read, id)
			case 2:
				s.Block(ID(rapid.IntRange(0, int(next)+1).Draw(t, "id")), rapid.Bool().Draw(t, "blocked"))
			case 3:
				carry(s.Next())
			}
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
		}
		for steps := 0; len(prompts) > 0; steps++ {
			if steps > 60*100 {
				t.Fatalf("%d requests starve", len(prompts))
			}
			carry(s.Next())
			for id, n := range prompts {
				if read[id] == n {
					s.Remove(id)
					delete(prompts, id)
				}
			}
		}
	})
}

func mustNew2(t *rapid.T, l Limits) *Scheduler {
	s, err := New(l)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
