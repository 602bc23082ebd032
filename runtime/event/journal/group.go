package journal

import (
	"maps"
	"slices"

	"dure/runtime/event"
)

// Bounds of a group: how many appends and, beyond the first append, how many bytes
// of payload one transaction takes.
const (
	maxGroup      = 512
	maxGroupBytes = 8 << 20
)

// A Write is one append on its way.
type Write struct {
	Stream   string
	Expected event.Sequence
	Events   []event.Event // complete but for Sequence and Position
	Named    []event.ID    // IDs that the caller chose; those made here are new

	Last event.Sequence // of the stream after it
	Err  error          // why it was refused
}

// size is the bytes of its payloads.
func (w *Write) size() int {
	n := 0
	for _, e := range w.Events {
		n += len(e.Payload)
	}
	return n
}

// A Group is the appends of one transaction, in the order they came.
type Group struct {
	Writes []*Write

	// First and Last are the positions that were assigned; Last < First if none was.
	First, Last event.Position
}

// Streams names each stream of the group once.
func (g *Group) Streams() []string {
	seen := make(map[string]bool, len(g.Writes))
	var names []string
	for _, w := range g.Writes {
		if !seen[w.Stream] {
			seen[w.Stream] = true
			names = append(names, w.Stream)
		}
	}
	return names
}

// Named is the IDs of which the log may have an event.
func (g *Group) Named() []event.ID {
	var ids []event.ID
	for _, w := range g.Writes {
		ids = append(ids, w.Named...)
	}
	return ids
}

// Assign decides the group: which appends win and where their events go. head is
// the log's last position, last where each of the streams ends, known those of the
// named IDs that are in the log. It returns the events to write, by position, and
// sets Last or Err of every Write. It is pure; deciding again starts from new.
//
// An event that is there already is said before a lost race: who does an append
// again after a failure wants to know that it had happened, and then it has also
// moved the stream.
func (g *Group) Assign(head event.Position, last map[string]event.Sequence, known map[event.ID]bool) []event.Event {
	ends := make(map[string]event.Sequence, len(last))
	taken := make(map[event.ID]bool, len(known))
	maps.Copy(taken, known)
	var out []event.Event
	g.First, g.Last = head+1, head
	for _, w := range g.Writes {
		end, ok := ends[w.Stream]
		if !ok {
			end = last[w.Stream]
		}
		w.Last, w.Err = 0, nil
		if i := slices.IndexFunc(w.Named, func(id event.ID) bool { return taken[id] }); i >= 0 {
			w.Err = &event.DuplicateError{Stream: w.Stream, ID: w.Named[i]}
			continue
		}
		if w.Expected != event.Any && w.Expected != end {
			w.Err = &event.ConflictError{Stream: w.Stream, Expected: w.Expected, Actual: end}
			continue
		}
		for _, id := range w.Named {
			taken[id] = true
		}
		for i := range w.Events {
			end++
			g.Last++
			w.Events[i].Sequence, w.Events[i].Position = end, g.Last
			out = append(out, w.Events[i])
		}
		ends[w.Stream], w.Last = end, end
	}
	return out
}

// touched names each stream that was appended to once.
func (g *Group) touched() []string {
	won := &Group{}
	for _, w := range g.Writes {
		if w.Err == nil {
			won.Writes = append(won.Writes, w)
		}
	}
	return won.Streams()
}
