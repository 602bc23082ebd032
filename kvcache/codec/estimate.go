package codec

import (
	"math"

	"dure/gguf"
	"dure/kvcache/blob"
)

// Span is what one object holds: the rows of positions [From, To) with their
// cells, or, where State is set, also what cannot be cut at To: a window of Windowed
// cells, the recurrent part. From == To is a state alone (blob.Partial).
type Span struct {
	From, To int
	Windowed int
	State    bool
}

// Raw is the size of the object in bytes before it is coded, exactly.
func (s Span) Raw(l blob.Layout) int {
	part := blob.Whole
	if s.From == s.To {
		part = blob.Partial
	}
	return l.Size(part, s.To-s.From, s.Windowed, s.State)
}

// Most is how many bytes the object takes coded in a class where the numbers of
// each plane have a normal distribution of one deviation for all channels. Of all
// distributions with the same sum of squares that one takes the most: real numbers,
// whose channels differ, take less, and with a Basis far less. Exact takes Raw at
// most.
func (s Span) Most(f Form, c Class) int {
	raw := s.Raw(f.Layout)
	if c <= Exact || !c.valid() {
		return raw
	}
	size, planes := float64(raw+headBytes), 0
	swap := func(plain int, coded float64) {
		size += coded - float64(plain)
		planes++
	}
	saved := 0
	for _, p := range f.Layout.Pools {
		first, cells := s.From, s.To-s.From
		if p.Window > 0 {
			first, cells = max(0, s.To-s.Windowed), s.Windowed
		}
		saved += savedOfTable(p, cells)
		for _, r := range p.Keys {
			swap(cells*r.Bytes(), mostOfRows(r, first, cells, c, keys))
		}
		for _, r := range p.Values {
			swap(cells*r.Bytes(), mostOfRows(r, first, cells, c, values))
		}
	}
	if r := f.Layout.Recurrent; r != nil && s.State {
		for _, rows := range [2][]blob.Row{r.Conv, r.Delta} {
			for _, row := range rows {
				swap(row.Bytes(), mostOfState(row, c))
			}
		}
	}
	const each = 4 + 1 + 8 // length and mode of a plane, frames of its runs
	return min(raw, int(size)-saved+each*planes)
}

// savedOfTable is what is saved at a table of cells: positions follow each other and
// leave nothing; nothing is said of token ids.
func savedOfTable(p blob.Pool, cells int) (saved int) {
	if cells == 0 {
		return 0
	}
	const frames = 256
	record, token := 4*(3+p.Extra), 0
	if p.Extra == 3 {
		token = 4
	}
	return max(0, cells*(record-token)-frames)
}

// mostOfRows is that of the keys or values of a layer.
func mostOfRows(r blob.Row, first, cells int, c Class, k kind) float64 {
	plain := float64(cells * r.Bytes())
	st := stepsOf(c, k)
	if !codable(r.Type) || c == Near && !isNumber(r.Type) {
		return plain
	}
	exact := min(cells, max(0, firstRows-first))
	last := min(cells-exact, lastRows)
	body := cells - exact - last
	coded := float64(exact * r.Bytes())
	for _, set := range [2]struct {
		rows int
		part float64
	}{{body, st.body}, {last, st.last}} {
		coded += float64(set.rows*r.Width) * bitsOf(set.part) / 8
		coded += float64(tableBytes(set.rows, r.Width))
	}
	return min(plain, coded)
}

// tableBytes are those of step, means, groups and codes of so many rows.
func tableBytes(rows, width int) int {
	if rows == 0 {
		return 0
	}
	const code = 128 + 8 // of a run of symbols, with its frame
	stretches := (rows + stretch(width) - 1) / stretch(width)
	runs := rows*width/runBytes + stretches
	return stretches*(4+3*width) + runs*code
}

func mostOfState(r blob.Row, c Class) float64 {
	n := float64(r.Width)
	switch {
	case r.Type != gguf.F32 || stateMode(c) == planeExact:
		return float64(r.Bytes())
	case stateMode(c) == planeBrain:
		return 2 * n
	}
	return n + 2*n/float64(blockOfState(r.Width))
}

// bitsOf a number of a normal distribution that is rounded to multiples of a part of
// its deviation, with what the code wastes: of Huffman's at most the likelihood of
// the commonest symbol and 0.086 (Gallager), of the other one a hundredth.
func bitsOf(part float64) float64 {
	below := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	entropy, most := 0.0, 0.0
	for i := 0; ; i++ {
		p := below((float64(i)+0.5)*part) - below((float64(i)-0.5)*part)
		if p < 1e-12 {
			break
		}
		most = max(most, p)
		times := 2.0 // of either sign
		if i == 0 {
			times = 1
		}
		entropy -= times * p * math.Log2(p)
	}
	if entropy < statesBelow {
		return 1.01 * entropy
	}
	return entropy + most + 0.086
}
