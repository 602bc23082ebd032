package vcs

import (
	"context"
	"slices"
	"time"
)

// A merger is the goroutine that keeps packs few. It looks whenever a pack was sealed,
// merges those without deltas by copying, and has git merge those with some beside it:
// that takes longer.
type merger struct {
	r       *Repository
	retired []retiredPack
	busy    []*packFile // what git is at
	done    chan repacked
	pause   time.Time // git is left alone until then: it has failed
}

// repacked is what git made of busy.
type repacked struct {
	pack *packFile
	err  error
}

// afterFailure is how long a git that failed is not asked again.
const afterFailure = time.Minute

func (r *Repository) mergePacks() {
	m := &merger{r: r, done: make(chan repacked)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		select {
		case d := <-m.done:
			m.took(ctx, d)
		case _, open := <-r.merge:
			if open {
				break
			}
			cancel()
			if m.busy != nil {
				m.took(ctx, <-m.done)
			}
			m.retired = r.removeRetired(m.retired, time.Now())
			return
		}
		m.retired = r.removeRetired(m.retired, time.Now().Add(-retireAfter))
		if err := m.look(ctx); err != nil {
			r.opt.Log.Error("packs cannot be merged and are kept as they are", "error", err)
		}
	}
}

// look merges what should be.
func (m *merger) look(ctx context.Context) error {
	for {
		set, err := m.plainSet()
		if err != nil {
			return err
		}
		if len(set) == 0 {
			break
		}
		merged, err := m.r.concat(set)
		if err != nil {
			return err
		}
		m.replace(set, merged)
	}
	if m.busy != nil || !m.r.opt.Git.Found() || time.Now().Before(m.pause) {
		return nil
	}
	if set := m.choose(func(p *packFile) bool { return p.deltas }); len(set) > 0 {
		m.busy = set
		go func() {
			p, err := m.r.repack(ctx, set)
			m.done <- repacked{p, err}
		}()
	}
	return nil
}

// plainSet is a set to merge in which nothing has deltas. What has some is known by
// it from then on.
func (m *merger) plainSet() ([]*packFile, error) {
	for {
		set := m.choose(func(p *packFile) bool { return !p.deltas })
		found := false
		for _, p := range set {
			if p.known {
				continue
			}
			var err error
			if p.deltas, err = p.hasDeltas(); err != nil {
				return nil, err
			}
			p.known, found = true, found || p.deltas
		}
		if !found {
			return set, nil
		}
	}
}

// choose picks a set of those packs that may be merged.
func (m *merger) choose(may func(*packFile) bool) []*packFile {
	var packs []*packFile
	var sizes []int64
	for _, p := range m.r.view.Load().packs {
		if may(p) && !slices.Contains(m.busy, p) {
			packs, sizes = append(packs, p), append(sizes, p.size)
		}
	}
	var set []*packFile
	for _, i := range chooseMerge(sizes) {
		set = append(set, packs[i])
	}
	if len(set) < 2 {
		return nil
	}
	return set
}

// replace puts a pack in the place of those it was made of. They are removed later.
func (m *merger) replace(set []*packFile, merged *packFile) {
	m.r.changeView(func(v *view) {
		v.packs = slices.DeleteFunc(v.packs, func(p *packFile) bool { return slices.Contains(set, p) })
		v.packs = append(v.packs, merged)
	})
	m.r.counters.merges.Add(1)
	for _, p := range set {
		if p.base != merged.base {
			m.retired = append(m.retired, retiredPack{p, time.Now()})
		}
	}
}

// took is what comes of a set that git was at.
func (m *merger) took(ctx context.Context, d repacked) {
	set := m.busy
	m.busy = nil
	switch {
	case d.err == nil:
		d.pack.deltas, d.pack.known = true, true
		m.replace(set, d.pack)
		m.r.counters.repacks.Add(1)
	case ctx.Err() == nil:
		m.pause = time.Now().Add(afterFailure)
		m.r.opt.Log.Error("packs cannot be merged by git and are kept as they are", "error", d.err)
	}
}
