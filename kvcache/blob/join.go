package blob

import "fmt"

// Join puts parts of one sequence together: their rows in the order given, each
// beginning where the one before ends, and the state of the one that has it,
// which must stand where the rows end. Layouts may differ from l, that of the
// receiving context, in the number of streams only.
//
// Without a state, or with rows that do not begin at 0, the result is itself a
// part; Complete tells.
func Join(l Layout, parts ...*Blob) (*Blob, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	out := &Blob{layout: l, pools: make([]pool, len(l.Pools))}
	holder := -1
	for k, part := range parts {
		if !part.layout.Same(l) {
			return nil, fmt.Errorf("part %d: %w", k, ErrLayout)
		}
		if part.hasState() {
			if holder >= 0 {
				return nil, fmt.Errorf("%w: parts %d and %d both have one; take the Rows of the first", ErrState, holder, k)
			}
			holder = k
			out.takeState(part) // checked below, where the rows end
		}
	}
	end, err := out.takeRows(parts)
	if err != nil {
		return nil, err
	}
	if holder < 0 || end == 0 {
		return out, nil
	}
	return out, out.standsAt(end)
}

// takeRows joins the pool without a window and returns where it ends, 0 for
// nowhere.
func (b *Blob) takeRows(parts []*Blob) (end int, err error) {
	i := b.layout.rows()
	if i < 0 {
		return 0, nil
	}
	for k, part := range parts {
		if part.pools[i].cells == 0 {
			continue
		}
		from, to := part.span(i)
		if b.pools[i].cells > 0 && from != end {
			return 0, fmt.Errorf("%w: part %d begins at %d, the one before ends at %d", ErrPositions, k, from, end)
		}
		rows, err := part.gather(i, from, from, to)
		if err != nil {
			return 0, fmt.Errorf("part %d: %w", k, err)
		}
		if rows.cells != part.pools[i].cells {
			return 0, fmt.Errorf("%w: part %d has %d cells for [%d,%d)", ErrPositions, k, part.pools[i].cells, from, to)
		}
		b.pools[i].append(rows)
		end = to
	}
	return end, nil
}

// append puts the rows of q behind those of p.
func (p *pool) append(q pool) {
	for _, r := range q.runs {
		if n := len(p.runs); n > 0 && p.runs[n-1].src == r.src && p.runs[n-1].to == r.from {
			p.runs[n-1].to = r.to
		} else {
			p.runs = append(p.runs, run{r.src, p.cells, r.from, r.to})
		}
		p.cells += r.to - r.from
	}
}

// span is the lowest position of a pool and the one after the highest.
func (b *Blob) span(i int) (from, to int) {
	from = 1 << 31
	for _, c := range b.All(i) {
		from, to = min(from, int(c.Pos)), max(to, int(c.Pos)+1)
	}
	return from, to
}

func (b *Blob) hasState() bool {
	for i, p := range b.layout.Pools {
		if p.Window > 0 && b.pools[i].cells > 0 {
			return true
		}
	}
	return b.state != nil
}

func (b *Blob) takeState(from *Blob) {
	b.state = from.state
	for i, p := range b.layout.Pools {
		if p.Window > 0 {
			b.pools[i] = from.sorted(i)
		}
	}
}

// standsAt checks, and puts in order, the window and recurrent part after end
// tokens.
func (b *Blob) standsAt(end int) (err error) {
	for i, p := range b.layout.Pools {
		if p.Window == 0 {
			continue
		}
		if _, to := b.span(i); to != end {
			return fmt.Errorf("%w: the window is of %d tokens, the rows end at %d", ErrState, to, end)
		}
		if b.pools[i], err = b.window(i, end); err != nil {
			return err
		}
	}
	if b.layout.Recurrent != nil && (b.state == nil || int(b.state.pos)+1 != end) {
		return fmt.Errorf("%w: the recurrent part is of %s, the rows end at %d", ErrState, b.stands(), end)
	}
	return nil
}
