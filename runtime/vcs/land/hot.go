package land

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// HotPolicy says when a file is in too many agents' way. Zero fields get the
// defaults, negative ones switch a limit off.
type HotPolicy struct {
	Commits   int   // landings on the path since it was last split; default 2000
	Conflicts int   // default 20
	Agents    int   // different agents; default 100
	Size      int64 // bytes; default 256 KiB
	Reports   int   // different agents that reported it; default 3
}

func (p *HotPolicy) fill() {
	setDefault(&p.Commits, 2000)
	setDefault(&p.Conflicts, 20)
	setDefault(&p.Agents, 100)
	setDefault(&p.Size, 256<<10)
	setDefault(&p.Reports, 3)
}

// A Finding says that a path went over a limit. Each path is found once, until it
// is opened again.
type Finding struct {
	Path string
	Why  []string // in plain words, with the figures
}

// A Point of a file's size over time.
type Point struct {
	At      time.Time
	Commits int
	Size    int64
}

// PathStats are the counters of one path. Those of a path that was split begin
// anew; what was counted before is in the log.
type PathStats struct {
	Path      string
	Commits   int
	Conflicts int
	Agents    int // different ones that landed or conflicted on it
	Size      int64
	Curve     []Point // of the size, thinned out evenly when it gets long
}

// Hot counts what happens to each path, and keeps which are blocked. Pure: a fold
// over events.
type Hot struct {
	policy  HotPolicy
	paths   map[string]*pathCount
	blocked map[string]Block
}

type pathCount struct {
	commits, conflicts int
	agents, reporters  map[string]struct{}
	size               int64
	curve              []Point
	every              int // commits between two points
	found              bool
}

// mostPoints bounds a curve.
const mostPoints = 128

// NewHot has counted nothing.
func NewHot(p HotPolicy) *Hot {
	p.fill()
	return &Hot{policy: p, paths: map[string]*pathCount{}, blocked: map[string]Block{}}
}

// Apply counts an event and says which paths went over a limit by it.
func (h *Hot) Apply(e Event) []Finding {
	var out []Finding
	switch {
	case e.Landed != nil:
		for _, f := range e.Landed.Files {
			out = h.check(out, f.Path, h.landed(e.At, e.Landed.Agent, f))
		}
		if s := e.Landed.Split; s != nil {
			delete(h.blocked, s.Path)
			delete(h.paths, s.Path)
		}
	case e.Conflict != nil:
		for _, f := range e.Conflict.Files {
			c := h.count(f.Path)
			c.conflicts++
			c.agents[e.Conflict.Theirs.Agent] = struct{}{}
			out = h.check(out, f.Path, c)
		}
	case e.Report != nil:
		c := h.count(e.Report.Path)
		c.reporters[e.Report.Agent] = struct{}{}
		out = h.check(out, e.Report.Path, c)
	case e.Block != nil:
		h.blocked[e.Block.Path] = *e.Block
		h.count(e.Block.Path).found = true
	case e.Unblock != nil:
		delete(h.blocked, e.Unblock.Path)
		delete(h.paths, e.Unblock.Path)
	}
	return out
}

func (h *Hot) count(path string) *pathCount {
	c := h.paths[path]
	if c == nil {
		c = &pathCount{agents: map[string]struct{}{}, reporters: map[string]struct{}{}, every: 1}
		h.paths[path] = c
	}
	return c
}

func (h *Hot) landed(at time.Time, agent string, f Touched) *pathCount {
	c := h.count(f.Path)
	c.commits++
	c.agents[agent] = struct{}{}
	c.size = f.Size
	if (c.commits-1)%c.every == 0 {
		c.curve = append(c.curve, Point{at, c.commits, f.Size})
	}
	if len(c.curve) > mostPoints {
		kept := c.curve[:0]
		for i := 0; i < len(c.curve); i += 2 {
			kept = append(kept, c.curve[i])
		}
		c.curve = kept
		c.every *= 2
	}
	return c
}

// check appends a finding if a path is over a limit for the first time.
func (h *Hot) check(out []Finding, path string, c *pathCount) []Finding {
	if c.found {
		return out
	}
	why := h.why(c)
	if len(why) == 0 {
		return out
	}
	c.found = true
	return append(out, Finding{path, why})
}

// why says which limits a path is over.
func (h *Hot) why(c *pathCount) []string {
	var why []string
	over := func(n, limit int64, what string) {
		if limit > 0 && n >= limit {
			why = append(why, fmt.Sprintf("%d %s; the limit is %d", n, what, limit))
		}
	}
	over(int64(c.commits), int64(h.policy.Commits), "landings")
	over(int64(c.conflicts), int64(h.policy.Conflicts), "conflicts")
	over(int64(len(c.agents)), int64(h.policy.Agents), "agents")
	over(c.size, h.policy.Size, "bytes")
	over(int64(len(c.reporters)), int64(h.policy.Reports), "agents reported it")
	return why
}

// Findings are the paths that are over a limit and not blocked, by name: for who was not
// there when they were found.
func (h *Hot) Findings() []Finding {
	var out []Finding
	for _, path := range slices.Sorted(maps.Keys(h.paths)) {
		_, blocked := h.blocked[path]
		if why := h.why(h.paths[path]); len(why) > 0 && !blocked {
			out = append(out, Finding{path, why})
		}
	}
	return out
}

// Blocked lists the blocked paths.
func (h *Hot) Blocked() map[string]Block { return maps.Clone(h.blocked) }

// Top is the n paths with most conflicts, then most landings.
func (h *Hot) Top(n int) []PathStats {
	all := make([]PathStats, 0, len(h.paths))
	for p, c := range h.paths {
		all = append(all, PathStats{p, c.commits, c.conflicts, len(c.agents), c.size, nil})
	}
	slices.SortFunc(all, func(a, b PathStats) int {
		return cmp.Or(b.Conflicts-a.Conflicts, b.Commits-a.Commits, strings.Compare(a.Path, b.Path))
	})
	all = all[:min(n, len(all))]
	for i := range all {
		all[i].Curve = slices.Clone(h.paths[all[i].Path].curve)
	}
	return all
}
