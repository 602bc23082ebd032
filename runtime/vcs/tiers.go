package vcs

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"dure/runtime/vcs/object"
	"dure/runtime/vcs/pack"
)

// Sealed packs are merged by size, as in a log-structured tree: as many as fan of
// one tier, each tier fan times the one before, become one of the next. So there
// are never more than fan in each tier, and an object is copied once per tier. Those
// with deltas have tiers of their own.
const (
	fan       = 8
	firstTier = 8 << 20
	maxMerged = 1 << 30 // what a merge makes at most, and about what git reads well
)

// tier is the tier of a pack by its size.
func tier(size int64) int {
	t := 0
	for limit := int64(firstTier); size > limit; limit *= fan {
		t++
	}
	return t
}

// chooseMerge picks packs to merge, by their sizes: the smallest tier that is full.
// It returns their places, or none.
func chooseMerge(sizes []int64) []int {
	tiers := map[int][]int{}
	for i, size := range sizes {
		if size < maxMerged/2 {
			t := tier(size)
			tiers[t] = append(tiers[t], i)
		}
	}
	best := -1
	for t, places := range tiers {
		if len(places) >= fan && (best < 0 || t < best) {
			best = t
		}
	}
	if best < 0 {
		return nil
	}
	slices.SortFunc(tiers[best], func(a, b int) int { return cmp.Compare(sizes[a], sizes[b]) })
	var chosen []int
	var total int64
	for _, i := range tiers[best] {
		if total += sizes[i]; total > maxMerged {
			break
		}
		chosen = append(chosen, i)
	}
	return chosen
}

// A retired pack is one that all its objects were copied out of. A git process may
// have begun to read it: it stays for a while.
type retiredPack struct {
	*packFile
	since time.Time
}

const retireAfter = 10 * time.Second

func (r *Repository) removeRetired(all []retiredPack, before time.Time) (left []retiredPack) {
	for _, p := range all {
		if p.since.After(before) {
			left = append(left, p)
			continue
		}
		for _, end := range []string{".idx", ".pack"} { // git looks for indexes
			if err := r.opt.Disk.Remove(p.base + end); err != nil {
				r.opt.Log.Warn("a pack that was merged stays", "error", err)
			}
		}
	}
	return left
}

// hasDeltas looks at the headers of all entries.
func (p *packFile) hasDeltas() (bool, error) {
	places, err := p.index.Places()
	if err != nil {
		return false, err
	}
	for _, at := range places {
		h, err := pack.ReadHeader(p.file, int64(at.Offset))
		if err != nil || h.IsDelta() {
			return h.IsDelta(), err
		}
	}
	return false, nil
}

// concat makes one pack of several without deltas. Entries are copied as they are,
// each checked against its checksum.
func (r *Repository) concat(packs []*packFile) (*packFile, error) {
	taken := map[object.ID]bool{}
	lists := make([][]pack.Place, len(packs))
	for i, p := range packs {
		places, err := p.index.Places()
		if err != nil {
			return nil, err
		}
		lists[i] = places
		for _, at := range places {
			taken[at.ID] = true
		}
	}
	n := len(taken)
	clear(taken)
	return r.writePack(n, func(b *pack.Builder) error {
		for i, p := range packs {
			if err := p.copyTo(b, lists[i], taken); err != nil {
				return fmt.Errorf("merge %s: %w", p.base, err)
			}
		}
		return nil
	})
}

// copyTo copies the entries that were not taken from another pack.
func (p *packFile) copyTo(b *pack.Builder, places []pack.Place, taken map[object.ID]bool) error {
	slices.SortFunc(places, func(a, b pack.Place) int { return cmp.Compare(a.Offset, b.Offset) })
	in := &entryReader{in: bufio.NewReaderSize(io.NewSectionReader(p.file, 0, p.size), 1<<18)}
	for i, at := range places {
		end := uint64(p.size - pack.SumLen)
		if i+1 < len(places) {
			end = places[i+1].Offset
		}
		entry, err := in.next(int64(at.Offset), int(end-at.Offset))
		if err != nil {
			return err
		}
		if pack.Checksum(entry) != at.CRC {
			return fmt.Errorf("object %v: %w: its bytes have changed", at.ID, ErrDamaged)
		}
		if taken[at.ID] {
			continue
		}
		taken[at.ID] = true
		if err := b.Add(at.ID, entry); err != nil {
			return err
		}
	}
	return nil
}
