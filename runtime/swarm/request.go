package swarm

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// What people, planners' tools and the model server ask of a running run. Each method
// may be called from any goroutine, and returns when the log has what it led to. All
// return ErrRefused with a reason where they cannot be granted, ErrNotRunning, ctx's
// error, and the log's.

// ask has the loop decide about a request, and waits until the log has the answer.
// decide gives the payloads of events, and the answer made once they are applied.
func ask[T any](ctx context.Context, c *Coordinator, what string, decide func(s *State) (answer func() T, payloads []any, err error)) (T, error) {
	type reply struct {
		answer T
		err    error
	}
	replies := make(chan reply, 1)
	take := func(l *loop) {
		answer, payloads, err := decide(l.s)
		if err != nil {
			replies <- reply{err: err}
			return
		}
		l.add(payloads...)
		var r reply
		if l.failed == nil {
			r.answer = answer()
		}
		l.after = append(l.after, func(err error) { r.err = err; replies <- r })
	}
	var r reply
	select {
	case c.inbox <- take:
	case <-ctx.Done():
		return r.answer, ctx.Err()
	case <-c.ended:
		return r.answer, ErrNotRunning
	}
	select {
	case r = <-replies:
	case <-ctx.Done():
		return r.answer, ctx.Err()
	case <-c.ended:
		select {
		case r = <-replies:
		default:
			return r.answer, ErrNotRunning
		}
	}
	if r.err != nil {
		return r.answer, fmt.Errorf("%s: %w", what, r.err)
	}
	return r.answer, nil
}

// do is a request without an answer.
func (c *Coordinator) do(ctx context.Context, what string, decide func(s *State) ([]any, error)) error {
	_, err := ask(ctx, c, what, func(s *State) (func() struct{}, []any, error) {
		payloads, err := decide(s)
		return func() struct{} { return struct{}{} }, payloads, err
	})
	return err
}

// Spawned answers a Spawn.
type Spawned struct {
	Task TaskID
	// Position in its crew's queue, from 1; 0: it is not in the queue yet, and Waits
	// says for what.
	Position int
	Waits    string
}

// Spawn takes a task in and answers at once with its place, or says why not. A request
// that was granted before gets the same answer again.
func (c *Coordinator) Spawn(ctx context.Context, r Spawn) (Spawned, error) {
	return ask(ctx, c, "spawn", func(s *State) (func() Spawned, []any, error) {
		if id := s.refs[r.By+" "+r.Ref]; r.Ref != "" && id != "" {
			return func() Spawned { return s.spawned(TaskID(id)) }, nil, nil
		}
		p, err := s.admit(r)
		return func() Spawned { return s.spawned(p.Task) }, []any{p}, err
	})
}

func (s *State) spawned(id TaskID) Spawned {
	t := s.task(id)
	switch {
	case t == nil:
		return Spawned{}
	case t.queued != 0:
		out := Spawned{Task: id, Position: 1}
		for _, place := range s.ready[:s.ready.before(t.queued)] {
			if s.at(place).Crew == t.Crew {
				out.Position++
			}
		}
		return out
	case t.parked():
		return Spawned{Task: id, Waits: "it, or what it is part of, is parked"}
	case s.approved == nil:
		return Spawned{Task: id, Waits: "the plan is not approved yet"}
	case t.blockers > 0:
		return Spawned{Task: id, Waits: fmt.Sprintf("comes after %d tasks that are not done", t.blockers)}
	}
	return Spawned{Task: id, Waits: string(t.Phase)}
}

// Ask puts a question to a person and returns its ID at once; the answer comes to the
// agent as a letter. ref names the call, so that it is asked once.
func (c *Coordinator) Ask(ctx context.Context, agent, ref, text string, options []string) (string, error) {
	return ask(ctx, c, "ask", func(s *State) (func() string, []any, error) {
		if id := s.refs[agent+" "+ref]; ref != "" && id != "" {
			return func() string { return id }, nil, nil
		}
		a := s.byName[agent]
		if a == nil || strings.TrimSpace(text) == "" || len(text)+len(strings.Join(options, "")) > MaxText {
			return nil, nil, refuse("a question is an agent's, and has 1 to %d bytes with its options", MaxText)
		}
		p := Asked{Question: s.nextQuestion(), Agent: agent, Task: a.Task, Text: text, Options: options, Ref: ref}
		return func() string { return p.Question }, []any{p}, nil
	})
}

// Answer answers a question.
func (c *Coordinator) Answer(ctx context.Context, by, question, text string) error {
	return c.do(ctx, "answer "+question, func(s *State) ([]any, error) {
		q := s.question(question)
		switch {
		case q == nil:
			return nil, refuse("there is no such question")
		case q.Answer != nil:
			return nil, refuse("%s answered it already", q.Answer.By)
		case len(text) > MaxText:
			return nil, refuse("an answer may have %d bytes", MaxText)
		}
		return []any{Answered{Question: question, By: by, Text: text}}, nil
	})
}

// Approve lets the workers start.
func (c *Coordinator) Approve(ctx context.Context, by, note string) error {
	return c.do(ctx, "approve", func(s *State) ([]any, error) {
		if err := s.undecided(); err != nil {
			return nil, err
		}
		return []any{Approved{By: by, Note: clip(note, MaxText)}}, nil
	})
}

// Reject has the lead plan again.
func (c *Coordinator) Reject(ctx context.Context, by, note string) error {
	return c.do(ctx, "reject", func(s *State) ([]any, error) {
		if err := s.undecided(); err != nil {
			return nil, err
		}
		if len(note) > MaxText {
			return nil, refuse("a note may have %d bytes", MaxText)
		}
		return []any{Rejected{By: by, Note: note}}, nil
	})
}

func (s *State) undecided() error {
	switch {
	case s.approved != nil:
		return refuse("%s approved the plan already", s.approved.By)
	case s.draft == nil:
		return refuse("there is no plan yet")
	}
	return nil
}

// Pause lets nothing new begin; what is under way goes on to its end.
func (c *Coordinator) Pause(ctx context.Context, by, reason string) error {
	return c.do(ctx, "pause", func(s *State) ([]any, error) {
		if s.paused != nil {
			return nil, refuse("%s paused the run already", s.paused.By)
		}
		return []any{Paused{By: by, Reason: clip(reason, MaxText)}}, nil
	})
}

// Resume ends a pause.
func (c *Coordinator) Resume(ctx context.Context, by string) error {
	return c.do(ctx, "resume", func(s *State) ([]any, error) {
		if s.paused == nil {
			return nil, refuse("the run is not paused")
		}
		return []any{Resumed{By: by}}, nil
	})
}

// Stop finishes the run. Extend opens it again.
func (c *Coordinator) Stop(ctx context.Context, by, reason string) error {
	return c.do(ctx, "stop", func(s *State) ([]any, error) {
		if s.finished != nil {
			return nil, refuse("the run has finished")
		}
		return []any{Finished{Finish: FinishStopped, By: by, Reason: clip(reason, MaxText)}}, nil
	})
}

// Extend is the function Extend for a run that is being run.
func (c *Coordinator) Extend(ctx context.Context, by string, more Limits) (Limits, error) {
	return ask(ctx, c, "extend", func(s *State) (func() Limits, []any, error) {
		p, err := s.extension(by, more)
		return func() Limits { return p.Limits }, []any{p}, err
	})
}

// Steer tells an agent something, by name; no name is the lead.
func (c *Coordinator) Steer(ctx context.Context, by, agent, text string) error {
	return c.do(ctx, "steer", func(s *State) ([]any, error) {
		if agent == "" {
			agent = s.root().Agent
		}
		a := s.byName[agent]
		switch {
		case a == nil || a.Gone != "":
			return nil, refuse("there is no agent %q at work", agent)
		case strings.TrimSpace(text) == "" || len(text) > MaxText:
			return nil, refuse("a message has 1 to %d bytes", MaxText)
		}
		return []any{Steered{Agent: agent, By: by, Text: text, Ref: fmt.Sprintf("steer/%d", s.last+1)}}, nil
	})
}

// Kill lets an agent go. Its task waits for another.
func (c *Coordinator) Kill(ctx context.Context, by, agent, reason string) error {
	return c.do(ctx, "kill "+agent, func(s *State) ([]any, error) {
		if a := s.byName[agent]; a == nil || a.Gone != "" {
			return nil, refuse("there is no such agent")
		}
		return []any{Dismissed{Agent: agent, By: by, Reason: clip(reason, MaxText)}}, nil
	})
}

// Move puts agents into a crew, all or none. What they are working on they finish.
func (c *Coordinator) Move(ctx context.Context, by string, agents []string, crew string) error {
	return c.do(ctx, "move", func(s *State) ([]any, error) {
		if err := checkCrew(crew); err != nil {
			return nil, err
		}
		for _, name := range agents {
			if a := s.byName[name]; a == nil || a.Gone != "" {
				return nil, refuse("there is no agent %q", name)
			}
		}
		return []any{Moved{Agents: slices.Clone(agents), Crew: crew, By: by}}, nil
	})
}
