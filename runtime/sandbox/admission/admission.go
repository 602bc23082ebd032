// Package admission decides who may have a sandbox now and who waits, so that many
// agents on one machine do not end each other. It owns the queue and the sums, and no
// sandbox: a caller asks with Acquire before it starts a box and releases after it
// closed it. Policy is pure; Gate is its one loop.
//
// # What holds
//
//   - What is granted together never exceeds the Budget in any of its four parts.
//   - Whoever could never be granted is refused at once (ErrTooLarge), and nobody else.
//   - Among those who wait, the owner (a team, a run) who has least is served first, and
//     within an owner the oldest. The first of an owner that does not fit is passed by
//     at most Patience grants of others; then everybody waits until it fits.
//
// It is called by those who start boxes, and wired by cmd.
package admission

import (
	"errors"
	"fmt"
)

// ErrTooLarge says that an ask exceeds the whole budget.
var ErrTooLarge = errors.New("more than the whole budget for sandboxes")

// Share is an amount of each thing that can run out. Zero is none.
type Share struct {
	Memory int64 // bytes
	Disk   int64 // bytes
	CPU    int64 // thousandths of a core
	Boxes  int64
}

func (s Share) plus(t Share) Share {
	return Share{s.Memory + t.Memory, s.Disk + t.Disk, s.CPU + t.CPU, s.Boxes + t.Boxes}
}

func (s Share) minus(t Share) Share {
	return Share{s.Memory - t.Memory, s.Disk - t.Disk, s.CPU - t.CPU, s.Boxes - t.Boxes}
}

// within reports whether s fits into t.
func (s Share) within(t Share) bool {
	return s.Memory <= t.Memory && s.Disk <= t.Disk && s.CPU <= t.CPU && s.Boxes <= t.Boxes
}

// of is the largest part of a budget that s takes, from 0 to 1.
func (s Share) of(budget Share) float64 {
	part := func(a, b int64) float64 {
		if b == 0 {
			return 0
		}
		return float64(a) / float64(b)
	}
	return max(part(s.Memory, budget.Memory), part(s.Disk, budget.Disk), part(s.CPU, budget.CPU), part(s.Boxes, budget.Boxes))
}

// Ask is a wish for a box.
type Ask struct {
	ID    int64
	Owner string
	Share Share
}

// Patience is how many grants may pass the one who is first and does not fit.
const Patience = 16

// Policy is the state: plain data, driven by one goroutine.
type Policy struct {
	budget  Share
	used    Share
	owners  map[string]Share // what each has
	queue   []Ask            // oldest first
	granted map[int64]Ask
	passed  map[int64]int // grants to others since this one was first and did not fit
}

// NewPolicy makes a policy with nothing granted.
func NewPolicy(budget Share) *Policy {
	return &Policy{budget: budget, owners: map[string]Share{}, granted: map[int64]Ask{}, passed: map[int64]int{}}
}

// Ask queues a wish; IDs are the caller's, each used once.
func (p *Policy) Ask(a Ask) error {
	if !a.Share.within(p.budget) {
		return fmt.Errorf("%w: asked for %+v of %+v", ErrTooLarge, a.Share, p.budget)
	}
	if a.Share.Memory < 0 || a.Share.Disk < 0 || a.Share.CPU < 0 || a.Share.Boxes < 0 {
		return fmt.Errorf("a share below nothing: %+v", a.Share)
	}
	p.queue = append(p.queue, a)
	return nil
}

// Release gives back what was granted, or takes a wish out of the queue.
func (p *Policy) Release(id int64) {
	if a, ok := p.granted[id]; ok {
		delete(p.granted, id)
		p.used = p.used.minus(a.Share)
		p.owners[a.Owner] = p.owners[a.Owner].minus(a.Share)
		if p.owners[a.Owner] == (Share{}) {
			delete(p.owners, a.Owner)
		}
		return
	}
	for i, a := range p.queue {
		if a.ID == id {
			p.queue = append(p.queue[:i:i], p.queue[i+1:]...)
			delete(p.passed, id)
			return
		}
	}
}

// Next grants one wish, if one may be granted now.
func (p *Policy) Next() (Ask, bool) {
	var barred []int64
	for _, i := range p.heads() {
		a := p.queue[i]
		if a.Share.within(p.budget.minus(p.used)) {
			p.grant(i)
			for _, id := range barred {
				p.passed[id]++
			}
			return a, true
		}
		if p.passed[a.ID] >= Patience {
			return Ask{}, false
		}
		barred = append(barred, a.ID)
	}
	return Ask{}, false
}

// heads are the oldest wishes of all owners, those first whose owner has least, and of
// equals the older. One that has been passed by often enough comes before all.
func (p *Policy) heads() []int {
	seen := map[string]bool{}
	var heads []int
	for i, a := range p.queue {
		if !seen[a.Owner] {
			seen[a.Owner] = true
			heads = append(heads, i)
		}
	}
	before := func(i, j int) bool {
		a, b := p.queue[i], p.queue[j]
		if x, y := p.passed[a.ID] >= Patience, p.passed[b.ID] >= Patience; x != y {
			return x
		} else if x {
			return i < j
		}
		x, y := p.owners[a.Owner].of(p.budget), p.owners[b.Owner].of(p.budget)
		if x != y {
			return x < y
		}
		return i < j
	}
	// Few owners: an insertion sort that keeps the order of equals.
	for i := 1; i < len(heads); i++ {
		for j := i; j > 0 && before(heads[j], heads[j-1]); j-- {
			heads[j], heads[j-1] = heads[j-1], heads[j]
		}
	}
	return heads
}

func (p *Policy) grant(i int) {
	a := p.queue[i]
	p.queue = append(p.queue[:i:i], p.queue[i+1:]...)
	delete(p.passed, a.ID)
	p.granted[a.ID] = a
	p.used = p.used.plus(a.Share)
	p.owners[a.Owner] = p.owners[a.Owner].plus(a.Share)
}

// State is what a person sees.
type State struct {
	Budget, Used     Share
	Granted, Waiting int
}

// State says how things stand.
func (p *Policy) State() State {
	return State{p.budget, p.used, len(p.granted), len(p.queue)}
}

// Position is how many wishes of the queue are older than one, from 0; -1 if it does
// not wait.
func (p *Policy) Position(id int64) int {
	for i, a := range p.queue {
		if a.ID == id {
			return i
		}
	}
	return -1
}
