package reuse

import "slices"

// FIFO plays the load with a queue and slots that keep what they held last.
func FIFO(l Load, s Server) Report {
	q := &queue{load: l, server: s, slots: make([]slot, s.Slots), left: l.Agents}
	for id := range l.Agents {
		q.coming.add(l.newAgent(id))
	}
	return q.play()
}

// CapOne plays the load with one agent at a time, each to its end. All of them are
// there from the beginning.
func CapOne(l Load, s Server) Report {
	q := &queue{load: l, server: s, slots: make([]slot, 1), left: l.Agents, alone: true}
	for id := range l.Agents {
		q.coming.add(l.newAgent(id))
	}
	return q.play()
}

type slot struct {
	held []Token // what its state is of
	used Tick
	a    *agent // that it serves
	read int
}

type queue struct {
	load   Load
	server Server
	now    Tick
	coming arrivals
	wait   []*agent
	slots  []slot
	left   int
	tally  tally
	// alone: an agent whose tool runs keeps the slot.
	alone bool
	owner *agent
}

func (q *queue) play() Report {
	for q.left > 0 {
		for a := q.coming.due(q.now); a != nil; a = q.coming.due(q.now) {
			if a == q.owner {
				q.wait = slices.Insert(q.wait, 0, a)
				continue
			}
			q.wait = append(q.wait, a)
		}
		for len(q.wait) > 0 && q.place(q.wait[0]) {
			q.wait = q.wait[1:]
		}
		if !q.step() {
			q.now = max(q.now+1, q.coming[0].arrived)
		}
	}
	return q.tally.report(q.now)
}

// place gives an agent a slot, if one is free.
func (q *queue) place(a *agent) bool {
	if q.owner != nil && q.owner != a {
		return false
	}
	best, shared := -1, -1
	for i := range q.slots {
		s := &q.slots[i]
		if s.a != nil {
			continue
		}
		n := common(s.held, a.prompt)
		if best < 0 || n > shared || n == shared && s.used < q.slots[best].used {
			best, shared = i, n
		}
	}
	if best < 0 {
		return false
	}
	if oldest := q.oldest(); shared < len(a.prompt)/2 && oldest >= 0 {
		best = oldest // too little in common to give up that slot
		shared = common(q.slots[best].held, a.prompt)
	}
	s := &q.slots[best]
	s.a, s.read = a, min(shared, len(a.prompt)-1)
	s.held = slices.Clone(a.prompt)
	if q.alone {
		q.owner = a
	}
	q.tally.began(q.load, a, q.now, s.read)
	return true
}

// oldest is the free slot that was used least recently.
func (q *queue) oldest() int {
	best := -1
	for i := range q.slots {
		if q.slots[i].a == nil && (best < 0 || q.slots[i].used < q.slots[best].used) {
			best = i
		}
	}
	return best
}

func common(a, b []Token) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// step decodes a token for each slot that has read its prompt, and reads a chunk of the
// first that has not. It reports whether there was anything to do.
func (q *queue) step() bool {
	var rows []*slot
	var reads *slot
	for i := range q.slots {
		switch s := &q.slots[i]; {
		case s.a == nil:
		case s.read == len(s.a.prompt):
			rows = append(rows, s)
		case reads == nil || s.a.arrived < reads.a.arrived:
			reads = s
		}
	}
	if len(rows) > 0 {
		q.now += q.server.Step + q.server.Row*Tick(len(rows))
	}
	for _, s := range rows {
		q.draw(s)
	}
	if reads != nil {
		n := min(chunk, len(reads.a.prompt)-reads.read)
		q.now += q.server.Chunk + q.server.Token*Tick(n)
		if reads.read += n; reads.read == len(reads.a.prompt) {
			q.draw(reads)
		}
	}
	return reads != nil || len(rows) > 0
}

func (q *queue) draw(s *slot) {
	a := s.a
	s.held = append(s.held, a.own(len(s.held)))
	if a.drawn++; a.drawn < q.load.Answer {
		return
	}
	s.held = s.held[:len(s.held)-1] // the last one was drawn, not read
	s.a, s.used = nil, q.now
	if !a.next(q.load) {
		q.left--
		q.owner = nil
		return
	}
	a.arrived = q.now + q.load.tool(a)
	q.coming.add(a)
}
