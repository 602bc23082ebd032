package blob

// Sizes of the fixed fields.
const (
	envelopeBytes  = 4 + 4     // magic, sequence
	poolBytes      = 4         // streams
	streamBytes    = 4         // cells
	tableBytes     = 4 + 4     // transposed, layers
	cellBytes      = 4 + 4 + 4 // position, count, sequence
	rowsBytes      = 4 + 8     // type, row size
	transposeBytes = 4 + 4 + 4 // type, element size, channels
	recurrentBytes = 4 + 4 + 4 // cells, transposed, layers
	stateCellBytes = 4 + 4     // position, count
)

// Size in bytes of a state of cells tokens, windowed of them in the window's
// pool. Without state the recurrent part is an empty one.
func (l Layout) Size(part Part, cells, windowed int, state bool) int {
	n := envelopeBytes
	for _, p := range l.Pools {
		switch {
		case !l.in(part, p):
		case p.Window > 0:
			n += p.size(windowed)
		default:
			n += p.size(cells)
		}
	}
	if r := l.Recurrent; r != nil {
		n += r.size(state)
	}
	return n
}

// TokenBytes is what a token adds to a state, beyond any window.
func (l Layout) TokenBytes() int {
	n := 0
	for _, p := range l.Pools {
		if p.Window == 0 {
			n += p.cell() + p.row()
		}
	}
	return n
}

// StateBytes is the size of a state as Partial, with a full window; 0 for a
// model that has none.
func (l Layout) StateBytes() int {
	if !l.HasState() {
		return 0
	}
	window := 0
	for _, p := range l.Pools {
		window = max(window, p.Window)
	}
	return l.Size(Partial, 0, window, true)
}

// cell is the bytes of a cell in the table.
func (p Pool) cell() int { return cellBytes + 4*p.Extra }

// row is the bytes of all rows of a cell.
func (p Pool) row() int { return bytesOf(p.Keys) + bytesOf(p.Values) }

func (p Pool) size(cells int) int {
	n := poolBytes + p.Streams*streamBytes
	if cells == 0 {
		return n
	}
	return n + p.body(cells)
}

// body is the size of what follows a number of cells above 0.
func (p Pool) body(cells int) int {
	values := rowsBytes
	if p.Transposed {
		values = transposeBytes
	}
	return tableBytes + len(p.Keys)*rowsBytes + len(p.Values)*values + cells*(p.cell()+p.row())
}

func (r *Recurrent) size(state bool) int {
	n := recurrentBytes + (len(r.Conv)+len(r.Delta))*rowsBytes
	if state {
		n += stateCellBytes + bytesOf(r.Conv) + bytesOf(r.Delta)
	}
	return n
}

func bytesOf(rows []Row) int {
	n := 0
	for _, r := range rows {
		n += r.Bytes()
	}
	return n
}
