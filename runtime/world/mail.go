package world

import (
	"context"
	"errors"
	"fmt"

	"dure/runtime/agent"
	"dure/runtime/board"
	"dure/runtime/event"
	"dure/runtime/swarm"
)

// mailStream holds what was said to an agent, by whoever.
func mailStream(name string) string { return "mail/" + name }

var registry = event.NewRegistry()

// Sent is the type of mail.sent: a letter to the agent of its stream.
var Sent = event.MustRegister[agent.Told](registry, "mail.sent", 1)

// Tell implements swarm.World.
func (w *World) Tell(ctx context.Context, l swarm.Letter) error {
	relation := agent.Harness
	if l.From == swarm.Person {
		relation = agent.Person
	}
	return w.post(ctx, l.Agent, agent.Told{From: l.From, Relation: relation, Text: l.Text, Ref: l.Ref})
}

// post puts a letter into an agent's stream, once for each Ref.
func (w *World) post(ctx context.Context, to string, t agent.Told) error {
	e, err := Sent.New(t)
	if err != nil {
		return fmt.Errorf("letter to %s: %w", to, err)
	}
	e.ID = event.DerivedID("mail", to, t.Ref)
	if _, err := w.Log.Append(ctx, mailStream(to), event.Any, e); err != nil && !errors.Is(err, event.ErrDuplicate) {
		return fmt.Errorf("letter to %s: %w", to, err)
	}
	return nil
}

// inbox gives an agent's thread what others said to it since it was asked last: letters
// that came after another one, and what was announced to all.
type inbox struct {
	log    event.Log
	last   event.Sequence
	tables board.Gateway // nil: nothing is announced to it
	heard  int64         // the last announcement that was given out
}

// Next implements agent.Inbox.
func (b *inbox) Next(ctx context.Context, name string) ([]agent.Told, error) {
	letters, err := b.letters(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("letters to %s: %w", name, err)
	}
	news, err := b.announced(ctx)
	if err != nil {
		return nil, fmt.Errorf("announcements to %s: %w", name, err)
	}
	return append(letters, news...), nil
}

func (b *inbox) letters(ctx context.Context, name string) (out []agent.Told, err error) {
	for e, err := range b.log.Read(ctx, mailStream(name), b.last+1) {
		if err != nil {
			return nil, err
		}
		t, err := Sent.Decode(e)
		if err != nil {
			return nil, err
		}
		out, b.last = append(out, t), e.Sequence
	}
	return out, nil
}

// announced are announcements. Those of the last time are in the agent's conversation by
// now, and are acknowledged.
func (b *inbox) announced(ctx context.Context) (out []agent.Told, err error) {
	if b.tables == nil {
		return nil, nil
	}
	if b.heard > 0 {
		if err := b.tables.Acknowledge(ctx, b.heard); err != nil {
			return nil, err
		}
	}
	news, err := b.tables.Announced(ctx)
	for _, n := range news {
		b.heard = n.ID
		if n.Agent != b.tables.Agent().Name {
			out = append(out, agent.Told{From: n.Agent, Relation: agent.Team, Text: n.Body, Ref: fmt.Sprintf("announce/%d", n.ID)})
		}
	}
	return out, err
}
