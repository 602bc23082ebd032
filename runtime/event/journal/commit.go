package journal

import "fmt"

// commitAll is the committer: it takes what waits, carries it out as one group,
// and tells the callers. It ends when the queue is closed and empty.
func (j *Journal) commitAll() {
	defer close(j.committed)
	var left *pending // taken from the queue, too large for the last group
	for {
		batch, rest, open := j.gather(left)
		left = rest
		if len(batch) > 0 {
			j.commit(batch)
		}
		if !open && left == nil {
			return
		}
	}
}

// gather waits for an append and takes with it all that have come since. It
// returns what did not fit, and whether the queue is still open.
func (j *Journal) gather(left *pending) (batch []*pending, rest *pending, open bool) {
	bytes := 0
	if left != nil { // taken already
		batch, bytes = append(batch, left), left.write.size()
	}
	for len(batch) < maxGroup {
		p, ok, open := j.next(len(batch) == 0)
		if !open {
			return batch, nil, false
		}
		if !ok {
			break
		}
		if !p.take() {
			continue // its caller has given it up
		}
		size := p.write.size()
		if len(batch) > 0 && bytes+size > maxGroupBytes {
			return batch, p, true
		}
		batch, bytes = append(batch, p), bytes+size
	}
	return batch, nil, true
}

// next is the next of the queue: with wait as soon as there is one, without it
// only if there is one.
func (j *Journal) next(wait bool) (p *pending, ok, open bool) {
	if wait {
		p, open = <-j.queue
		return p, open, open
	}
	select {
	case p, open = <-j.queue:
		return p, open, open
	default:
		return nil, false, true
	}
}

func (j *Journal) commit(batch []*pending) {
	g := &Group{Writes: make([]*Write, len(batch))}
	for i, p := range batch {
		g.Writes[i] = p.write
	}
	err := j.backend.Commit(g)
	if err == nil && g.Last >= g.First {
		j.bell.ring(g.First, g.Last, g.touched())
	}
	for _, p := range batch {
		if err != nil {
			p.write.Last, p.write.Err = 0, fmt.Errorf("append to %q: %w", p.write.Stream, err)
		}
		p.done <- p.write.Err
	}
}
