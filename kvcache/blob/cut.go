package blob

import (
	"cmp"
	"fmt"
	"slices"
)

// ref is a row of a source.
type ref struct {
	src *source
	row int
}

// gather lists the rows of positions [from, to) in order. Those of [need, to)
// must be there, those of [from, need) may be missing, and none may be there
// twice.
func (b *Blob) gather(i, from, need, to int) (pool, error) {
	// A pool cannot hold more positions than cells: little is allocated for a
	// range that must fail. need is from, or one above it.
	if missing := to - need - b.pools[i].cells; missing > 0 {
		return pool{}, fmt.Errorf("%w: pool %d has %d cells, not all of [%d,%d)", ErrPositions, i, b.pools[i].cells, need, to)
	}
	rows := make([]ref, to-from)
	p := b.layout.Pools[i]
	for _, r := range b.pools[i].runs {
		for row := r.from; row < r.to; row++ {
			pos := int(p.at(r.src, row).Pos)
			if pos < from || pos >= to {
				continue
			}
			if rows[pos-from].src != nil {
				return pool{}, fmt.Errorf("%w: pool %d has position %d twice", ErrPositions, i, pos)
			}
			rows[pos-from] = ref{r.src, row}
		}
	}
	var out pool
	for at, r := range rows {
		if r.src != nil {
			out.add(r.src, r.row)
		} else if at+from >= need {
			return pool{}, fmt.Errorf("%w: pool %d has no position %d of [%d,%d)", ErrPositions, i, at+from, need, to)
		}
	}
	return out, nil
}

// canonical is an empty blob of the same layout.
func (b *Blob) canonical() *Blob {
	return &Blob{layout: b.layout, pools: make([]pool, len(b.pools))}
}

func checkRange(from, to int) error {
	if from < 0 || from >= to || to > 1<<31-1 {
		return fmt.Errorf("%w: range [%d,%d)", ErrPositions, from, to)
	}
	return nil
}

// Rows are the keys and values of positions [from, to), without window and
// recurrent part. Each position must be there, once (ErrPositions). A model
// that is recurrent throughout has none.
func (b *Blob) Rows(from, to int) (*Blob, error) {
	if err := checkRange(from, to); err != nil {
		return nil, err
	}
	out := b.canonical()
	for i, p := range b.layout.Pools {
		if p.Window > 0 {
			continue
		}
		var err error
		if out.pools[i], err = b.gather(i, from, from, to); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// State is what Rows leaves out: the window and the recurrent part. It is of
// position End. For a model that has neither it is empty.
func (b *Blob) State() *Blob {
	out := b.canonical()
	out.state = b.state
	for i, p := range b.layout.Pools {
		if p.Window > 0 {
			out.pools[i] = b.sorted(i)
		}
	}
	return out
}

// sorted is a pool in the order of positions.
func (b *Blob) sorted(i int) (out pool) {
	type placed struct {
		ref
		pos int32
	}
	var rows []placed
	for _, r := range b.pools[i].runs {
		for row := r.from; row < r.to; row++ {
			rows = append(rows, placed{ref{r.src, row}, b.layout.Pools[i].at(r.src, row).Pos})
		}
	}
	slices.SortStableFunc(rows, func(x, y placed) int { return cmp.Compare(x.pos, y.pos) })
	for _, r := range rows {
		out.add(r.src, r.row)
	}
	return out
}

// Prefix is the state of a sequence of the first n tokens. A model that has a
// state must have it there (ErrState): a recurrent part has it at End only, a
// window also below End as long as it reaches far enough back.
func (b *Blob) Prefix(n int) (*Blob, error) {
	out, err := b.Rows(0, n)
	if err != nil {
		return nil, err
	}
	for i, p := range b.layout.Pools {
		if p.Window == 0 {
			continue
		}
		if out.pools[i], err = b.window(i, n); err != nil {
			return nil, err
		}
	}
	if b.layout.Recurrent != nil {
		if b.state == nil || int(b.state.pos) != n-1 {
			return nil, fmt.Errorf("%w: the recurrent part is of %s, wanted after %d tokens", ErrState, b.stands(), n)
		}
		out.state = b.state
	}
	return out, nil
}

// window gathers what the engine keeps in a window's pool after n tokens. The
// next token sees one cell less than that, so the oldest may be missing.
func (b *Blob) window(i, n int) (pool, error) {
	w := b.layout.Pools[i].Window
	out, err := b.gather(i, max(0, n-w), max(0, n-w+1), n)
	if err != nil {
		return pool{}, fmt.Errorf("%w: window of %d after %d tokens: %w", ErrState, w, n, err)
	}
	return out, nil
}

func (b *Blob) stands() string {
	if b.state == nil {
		return "nowhere"
	}
	return fmt.Sprintf("%d tokens", b.state.pos+1)
}

// Complete refuses what the engine would take and then answer wrongly from:
// the blob must hold exactly the positions [0, End), with the window and
// recurrent part of End.
func (b *Blob) Complete() error {
	end := b.End()
	if end == 0 {
		return fmt.Errorf("%w: the state is empty", ErrPositions)
	}
	whole, err := b.Prefix(end)
	if err != nil {
		return err
	}
	for i := range b.pools {
		if have := b.pools[i].cells; have != whole.pools[i].cells {
			return fmt.Errorf("%w: pool %d has %d cells for %d tokens", ErrPositions, i, have, end)
		}
	}
	return nil
}
