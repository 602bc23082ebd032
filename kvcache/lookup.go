package kvcache

// source is how the first tokens of a prompt come into a sequence.
type source struct {
	at     int   // tokens reused
	end    *node // of them
	seq    int   // shared rows come from here, -1 = none
	shared int
	fork   *node // where those end
	pieces []piece
	state  *object // nil: no state needed, or that of seq or of the last piece
	tier   Tier    // the slowest one involved
	cost   int64   // ns to fetch
}

// piece is rows [from, to) of an object.
type piece struct {
	*object
	from, to int
}

// choose finds the reuse of a trail that leaves the least to do in total:
// fetching plus reading what is left of length tokens. At most limit tokens are
// reused, of usable sequences and of objects. own is preferred among equal
// sequences, -1 = none.
func (t *Tree) choose(tr trail, limit, length int, usable seqSet, own int) source {
	best := source{seq: -1, end: t.root, cost: 0}
	low := int64(length) * t.cfg.Cost.Prefill
	seq, hot := t.deepest(tr, usable, limit, own)
	var fetch int64 // of the pieces up to here
	tier := Gone
	if hot > 0 {
		tier = Hot
	}
	for _, x := range tr.nodes {
		if x.start() >= limit {
			break
		}
		end := min(x.end, tr.length, limit)
		if end > hot {
			o := rowsOf(x)
			if o == nil {
				break
			}
			if t.cfg.Opaque {
				fetch = t.fetch(o.tier, o.bytes)
			} else {
				fetch += t.fetch(o.tier, int64(end-max(x.start(), hot))*t.cfg.KVBytes)
			}
			tier = slower(tier, o.tier)
		}
		c := source{at: end, seq: seq, shared: min(hot, end), tier: tier, cost: fetch}
		if t.cfg.Checkpoints && !t.stateAt(&c, x, end, usable, own) {
			continue
		}
		if !t.cfg.Unified && c.seq >= 0 && c.seq != own {
			c.cost += t.fetch(Hot, int64(c.shared)*t.cfg.KVBytes)
		}
		if total := c.cost + int64(length-end)*t.cfg.Cost.Prefill; total < low || total == low && end > best.at {
			best, low = c, total
		}
	}
	if best.at > 0 {
		t.collect(&best, tr)
	}
	return best
}

// deepest is the usable sequence that goes furthest along a trail, and how far.
func (t *Tree) deepest(tr trail, usable seqSet, limit, own int) (seq, hot int) {
	for i := len(tr.nodes) - 1; i >= 0; i-- {
		x := tr.nodes[i]
		var set seqSet
		for _, g := range x.hot {
			set = set.or(g)
		}
		if set = set.and(usable); set.empty() {
			continue
		}
		seq = set.first()
		if own >= 0 && set.has(own) {
			seq = own
		}
		return seq, min(x.end, tr.length, limit)
	}
	return -1, 0
}

// stateAt completes a source with the recurrent state at the end of a node.
func (t *Tree) stateAt(c *source, x *node, end int, usable seqSet, own int) bool {
	if end != x.end {
		return false
	}
	if here := x.standing.and(usable); !here.empty() {
		seq := here.first()
		if own >= 0 && here.has(own) {
			seq = own
		}
		c.seq, c.shared, c.tier, c.cost = seq, end, Hot, 0
		return true
	}
	for _, o := range x.states {
		if o.phase == live && !o.doomed && (c.state == nil || o.tier > c.state.tier) {
			c.state = o
		}
	}
	if c.state == nil {
		return false
	}
	if o := c.state; o.rows() { // opaque: the state comes with its rows or not at all
		*c = source{at: end, seq: -1, pieces: []piece{{o, 0, end}}, tier: o.tier, cost: t.fetch(o.tier, o.bytes)}
		return true
	}
	c.tier = slower(c.tier, c.state.tier)
	c.cost += t.fetch(c.state.tier, c.state.bytes)
	return true
}

// slower of two tiers, where Gone is none yet.
func slower(a, b Tier) Tier {
	if a == Gone {
		return b
	}
	return min(a, b)
}

// rowsOf is the quickest complete object with the rows of a node.
func rowsOf(x *node) (best *object) {
	for _, o := range x.kv {
		if o.phase == live && !o.doomed && (best == nil || o.tier > best.tier) {
			best = o
		}
	}
	return best
}

// collect lists the pieces of a chosen source.
func (t *Tree) collect(s *source, tr trail) {
	if s.shared == s.at || s.pieces != nil {
		return
	}
	for _, x := range tr.nodes {
		from, to := max(x.start(), s.shared), min(x.end, s.at)
		if to <= from {
			continue
		}
		o := rowsOf(x)
		if n := len(s.pieces); n > 0 && s.pieces[n-1].object == o {
			s.pieces[n-1].to = to
		} else {
			s.pieces = append(s.pieces, piece{o, from, to})
		}
	}
	if t.cfg.Opaque { // one object holds it all
		o := s.pieces[len(s.pieces)-1].object
		s.pieces, s.seq, s.shared = []piece{{o, 0, s.at}}, -1, 0
	}
}

// Reason says why no more of a prompt was reused.
type Reason uint8

const (
	// ReasonNone: all that can be reused was.
	ReasonNone Reason = iota
	// ReasonNew: nobody sent these tokens before.
	ReasonNew
	// ReasonEvicted: no copy is left of what follows.
	ReasonEvicted
	// ReasonCheckpoint: the rows are there, a recurrent state is not.
	ReasonCheckpoint
	// ReasonSlow: fetching more would take longer than reading it.
	ReasonSlow
)

func (r Reason) String() string {
	return [...]string{"none", "new", "evicted", "checkpoint", "slow"}[r]
}

// Match is what the tree knows of a prompt.
type Match struct {
	// Known tokens from the start were seen before; Reuse of them need not be
	// read again. One token is always left to read: it yields the first logits.
	Known, Reuse int
	// Tier is the slowest one that the reused tokens come from.
	Tier Tier
	// Reason why Reuse is not more.
	Reason Reason
	// Broke is set where a session's prompt left the path of its last one.
	Broke *Break
}

// Break is where a prompt stopped being what the session's cache holds: the
// template changed the past. At is the position of the first differing token, Was
// the token in the cache, Is the prompt's.
type Break struct {
	At      int
	Was, Is Token
}

// Lookup says what could be reused now, and changes nothing.
func (t *Tree) Lookup(tokens []Token, session SessionID) Match {
	tr := t.match(tokens)
	src := t.choose(tr, len(tokens)-1, len(tokens), t.usable(), t.own(session))
	return t.describe(tokens, tr, src, session)
}

func (t *Tree) describe(tokens []Token, tr trail, src source, session SessionID) Match {
	m := Match{Known: tr.length, Reuse: src.at, Tier: src.tier, Broke: t.broke(tokens, tr, session)}
	if src.at == 0 {
		m.Tier = Gone
	}
	switch {
	case src.at == len(tokens)-1:
	case src.at == min(tr.length, len(tokens)-1):
		m.Reason = ReasonNew
	default:
		m.Reason = t.missing(tr, src.at, len(tokens)-1)
	}
	return m
}

// missing says why reuse ended at a position although more tokens are known.
func (t *Tree) missing(tr trail, at, limit int) Reason {
	usable := t.usable()
	state, kept := false, true
	for _, x := range tr.nodes {
		end := min(x.end, tr.length, limit)
		if end <= at || x.start() >= limit {
			continue
		}
		rows := rowsOf(x) != nil
		for _, g := range x.hot {
			rows = rows || !g.and(usable).empty()
		}
		if kept = kept && rows; !kept {
			break
		}
		c := source{}
		state = state || !t.cfg.Checkpoints || t.stateAt(&c, x, end, usable, -1)
	}
	switch {
	case state:
		return ReasonSlow
	case kept || t.cfg.Checkpoints && t.anyRows(tr, at, limit):
		return ReasonCheckpoint
	}
	return ReasonEvicted
}

// anyRows reports whether the span after a position still has a copy.
func (t *Tree) anyRows(tr trail, at, limit int) bool {
	for _, x := range tr.nodes {
		if min(x.end, limit) > at {
			return len(x.hot)+len(x.kv) > 0
		}
	}
	return false
}

// broke compares a prompt with the session's last path.
func (t *Tree) broke(tokens []Token, tr trail, id SessionID) *Break {
	s := t.sessions[id]
	if s == nil || s.node == nil {
		return nil
	}
	// Climb to where the two paths part; below is the session's first span that
	// is not wholly the prompt's.
	var below *node
	x := s.node
	for ; x.parent != nil && (!tr.has(x) || x.end > tr.length); x = x.parent {
		below = x
	}
	if below == nil {
		return nil // the prompt goes on where the session ended
	}
	at := x.end
	if tr.has(below) {
		at = tr.length // within the span
	}
	if at >= len(tokens) {
		return nil // it ends there: the same, asked again
	}
	return &Break{At: at, Was: below.tokens[at-below.start()], Is: tokens[at]}
}
