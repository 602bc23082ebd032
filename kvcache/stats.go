package kvcache

// Counts only grow.
type Counts struct {
	// Requests placed, by the slowest tier they reused (Gone: nothing), and the
	// tokens of their prompts that were reused and that were not.
	Requests                [tiers]int
	SavedTokens, ReadTokens int
	Misses                  [5]int // by Reason
	Broken                  int    // prompts that left the path of their session
	Lost                    int    // copies that went without a lower tier taking them
	Declined                int    // checkpoints not worth their bytes
	Failed                  int    // actions
	Shrunk                  int    // objects on disk that were coded smaller, with more loss
	Replanned, Skipped      int    // restores whose source moved on; steps without sense any more
}

func (c *Counts) entered(l *lease, n int) {
	m := l.plan.Match
	c.Requests[m.Tier]++
	c.SavedTokens += m.Reuse
	c.ReadTokens += n - m.Reuse
	c.Misses[m.Reason]++
	if m.Broke != nil {
		c.Broken++
	}
}

// Stats is the tree at this moment.
type Stats struct {
	Counts
	Nodes, Sessions, Leases int
	Sequences, Idle         int // slots that hold something, and those nobody runs in
	Cells, Reserved         int // filled, and promised to leases
	// Unsaved are idle sequences that hold something of which there is no copy,
	// Unwritten copies in RAM that are on their way to the disk or could be: what the
	// end of the process would lose.
	Unsaved, Unwritten int
	Used, Budget       [tiers]int64
	// Over is what a tier holds beyond its budget: objects that turned out larger
	// than was reserved, drops that failed, and in Hot cells nobody had reserved.
	Over    [tiers]int64
	Objects [tiers]int
}

// Stats counts what there is, in O((objects + slots) x depth).
func (t *Tree) Stats() Stats {
	s := Stats{Counts: t.counts, Nodes: t.nodes, Sessions: len(t.sessions), Leases: len(t.leases),
		Cells: t.cells, Reserved: t.reserved, Used: t.used, Budget: t.budget}
	for i := range t.slots {
		if t.slots[i].node != nil {
			s.Sequences++
			if t.slots[i].idle() {
				s.Idle++
				if len(t.unsaved(t.slots[i].node)) > 0 {
					s.Unsaved++
				}
			}
		}
	}
	s.Used[Hot] = int64(t.cells)*t.cfg.KVBytes + int64(s.Sequences)*t.cfg.StateBytes
	s.Budget[Hot] = int64(t.cfg.Cells)*t.cfg.KVBytes + int64(t.cfg.Slots)*t.cfg.StateBytes
	s.Unwritten = t.writing
	for _, id := range t.unwritten {
		if _, ready := t.toWrite(t.objects[id]); ready {
			s.Unwritten++
		}
	}
	for _, o := range t.objects {
		s.Objects[o.tier]++
	}
	for tier := range s.Over {
		s.Over[tier] = max(0, s.Used[tier]-s.Budget[tier])
	}
	s.Over[Hot] = int64(max(0, t.hotUsed()-t.cfg.Cells)) * t.cfg.KVBytes
	return s
}
