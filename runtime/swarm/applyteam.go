package swarm

import (
	"fmt"
	"time"
)

func (s *State) applyTeam(payload any, at time.Time) error {
	switch p := payload.(type) {
	case Hired:
		if s.byName[p.Agent] != nil {
			return fmt.Errorf("%s is hired already", p.Agent)
		}
		a := &Agent{Hired: p, Since: at, num: len(s.agents), marks: map[string]bool{}}
		for _, m := range s.passed(at) {
			a.marks[markName(m)] = true
		}
		s.agents, s.byName[p.Agent] = append(s.agents, a), a
		s.alive[p.Role]++
		s.setIdle(a, true)
	case Moved:
		for _, name := range p.Agents {
			a := s.byName[name]
			if a == nil {
				return fmt.Errorf("%s: no such agent", name)
			}
			s.setIdle(a, false)
			a.Crew = p.Crew
			s.setIdle(a, a.Task == "" && a.Gone == "")
		}
	case Dismissed:
		a := s.byName[p.Agent]
		if a == nil || a.Gone != "" {
			return fmt.Errorf("%s: no such agent", p.Agent)
		}
		s.dismiss(a, p)
	}
	return nil
}

// dismiss lets an agent go. What it was working on waits for another; what it reported
// goes on without it.
func (s *State) dismiss(a *Agent, p Dismissed) {
	s.setIdle(a, false)
	if a.Gone = p.Reason; a.Gone == "" {
		a.Gone = "dismissed by " + p.By
	}
	s.alive[a.Role]--
	s.drop(a.Hired.Agent)
	t := s.task(a.Task)
	a.Task = ""
	if t == nil {
		return
	}
	if t.judge == a.Hired.Agent {
		t.judge, t.Phase = "", PhaseChecked
	} else {
		t.Agent = ""
		switch t.Phase {
		case PhaseLeased:
			t.Phase, t.Fresh = PhaseWaiting, true
			t.Note = fmt.Sprintf("%s had the task before and was let go: %s", a.Hired.Agent, p.Reason)
		case PhaseWaiting, PhaseResting:
			t.Fresh = true
		}
	}
	s.refresh(t)
}

// drop forgets the letters to an agent that is gone.
func (s *State) drop(agent string) {
	kept := s.letters[:0]
	for _, l := range s.letters {
		if l.Agent != agent {
			kept = append(kept, l)
		}
	}
	s.letters = kept
}

func (s *State) setIdle(a *Agent, idle bool) {
	crews := s.idle[a.Role]
	if crews == nil {
		crews = map[string]order{}
		s.idle[a.Role] = crews
	}
	o := crews[a.Crew]
	o.set(a.num, idle)
	crews[a.Crew] = o
}

func (s *State) bind(a *Agent, t *Task, at time.Time) {
	s.setIdle(a, false)
	a.Task, a.Since = t.ID(), at
	a.Turns, a.Pulse, a.listedTurn, a.listedAt = 0, at, 0, at
}

// free makes an agent idle. The name may be empty.
func (s *State) free(name string, at time.Time) {
	a := s.byName[name]
	if a == nil || a.Gone != "" || a.Task == Root && a.Role == RoleLead {
		return
	}
	a.Task, a.Since = "", at
	s.setIdle(a, true)
}

// applyWords takes what is said to agents and asked of people.
func (s *State) applyWords(payload any, at time.Time) error {
	switch p := payload.(type) {
	case Reminded:
		a := s.byName[p.Agent]
		if a == nil {
			return fmt.Errorf("%s: no such agent", p.Agent)
		}
		a.marks[p.Mark] = true
		s.told(p)
		if p.Mark == a.nextList() {
			a.lists++
			a.listedTurn, a.listedAt = p.Turn, at
		}
		s.letters = append(s.letters, Letter{Agent: p.Agent, Ref: p.Mark, From: Harness, Text: p.Text})
	case Steered:
		s.refs["person "+p.Ref] = p.Ref
		s.letters = append(s.letters, Letter{Agent: p.Agent, Ref: p.Ref, From: Person, Text: p.Text})
	case Delivered:
		s.delivered(p)
	case Asked:
		return s.applyAsked(p)
	case Answered:
		return s.applyAnswered(p)
	case Reasked:
		t := s.task(p.Task)
		if t == nil || t.Doubt == nil {
			return fmt.Errorf("%s: %w with an estimate", p.Task, errNoTask)
		}
		doubt := *t.Doubt
		doubt.Rate = p.Rate
		t.Doubt = &doubt
		if l, ok := s.reaskLetter(t, p); ok {
			s.letters = append(s.letters, l)
		}
	}
	return nil
}

func (s *State) delivered(p Delivered) {
	for i, l := range s.letters {
		if l.Agent == p.Agent && l.Ref == p.Ref {
			s.letters = append(s.letters[:i:i], s.letters[i+1:]...)
			return
		}
	}
}

func (s *State) applyAsked(p Asked) error {
	if p.Question != s.nextQuestion() {
		return fmt.Errorf("%s after %d questions", p.Question, len(s.questions))
	}
	s.questions = append(s.questions, &Question{Asked: p})
	if p.Ref != "" {
		s.refs[p.Agent+" "+p.Ref] = p.Question
	}
	if t := s.task(p.Task); p.Holds && t != nil {
		t.held = p.Question
		s.refresh(t)
	}
	return nil
}

// applyAnswered tells the agent who asked. A task that was held goes on; one that came
// back too often begins to count anew.
func (s *State) applyAnswered(p Answered) error {
	q := s.question(p.Question)
	if q == nil || q.Answer != nil {
		return fmt.Errorf("%s: no such open question", p.Question)
	}
	q.Answer = &p
	if a := s.byName[q.Agent]; a != nil && a.Gone == "" {
		text := fmt.Sprintf("You asked: %s\nThe answer: %s", q.Text, p.Text)
		s.letters = append(s.letters, Letter{Agent: q.Agent, Ref: "answer/" + p.Question, From: Person, Text: text})
	}
	t := s.task(q.Task)
	if !q.Holds || t == nil || t.held != p.Question {
		return nil
	}
	t.held = ""
	if t.Phase == PhaseRejected {
		t.Returns = 0
		t.rejection += fmt.Sprintf("\n%s was asked, and says: %s", p.By, p.Text)
	}
	s.refresh(t)
	return nil
}
