package sched

import (
	"errors"
	"math"
	"testing"
)

func TestBadLimits(t *testing.T) {
	for _, l := range []Limits{
		{}, {Slots: 1}, {Chunk: 1}, {Slots: 1, Chunk: 1, Queue: -1}, {Slots: 1, Chunk: 8, MinChunk: 9}, {Slots: 1, Chunk: 8, MinChunk: -1},
		{Slots: 1, Chunk: 1, Gap: -1}, {Slots: 1, Chunk: 1, GapSteps: 1}, {Slots: 1, Chunk: 1, GapSteps: math.NaN()},
		{Slots: 1, Chunk: 1, GapSteps: math.Inf(1)}, {Slots: 1, Chunk: 1, Age: -1}, {Slots: 1, Chunk: 1, Group: -1},
	} {
		if _, err := New(l); err == nil {
			t.Errorf("limits %+v were accepted", l)
		}
	}
}

// TestRefused: what cannot be is an error and changes nothing.
func TestRefused(t *testing.T) {
	s, err := New(Limits{Slots: 2, Queue: 2, Chunk: 8})
	if err != nil {
		t.Fatal(err)
	}
	for id := ID(1); id <= 3; id++ {
		if err := s.Add(0, Request{ID: id, Tokens: words("a", 10)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Admit(0, 1, 5, 0, []int{3, 10}); err != nil {
		t.Fatal(err)
	}
	bad := map[string]error{
		"no id":            s.Add(0, Request{Tokens: words("a", 1)}),
		"id taken":         s.Add(0, Request{ID: 2, Tokens: words("a", 1)}),
		"no tokens":        s.Add(0, Request{ID: 9}),
		"no such class":    s.Add(0, Request{ID: 9, Tokens: words("a", 1), Priority: Priorities}),
		"unknown":          s.Admit(0, 9, 0, 0, nil),
		"runs already":     s.Admit(0, 1, 0, 0, nil),
		"slot taken":       s.Admit(0, 2, 5, 0, nil),
		"negative slot":    s.Admit(0, 2, -1, 0, nil),
		"nothing to read":  s.Admit(0, 2, 0, 10, nil),
		"negative reuse":   s.Admit(0, 2, 0, -1, nil),
		"stop at 0":        s.Admit(0, 2, 0, 0, []int{0}),
		"stops descend":    s.Admit(0, 2, 0, 0, []int{4, 3}),
		"stop beyond":      s.Admit(0, 2, 0, 0, []int{11}),
		"park a waiting":   s.Park(0, 2, words("a", 1)),
		"park to nothing":  s.Park(0, 1, nil),
		"replan a waiting": s.Replan(2, 0, nil),
	}
	for what, err := range bad {
		if err == nil || errors.Is(err, ErrQueueFull) {
			t.Errorf("%s: error %v", what, err)
		}
		if err := s.Check(); err != nil {
			t.Errorf("after %s: %v", what, err)
		}
	}
	if v, ok := s.Full(0, 1); ok {
		t.Errorf("a running request found no room and shall get that of %d", v)
	}
	if err := s.Admit(0, 2, 0, 0, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Admit(0, 3, 1, 0, nil); err == nil {
		t.Error("three run in two slots")
	}
	c := s.Counts(0)
	if c.Waiting != 1 || c.Prefilling != 2 || c.WaitingBy[Interactive] != 1 || c.RunningBy[Interactive] != 2 {
		t.Errorf("counts %+v", c)
	}
}

// TestCheckSees: Check is no use if it cannot fail.
func TestCheckSees(t *testing.T) {
	spoil := map[string]func(s *Scheduler){
		"lost":          func(s *Scheduler) { delete(s.byID, 1) },
		"twice":         func(s *Scheduler) { s.waiting = append(s.waiting, s.waiting[0]) },
		"order":         func(s *Scheduler) { s.waiting[0], s.waiting[1] = s.waiting[1], s.waiting[0] },
		"read too far":  func(s *Scheduler) { s.running[0].read = 1000 },
		"seat":          func(s *Scheduler) { s.seats[0] = nil },
		"slot":          func(s *Scheduler) { s.waiting[1].slot = 3 },
		"left behind":   func(s *Scheduler) { s.running[0].read = s.waiting[0].until },
		"unknown":       func(s *Scheduler) { s.running[0].followers = nil },
		"not pulled":    func(s *Scheduler) { s.running[0].pull = never },
		"shares less":   func(s *Scheduler) { s.waiting[0].until = 150 },
		"account":       func(s *Scheduler) { s.accounts.busy[0].alive++ },
		"below floor":   func(s *Scheduler) { s.accounts.floor = 1e9 },
		"too many":      func(s *Scheduler) { s.limits.Queue = 0 },
		"never refused": func(s *Scheduler) { s.waiting[1].room.passed = 4 },
	}
	for what, f := range spoil {
		s, err := New(Limits{Slots: 2, Queue: 2, Chunk: 8})
		if err != nil {
			t.Fatal(err)
		}
		for id, task := range []string{"b", "c", "d"} {
			q := Request{ID: ID(id + 1), Tokens: append(words("trunk", 100), words(task, 100)...), Agent: uint64(id)}
			if id == 2 {
				q.Tokens = words("else", 50)
			}
			if err := s.Add(0, q); err != nil {
				t.Fatal(err)
			}
			if id == 0 {
				if err := s.Admit(0, 1, 1, 0, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Check(); err != nil || s.waiting[0].leader == nil {
			t.Fatalf("before: %v", err)
		}
		if f(s); s.Check() == nil {
			t.Errorf("%s: Check sees nothing", what)
		}
	}
}

// TestLeadersEnd: a request whose leaders are cancelled one after the other waits
// for eight of them, then is placed.
func TestLeadersEnd(t *testing.T) {
	s, err := New(Limits{Slots: 2, Queue: 5, Chunk: 8})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add(0, Request{ID: 1, Tokens: words("a", 100), Priority: Background}); err != nil {
		t.Fatal(err)
	}
	for id := ID(2); id < 2*maxLeaders; id++ {
		if err := s.Add(0, Request{ID: id, Tokens: words("a", 100)}); err != nil {
			t.Fatal(err)
		}
		if err := s.Admit(0, id, 0, 0, nil); err != nil {
			t.Fatal(err)
		}
		if got, ok := s.Candidate(0); ok {
			if id != maxLeaders+2 || got != 1 {
				t.Fatalf("request %d is placed beside leader %d", got, id)
			}
			return
		}
		if slot := s.Remove(0, id); slot != 0 {
			t.Fatalf("slot %d", slot)
		}
	}
	t.Fatal("it waits for ever")
}

// TestAgentsAreForgotten: what the scheduler remembers of agents that went does not
// grow with their number.
func TestAgentsAreForgotten(t *testing.T) {
	s, err := New(Limits{Slots: 1, Queue: 5, Chunk: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i := range Tick(10_000) {
		now, id := i*second, ID(i+1)
		if err := s.Add(now, Request{ID: id, Tokens: words("a", 100), Agent: uint64(id)}); err != nil {
			t.Fatal(err)
		}
		if err := s.Admit(now, id, 0, 0, nil); err != nil {
			t.Fatal(err)
		}
		s.Read(id, 100, 0)
		s.Remove(now, id)
	}
	if n := len(s.accounts.byAgent); n > 1000 {
		t.Errorf("%d agents are remembered", n)
	}
}
