package llm

import "time"

// The engine's threads wait for each other several hundred times a step. When
// another program takes one of their cores, each of these waits can last as long
// as that program's turn, and a step takes a hundred times longer; with a thread
// fewer it would hardly be slower at all.
const (
	// paceWindow is how long steps are watched before a decision.
	paceWindow = 100 * time.Millisecond
	// crowded is the share of their time that threads wait for a core from which
	// on there are too many of them. Alone on a machine it stays below 0.1.
	crowded = 0.2
	// A thread that was given up is tried again after minRest windows; each
	// time that fails the pause doubles, up to maxRest.
	minRest, maxRest = 10, 320
)

// pace decides how many threads compute. It is pure: the owner tells it what
// steps took and, when it asks, how long the threads have waited for cores.
type pace struct {
	most    int // configured
	threads int // now
	rest    int // windows until the next try, when fewer than most compute
	pause   int // what rest is set to next
	wall    time.Duration
	waited  time.Duration // in all, up to the start of the window
}

// newPace begins with all threads, which have waited so long in all.
func newPace(threads int, waited time.Duration) *pace {
	return &pace{most: threads, threads: threads, pause: minRest, waited: waited}
}

// observe takes one step and returns how many threads compute the next. waited
// tells how long the threads have waited for cores in all; it is asked once a
// window, since finding out reads files.
func (p *pace) observe(took time.Duration, waited func() time.Duration) int {
	p.wall += took
	if p.wall < paceWindow {
		return p.threads
	}
	now := waited()
	share := float64(now-p.waited) / float64(p.wall) / float64(p.threads)
	p.wall, p.waited = 0, now
	switch {
	case share > crowded && p.threads > 1:
		p.threads--
		p.rest = p.pause
		p.pause = min(2*p.pause, maxRest)
	case p.threads == p.most:
		p.pause = max(p.pause/2, minRest) // it goes well: forget old trouble
	case p.rest > 0:
		p.rest--
	default:
		p.threads++
		p.rest = p.pause
	}
	return p.threads
}
