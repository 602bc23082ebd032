package land

import (
	"context"
	"strings"

	"dure/runtime/vcs"
	"dure/runtime/vcs/merge"
	"dure/runtime/vcs/object"
)

// mostSteps bounds how far back an author is looked for.
const mostSteps = 100_000

// author finds who landed what main has at a path: the last landing since one of
// the bases that changed it. Nobody: it is from before the landing job.
func (l *Lander) author(ctx context.Context, d *vcs.Draft, main object.ID, bases []object.ID, path string) (Side, error) {
	if s, ok := l.last[path]; ok {
		return s, nil
	}
	stop := map[object.ID]bool{}
	for _, b := range bases {
		stop[b] = true
	}
	find := merge.NewFinder(func(id object.ID) ([]byte, error) { return d.Tree(ctx, id) })
	entry := func(commit object.ID) (object.Commit, object.Entry, error) {
		c, err := d.Commit(ctx, commit)
		if err != nil {
			return c, object.Entry{}, err
		}
		e, _, err := find.Find(c.Tree, path)
		return c, e, err
	}
	c, now, err := entry(main)
	for steps := 0; err == nil && steps < mostSteps && len(c.Parents) > 0 && !stop[main]; steps++ {
		before, was, err := entry(c.Parents[0])
		if err != nil {
			return Side{}, err
		}
		if was != now {
			return authorOf(c), nil
		}
		main, c = c.Parents[0], before
	}
	return Side{}, err
}

// authorOf reads who a merge commit of the landing job landed.
func authorOf(c object.Commit) Side {
	var s Side
	if len(c.Parents) != 2 {
		return s
	}
	for line := range strings.Lines(c.Message) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, agentLine); ok {
			s.Agent, s.Commit = rest, c.Parents[1]
		}
		if rest, ok := strings.CutPrefix(line, taskLine); ok {
			s.Task = rest
		}
	}
	return s
}
