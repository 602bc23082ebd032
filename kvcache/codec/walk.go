package codec

import (
	"encoding/binary"
	"fmt"
	"slices"

	"dure/kvcache/blob"
)

// kind of a plane's numbers.
type kind uint8

const (
	keys kind = iota
	values
	conv
	delta
)

// plane is the rows that one layer keeps of one kind.
type plane struct {
	kind        kind
	pool, layer int
	cells       int
	row         blob.Row
	heads       Heads
	// transposed: channel by channel, not row by row.
	transposed bool
	// at is where it lies in the state.
	at int
	// pos of each row; of a pool all planes share it. Nil without.
	pos []int32
}

func (p *plane) bytes() int { return p.cells * p.row.Bytes() }

// parts of a state: what is fixed, the tables of cells, and the planes.
type parts struct {
	fixed  []byte
	tables []table
	planes []plane
	size   int
}

// table of the cells of a pool: records of equal size.
type table struct {
	at, cells, record int
}

// walker goes over the fields of a state in order. It is fed by the state itself
// to take it apart, or by the fixed fields and tables to put it together.
type walker struct {
	f    Form
	part blob.Part
	// field gives the next n fixed bytes, cells the next table, rows makes room
	// for a plane.
	field func(n int) ([]byte, error)
	cells func(t table) ([]byte, error)
	rows  func(n int) error
	// at counts bytes of the state.
	at int
	// planes that were met.
	planes []plane
}

func inPart(l blob.Layout, part blob.Part, p blob.Pool) bool {
	return part == blob.Whole || p.Window > 0 || !l.HasState()
}

func (w *walker) run() error {
	if _, err := w.fixed(8); err != nil {
		return err
	}
	l := w.f.Layout
	for i, p := range l.Pools {
		if inPart(l, w.part, p) {
			if err := w.pool(i, p); err != nil {
				return err
			}
		}
	}
	if l.Recurrent != nil {
		return w.recurrent(l.Recurrent)
	}
	return nil
}

func (w *walker) fixed(n int) ([]byte, error) {
	w.at += n
	return w.field(n)
}

func (w *walker) count() (int, error) {
	b, err := w.fixed(4)
	if err != nil {
		return 0, err
	}
	return int(binary.LittleEndian.Uint32(b)), nil
}

func (w *walker) pool(i int, p blob.Pool) error {
	if _, err := w.fixed(4); err != nil {
		return err
	}
	for range p.Streams {
		n, err := w.count()
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if err := w.body(i, p, n); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) body(i int, p blob.Pool, n int) error {
	t := table{at: w.at, cells: n, record: 4 * (3 + p.Extra)}
	records, err := w.cells(t)
	if err != nil {
		return err
	}
	w.at += n * t.record
	pos := make([]int32, n)
	for k := range pos {
		pos[k] = int32(binary.LittleEndian.Uint32(records[k*t.record:]))
	}
	if _, err := w.fixed(8); err != nil {
		return err
	}
	for k, r := range p.Keys {
		if err := w.plane(plane{kind: keys, pool: i, layer: k, cells: n, row: r, heads: w.f.Keys[i][k], pos: pos}); err != nil {
			return err
		}
	}
	for k, r := range p.Values {
		if err := w.plane(plane{kind: values, pool: i, layer: k, cells: n, row: r, heads: w.f.Values[i][k], pos: pos, transposed: p.Transposed}); err != nil {
			return err
		}
	}
	return nil
}

// plane follows a head of type and size, 12 bytes in all forms.
func (w *walker) plane(p plane) error {
	if _, err := w.fixed(12); err != nil {
		return err
	}
	if p.cells == 0 {
		return nil
	}
	p.at = w.at
	if err := w.rows(p.bytes()); err != nil {
		return err
	}
	w.at += p.bytes()
	w.planes = append(w.planes, p)
	return nil
}

func (w *walker) recurrent(r *blob.Recurrent) error {
	n, err := w.count()
	if err != nil {
		return err
	}
	if n > 1 {
		return fmt.Errorf("%w: %d recurrent cells", ErrCoded, n)
	}
	if _, err := w.fixed(8*n + 8); err != nil {
		return err
	}
	for _, list := range []struct {
		kind kind
		rows []blob.Row
	}{{conv, r.Conv}, {delta, r.Delta}} {
		for k, row := range list.rows {
			if err := w.plane(plane{kind: list.kind, layer: k, cells: n, row: row, heads: Heads{Count: 1, Dim: row.Width}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// split takes a state apart that blob.Parse takes as this part.
func split(f Form, state []byte, part blob.Part) (parts, error) {
	if _, err := blob.Parse(f.Layout, state, part); err != nil {
		return parts{}, err
	}
	out := parts{size: len(state)}
	w := &walker{f: f, part: part}
	w.field = func(n int) ([]byte, error) {
		b := state[w.at-n : w.at]
		out.fixed = append(out.fixed, b...)
		return b, nil
	}
	w.cells = func(t table) ([]byte, error) {
		out.tables = append(out.tables, t)
		return state[t.at : t.at+t.cells*t.record], nil
	}
	w.rows = func(int) error { return nil }
	if err := w.run(); err != nil {
		return parts{}, err
	}
	out.planes = w.planes
	return out, nil
}

// partOf finds out which part of a sequence a state is of.
func partOf(f Form, state []byte) (parts, blob.Part, error) {
	p, err := split(f, state, blob.Whole)
	if err == nil {
		return p, blob.Whole, nil
	}
	if p, other := split(f, state, blob.Partial); other == nil {
		return p, blob.Partial, nil
	}
	return parts{}, 0, err
}

// join makes the state of which fixed fields and tables are given, with room for
// its planes. It grows dst by size, or fails.
func (e *entropy) join(dst []byte, size int, f Form, part blob.Part, fixed, tables []byte) (state []byte, planes []plane, err error) {
	start := len(dst)
	dst = slices.Grow(dst, size)
	w := &walker{f: f, part: part}
	room := func(n int) ([]byte, error) {
		if n > size-(len(dst)-start) {
			return nil, fmt.Errorf("%w: more than the %d bytes that are said", ErrCoded, size)
		}
		dst = dst[:len(dst)+n]
		return dst[len(dst)-n:], nil
	}
	w.field = func(n int) ([]byte, error) {
		if n > len(fixed) {
			return nil, fmt.Errorf("%w: %d fixed bytes, %d are left", ErrCoded, n, len(fixed))
		}
		b, err := room(n)
		if err == nil {
			copy(b, fixed)
			fixed = fixed[n:]
		}
		return b, err
	}
	w.cells = func(t table) ([]byte, error) {
		b, err := room(t.cells * t.record)
		if err == nil {
			tables, err = e.readTable(b, tables, t)
		}
		return b, err
	}
	w.rows = func(n int) error {
		_, err := room(n)
		return err
	}
	if err := w.run(); err != nil {
		return nil, nil, err
	}
	if len(fixed)+len(tables) > 0 || len(dst)-start != size {
		return nil, nil, fmt.Errorf("%w: %d fixed bytes and %d of cells too many, %d bytes of %d", ErrCoded, len(fixed), len(tables), len(dst)-start, size)
	}
	return dst, w.planes, nil
}
