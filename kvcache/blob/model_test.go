package blob_test

import (
	"encoding/binary"
	"slices"

	"dure/gguf"
	"dure/kvcache/blob"
	"pgregory.net/rapid"
)

// model is a sequence's state in the plainest form: what the bytes must say.
type model struct {
	layout blob.Layout
	seq    int32
	stream int
	pools  [][]cell
	state  *recurrent
}

type cell struct {
	pos, x, y, token int32
	keys, values     [][]byte
}

type recurrent struct {
	pos         int32
	conv, delta [][]byte
}

// writer is the format, written cell by cell.
type writer struct{ b []byte }

func (w *writer) u32(v ...int) {
	for _, x := range v {
		w.b = binary.LittleEndian.AppendUint32(w.b, uint32(x))
	}
}

func (w *writer) u64(v int) { w.b = binary.LittleEndian.AppendUint64(w.b, uint64(v)) }

func (m *model) bytes(part blob.Part) []byte {
	w := &writer{}
	w.u32(0xAF143CD8, int(m.seq))
	hasState := m.layout.Recurrent != nil
	for _, p := range m.layout.Pools {
		hasState = hasState || p.Window > 0
	}
	for i, p := range m.layout.Pools {
		if part == blob.Partial && hasState && p.Window == 0 {
			continue
		}
		w.u32(p.Streams)
		for s := range p.Streams {
			if s != m.stream || len(m.pools[i]) == 0 {
				w.u32(0)
				continue
			}
			w.u32(len(m.pools[i]))
			w.pool(p, m.pools[i], m.seq)
		}
	}
	if r := m.layout.Recurrent; r != nil {
		w.recurrent(r, m.state)
	}
	return w.b
}

func (w *writer) pool(p blob.Pool, cells []cell, seq int32) {
	for _, c := range cells {
		w.u32(int(c.pos), 1)
		switch p.Extra {
		case 2:
			w.u32(int(c.x), int(c.y))
		case 3:
			w.u32(int(c.x), int(c.y), int(c.token))
		}
		w.u32(int(seq))
	}
	if p.Transposed {
		w.u32(1, len(p.Keys))
	} else {
		w.u32(0, len(p.Keys))
	}
	for i, k := range p.Keys {
		w.u32(int(k.Type))
		w.u64(k.Bytes())
		for _, c := range cells {
			w.b = append(w.b, c.keys[i]...)
		}
	}
	for i, v := range p.Values {
		w.u32(int(v.Type))
		if !p.Transposed {
			w.u64(v.Bytes())
			for _, c := range cells {
				w.b = append(w.b, c.values[i]...)
			}
			continue
		}
		element := v.Bytes() / v.Width
		w.u32(element, v.Width)
		for channel := range v.Width {
			for _, c := range cells {
				w.b = append(w.b, c.values[i][channel*element:(channel+1)*element]...)
			}
		}
	}
}

func (w *writer) recurrent(r *blob.Recurrent, s *recurrent) {
	n := 0
	if s != nil {
		n = 1
	}
	w.u32(n)
	if s != nil {
		w.u32(int(s.pos), 0)
	}
	w.u32(0, r.Layers)
	for k, rows := range [][]blob.Row{r.Conv, r.Delta} {
		for i, row := range rows {
			w.u32(int(row.Type))
			w.u64(row.Bytes())
			if s != nil {
				w.b = append(w.b, [][][]byte{s.conv, s.delta}[k][i]...)
			}
		}
	}
}

// cut is what a sequence of the positions [from, to) would say, in the order of
// positions. The window and recurrent part stay where they are.
func (m *model) cut(from, to int, rows, state bool) *model {
	out := &model{layout: m.layout, pools: make([][]cell, len(m.pools))}
	for i, p := range m.layout.Pools {
		if p.Window > 0 && state || p.Window == 0 && rows {
			for _, c := range m.pools[i] {
				if p.Window > 0 || int(c.pos) >= from && int(c.pos) < to {
					out.pools[i] = append(out.pools[i], c)
				}
			}
			slices.SortFunc(out.pools[i], func(a, b cell) int { return int(a.pos - b.pos) })
		}
	}
	if state {
		out.state = m.state
	}
	return out
}

// layouts are the forms the tests take in turn.
var layouts = map[string]blob.Layout{
	"plain":      {Pools: []blob.Pool{pool(1, 0, 0, false, gguf.F16, 2)}},
	"split":      {Pools: []blob.Pool{pool(3, 0, 0, false, gguf.Q8_0, 2)}},
	"transposed": {Pools: []blob.Pool{pool(2, 0, 0, true, gguf.F16, 3)}},
	"window":     {Pools: []blob.Pool{pool(1, 0, 0, false, gguf.Q4_0, 1), pool(1, 0, 4, false, gguf.Q4_0, 3)}},
	"window transposed": {Pools: []blob.Pool{
		pool(2, 0, 0, true, gguf.F32, 1), pool(2, 0, 5, true, gguf.F32, 2)}},
	"hybrid":            {Pools: []blob.Pool{pool(1, 3, 0, false, gguf.F16, 1)}, Recurrent: delta(4, 3)},
	"hybrid transposed": {Pools: []blob.Pool{pool(4, 3, 0, true, gguf.BF16, 2)}, Recurrent: delta(8, 6)},
	"recurrent":         {Recurrent: delta(3, 3)},
	"older cells":       {Pools: []blob.Pool{pool(1, 2, 0, false, gguf.Q4_1, 1)}},
}

func pool(streams, extra, window int, transposed bool, t gguf.TensorType, layers int) blob.Pool {
	p := blob.Pool{Streams: streams, Extra: extra, Window: window, Transposed: transposed}
	for range layers {
		v := t
		if transposed {
			v = gguf.F16
		}
		p.Keys = append(p.Keys, blob.Row{Type: t, Width: 32})
		p.Values = append(p.Values, blob.Row{Type: v, Width: 64})
	}
	return p
}

func delta(layers, recurrent int) *blob.Recurrent {
	r := &blob.Recurrent{Layers: layers}
	for range recurrent {
		r.Conv = append(r.Conv, blob.Row{Type: gguf.F32, Width: 6})
		r.Delta = append(r.Delta, blob.Row{Type: gguf.F32, Width: 16})
	}
	return r
}

func names() []string {
	var out []string
	for name := range layouts {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// build makes the state of n tokens, cells in the order of perm.
func build(l blob.Layout, n int, seq int32, stream int, perm func(n int) []int) *model {
	m := &model{layout: l, seq: seq, stream: stream, pools: make([][]cell, len(l.Pools))}
	count := byte(0)
	fill := func(rows []blob.Row) (out [][]byte) {
		for _, r := range rows {
			b := make([]byte, r.Bytes())
			for i := range b {
				count = count*5 + 17
				b[i] = count ^ byte(i)
			}
			out = append(out, b)
		}
		return out
	}
	for i, p := range l.Pools {
		first := 0
		if p.Window > 0 {
			first = max(0, n-p.Window)
		}
		for _, k := range perm(n - first) {
			pos := int32(first + k)
			m.pools[i] = append(m.pools[i], cell{pos, pos, pos, 1000 + pos, fill(p.Keys), fill(p.Values)})
		}
	}
	if r := l.Recurrent; r != nil {
		m.state = &recurrent{int32(n - 1), fill(r.Conv), fill(r.Delta)}
	}
	return m
}

func inOrder(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// draw makes any model.
func draw(t *rapid.T) *model {
	l := layouts[rapid.SampledFrom(names()).Draw(t, "layout")]
	stream := 0
	if len(l.Pools) > 0 {
		stream = rapid.IntRange(0, l.Pools[0].Streams-1).Draw(t, "stream")
	}
	return build(l, rapid.IntRange(1, 20).Draw(t, "tokens"), rapid.Int32Range(0, 255).Draw(t, "seq"), stream,
		func(n int) []int { return rapid.Permutation(inOrder(n)).Draw(t, "order") })
}
