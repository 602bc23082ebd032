package sched

import (
	"fmt"
	"slices"
	"testing"
)

// crowd has so many waiting and running. All prompts begin with the same 2,000
// tokens; half of the running ones still read theirs.
func crowd(b *testing.B, waiting, running int) *Scheduler {
	b.Helper()
	s, err := New(Limits{Slots: running, Queue: waiting + 10, Chunk: 512, Group: 1 << 20})
	if err != nil {
		b.Fatal(err)
	}
	for i := range waiting + running {
		if err := s.Add(0, crowdRequest(i)); err != nil {
			b.Fatal(err)
		}
		if i < running {
			if err := s.Admit(0, ID(i+1), i, 1990, nil); err != nil {
				b.Fatal(err)
			}
			if i%2 == 0 {
				s.Read(ID(i+1), 1<<20, 0)
			}
		}
	}
	return s
}

func crowdRequest(i int) Request {
	tokens := append(words("trunk", 2000), words(fmt.Sprint("task ", i), 150)...)
	return Request{ID: ID(i + 1), Tokens: tokens, Agent: uint64(i%100) + 1, Priority: Priority(i % Priorities)}
}

func BenchmarkNext(b *testing.B) {
	s := crowd(b, 1000, 64)
	s.Decoded(32, 20e6)
	s.cost.read(s.limits, 0, 16, 16e6)
	for b.Loop() {
		if s.Next(1).Empty() {
			b.Fatal("nothing to do")
		}
	}
}

func BenchmarkCandidate(b *testing.B) {
	s := crowd(b, 1000, 64)
	s.Remove(1, 1)
	for b.Loop() {
		if _, ok := s.Candidate(1); !ok {
			b.Fatal("nobody")
		}
	}
}

// BenchmarkCandidateNobody is what a step pays while all that wait follow.
func BenchmarkCandidateNobody(b *testing.B) {
	s := crowd(b, 1000, 64)
	s.Remove(1, 1)
	for _, r := range s.waiting {
		s.Block(r.id, true)
	}
	for b.Loop() {
		if _, ok := s.Candidate(1); ok {
			b.Fatal("somebody")
		}
	}
}

func BenchmarkAddRemove(b *testing.B) {
	s := crowd(b, 1000, 64)
	q := crowdRequest(5000)
	for b.Loop() {
		if err := s.Add(1, q); err != nil {
			b.Fatal(err)
		}
		s.Remove(1, q.ID)
	}
}

// BenchmarkAdmitPark: each placement compares the prompt with all that wait.
func BenchmarkAdmitPark(b *testing.B) {
	s := crowd(b, 1000, 63)
	id := s.waiting[0].id
	tokens := slices.Clone(s.waiting[0].tokens)
	s.limits.Slots++
	s.seats = append(s.seats, nil)
	for _, r := range s.waiting {
		r.common = nil
	}
	for b.Loop() {
		if err := s.Admit(1, id, 63, 0, nil); err != nil {
			b.Fatal(err)
		}
		if err := s.Park(1, id, tokens); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTeamOfThousand: a leader reads, 1,000 follow; a round is one chunk.
func BenchmarkTeamOfThousand(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s, err := New(Limits{Slots: 64, Queue: 1000, Chunk: 64})
		if err != nil {
			b.Fatal(err)
		}
		for i := range 1000 {
			if err := s.Add(0, crowdRequest(i)); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if err := s.Admit(0, 1, 0, 0, nil); err != nil {
			b.Fatal(err)
		}
		for s.byID[1].reading() {
			s.Candidate(1)
			c := s.Next(1).Prefill
			s.Read(c.ID, c.N, 0)
		}
	}
}
