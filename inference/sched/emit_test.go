package sched

import "testing"

// An agent whose steps bring several tokens is served as much as they are many.
func TestEmittedTokensAreCharged(t *testing.T) {
	s, err := New(Limits{Slots: 2, Queue: 2, Chunk: 16})
	if err != nil {
		t.Fatal(err)
	}
	for id := ID(1); id <= 2; id++ {
		if err := s.Add(0, Request{ID: id, Tokens: []Token{Token(id), 2, 3}, Agent: uint64(id)}); err != nil {
			t.Fatal(err)
		}
		if err := s.Admit(0, id, int(id)-1, 0, nil); err != nil {
			t.Fatal(err)
		}
		s.Read(id, 3, 1)
	}
	if step := s.Next(0); len(step.Decode) != 2 {
		t.Fatalf("%d rows decode, want 2", len(step.Decode))
	}
	s.Decoded(2, 0)
	s.Emitted(1, 5)
	s.Emitted(2, 0)
	s.Emitted(9, 3) // went meanwhile
	one, two := s.byID[1], s.byID[2]
	if one.charged-two.charged != 5 || one.generated-two.generated != 5 {
		t.Errorf("charged %v and %v, generated %d and %d: want 5 more of each", one.charged, two.charged, one.generated, two.generated)
	}
	for i := range s.cost.steps {
		if s.cost.steps[i].n != 0 {
			t.Error("a step that took no time counts among the costs")
		}
	}
}
