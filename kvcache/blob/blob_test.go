package blob_test

import (
	"bytes"
	"errors"
	"testing"

	"dure/gguf"
	"dure/kvcache/blob"
	"pgregory.net/rapid"
)

func mustParse(t rapid.TB, m *model, part blob.Part) *blob.Blob {
	t.Helper()
	b, err := blob.Parse(m.layout, m.bytes(part), part)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tokens is how long the sequence of a model is.
func (m *model) tokens() int {
	n := 0
	for _, p := range m.pools {
		for _, c := range p {
			n = max(n, int(c.pos)+1)
		}
	}
	if m.state != nil {
		n = max(n, int(m.state.pos)+1)
	}
	return n
}

// What is parsed is what was written, and is written again to the byte.
func TestParseAndAppend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := draw(t)
		for _, part := range []blob.Part{blob.Whole, blob.Partial} {
			want := m.bytes(part)
			b := mustParse(t, m, part)
			got := b.Append([]byte("before"), part)
			if !bytes.Equal(got, append([]byte("before"), want...)) {
				t.Fatalf("part %d is not written as it was read", part)
			}
			if b.Size(part) != len(want) {
				t.Fatalf("size %d of %d bytes", b.Size(part), len(want))
			}
		}
		b := mustParse(t, m, blob.Whole)
		if b.Seq != m.seq || b.End() != m.tokens() {
			t.Fatalf("sequence %d ends at %d", b.Seq, b.End())
		}
		checkAccess(t, m, b)
	})
}

func checkAccess(t rapid.TB, m *model, b *blob.Blob) {
	t.Helper()
	for i, p := range m.layout.Pools {
		if b.Cells(i) != len(m.pools[i]) {
			t.Fatalf("pool %d has %d cells", i, b.Cells(i))
		}
		seen := 0
		for k, c := range b.All(i) {
			seen++
			if c != b.Cell(i, k) || k != seen-1 {
				t.Fatalf("cell %d is %+v and %+v", k, c, b.Cell(i, k))
			}
		}
		for k, c := range m.pools[i] {
			want := blob.Cell{Pos: c.pos}
			if p.Extra > 0 {
				want.X, want.Y = c.x, c.y
			}
			if p.Extra == 3 {
				want.Token = c.token
			}
			if got := b.Cell(i, k); got != want {
				t.Fatalf("cell %d is %+v, want %+v", k, got, want)
			}
			for layer := range p.Keys {
				if !bytes.Equal(b.Key(i, layer, k), c.keys[layer]) || !bytes.Equal(b.Value(i, layer, k).Append(nil), c.values[layer]) {
					t.Fatalf("rows of pool %d layer %d cell %d differ", i, layer, k)
				}
			}
		}
	}
	pos, conv, delta, ok := b.Recurrent()
	if ok != (m.state != nil) || ok && pos != m.state.pos {
		t.Fatalf("recurrent part %t at %d", ok, pos)
	}
	for i := range conv {
		if !bytes.Equal(conv[i], m.state.conv[i]) || !bytes.Equal(delta[i], m.state.delta[i]) {
			t.Fatalf("recurrent layer %d differs", i)
		}
	}
}

// However a sequence is cut, the pieces are what was written of their
// positions, also after a way through bytes, and join to the whole.
func TestCutAndJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := draw(t)
		n := m.tokens()
		b := mustParse(t, m, blob.Whole)
		if err := b.Complete(); err != nil {
			t.Fatal(err)
		}
		var parts []*blob.Blob
		for from := 0; from < n; {
			to := rapid.IntRange(from+1, n).Draw(t, "to")
			rows, err := b.Rows(from, to)
			if err != nil {
				t.Fatal(err)
			}
			want := m.cut(from, to, true, false).bytes(blob.Whole)
			got := rows.Append(nil, blob.Whole)
			if !bytes.Equal(got, want) {
				t.Fatalf("rows [%d,%d) differ", from, to)
			}
			if len(m.layout.Pools) > 0 && len(got) != m.layout.Size(blob.Whole, to-from, 0, false) {
				t.Fatalf("%d bytes, the formula says %d", len(got), m.layout.Size(blob.Whole, to-from, 0, false))
			}
			if rows, err = blob.Parse(m.layout, got, blob.Whole); err != nil {
				t.Fatal(err)
			}
			parts, from = append(parts, rows), to
		}
		state := b.State().Append(nil, blob.Partial)
		if m.layout.HasState() && !bytes.Equal(state, m.cut(0, n, false, true).bytes(blob.Partial)) {
			t.Fatal("state differs")
		}
		again, err := blob.Parse(m.layout, state, blob.Partial)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := blob.Join(m.layout, append(parts, again)...)
		if err != nil {
			t.Fatal(err)
		}
		if err := whole.Complete(); err != nil {
			t.Fatal(err)
		}
		want := m.cut(0, n, true, true)
		if !bytes.Equal(whole.Append(nil, blob.Whole), want.bytes(blob.Whole)) {
			t.Fatal("the joined whole differs")
		}
		checkAccess(t, want, whole)
	})
}

// A prefix is given where the state allows it, and refused everywhere else.
func TestPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := draw(t)
		n := m.tokens()
		b := mustParse(t, m, blob.Whole)
		k := rapid.IntRange(1, n).Draw(t, "prefix")
		possible := m.layout.Recurrent == nil || k == n
		for _, p := range m.layout.Pools {
			if p.Window > 0 { // the oldest that the next token sees, and the oldest there is
				possible = possible && max(0, k-p.Window+1) >= max(0, n-p.Window)
			}
		}
		prefix, err := b.Prefix(k)
		if (err == nil) != possible || err != nil && !errors.Is(err, blob.ErrState) {
			t.Fatalf("prefix %d of %d: %v", k, n, err)
		}
		if err != nil {
			return
		}
		if err := prefix.Complete(); err != nil || prefix.End() != k {
			t.Fatalf("prefix %d ends at %d: %v", k, prefix.End(), err)
		}
		if _, err := blob.Parse(m.layout, prefix.Append(nil, blob.Whole), blob.Whole); err != nil {
			t.Fatal(err)
		}
	})
}

// States move between contexts with other numbers of sequences.
func TestJoinForAnotherContext(t *testing.T) {
	m := build(layouts["split"], 5, 2, 2, inOrder)
	to := m.layout
	to.Pools = []blob.Pool{to.Pools[0]}
	to.Pools[0].Streams = 1
	moved, err := blob.Join(to, mustParse(t, m, blob.Whole))
	if err != nil {
		t.Fatal(err)
	}
	m.layout, m.seq, m.stream = to, 0, 0
	if !bytes.Equal(moved.Append(nil, blob.Whole), m.bytes(blob.Whole)) {
		t.Error("not what a unified pool writes")
	}
}

func TestJoinRefuses(t *testing.T) {
	rows := func(b *blob.Blob, from, to int) *blob.Blob {
		t.Helper()
		r, err := b.Rows(from, to)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, name := range []string{"hybrid", "window"} {
		l := layouts[name]
		b := mustParse(t, build(l, 9, 0, 0, inOrder), blob.Whole)
		short := mustParse(t, build(l, 7, 0, 0, inOrder), blob.Whole)
		twice := build(l, 9, 0, 0, inOrder)
		twice.pools[0][3].pos = 2
		for what, tc := range map[string]struct {
			parts []*blob.Blob
			want  error
		}{
			"gap":                   {[]*blob.Blob{rows(b, 0, 3), rows(b, 4, 9)}, blob.ErrPositions},
			"overlap":               {[]*blob.Blob{rows(b, 0, 5), rows(b, 4, 9)}, blob.ErrPositions},
			"order":                 {[]*blob.Blob{rows(b, 4, 9), rows(b, 0, 4)}, blob.ErrPositions},
			"two states":            {[]*blob.Blob{short, rows(b, 7, 9), b.State()}, blob.ErrState},
			"state of an end below": {[]*blob.Blob{rows(b, 0, 9), short.State()}, blob.ErrState},
			"state of an end above": {[]*blob.Blob{rows(b, 0, 7), b.State()}, blob.ErrState},
			"a position twice":      {[]*blob.Blob{mustParse(t, twice, blob.Whole)}, blob.ErrPositions},
			"another layout":        {[]*blob.Blob{mustParse(t, build(layouts["plain"], 9, 0, 0, inOrder), blob.Whole)}, blob.ErrLayout},
		} {
			if _, err := blob.Join(l, tc.parts...); !errors.Is(err, tc.want) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		tail, err := blob.Join(l, rows(b, 4, 9), b.State())
		if err != nil {
			t.Fatal(err)
		}
		if err := tail.Complete(); !errors.Is(err, blob.ErrPositions) {
			t.Errorf("%s: a tail is complete: %v", name, err)
		}
		if err := rows(b, 0, 9).Complete(); !errors.Is(err, blob.ErrState) {
			t.Errorf("%s: rows alone are complete: %v", name, err)
		}
	}
}

func TestRowsRefuses(t *testing.T) {
	m := build(layouts["plain"], 6, 0, 0, inOrder)
	m.pools[0] = append(m.pools[0][:2], m.pools[0][3:]...) // position 2 is missing
	b := mustParse(t, m, blob.Whole)
	for _, r := range [][2]int{{-1, 2}, {2, 2}, {3, 2}, {0, 3}, {2, 3}, {0, 6}, {3, 7}, {0, 1<<31 - 1}, {5, 1 << 40}} {
		if _, err := b.Rows(r[0], r[1]); !errors.Is(err, blob.ErrPositions) {
			t.Errorf("[%d,%d): %v", r[0], r[1], err)
		}
	}
	if _, err := b.Rows(3, 6); err != nil {
		t.Error(err)
	}
	if err := b.Complete(); !errors.Is(err, blob.ErrPositions) {
		t.Errorf("complete: %v", err)
	}
}

// The formula of a hybrid model of 27 billion parameters, worked out by hand.
func TestSizes(t *testing.T) {
	for typ, row := range map[gguf.TensorType]int{gguf.F16: 2048, gguf.Q8_0: 1088, gguf.Q4_0: 576} {
		g := &gguf.Geometry{Architecture: "qwen35", Rope: gguf.Rope{Sections: [4]int{11, 11, 10, 0}}}
		for i := range 64 {
			l := gguf.Layer{KVHeads: 4, KeyDim: 256, ValueDim: 256}
			if (i+1)%4 != 0 {
				l = gguf.Layer{Recurrent: true, ConvState: 122880 / 4, DeltaState: 3145728 / 4}
			}
			g.Layers = append(g.Layers, l)
		}
		g.Layers = append(g.Layers, gguf.Layer{MTP: true, KVHeads: 4, KeyDim: 256, ValueDim: 256})
		l, err := blob.Of(g, blob.Options{Keys: typ, Values: typ, Streams: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []int{1, 1000, 262144} {
			want := 8 + 4 + 4 + 24*c + 8 + 32*(12+row*c) + 4 + 8 + 8 + 48*(12+122880) + 48*(12+3145728)
			if got := l.Size(blob.Whole, c, 0, true); got != want {
				t.Errorf("%v, %d cells: %d bytes, want %d", typ, c, got, want)
			}
		}
		if l.TokenBytes() != 24+32*row || l.StateBytes() != 8+4+8+8+48*(12+122880)+48*(12+3145728) {
			t.Errorf("%v: %d bytes a token, %d a state", typ, l.TokenBytes(), l.StateBytes())
		}
	}
}

func TestOfRefusesWhatIsNotKnown(t *testing.T) {
	windowed := gguf.Layer{KVHeads: 1, KeyDim: 32, ValueDim: 32, Window: 8}
	opt := blob.Options{Keys: gguf.F16, Values: gguf.F16, Streams: 1}
	for what, layers := range map[string][]gguf.Layer{
		"no layers":            nil,
		"two windows":          {windowed, {KVHeads: 1, KeyDim: 32, ValueDim: 32, Window: 9}},
		"window and recurrent": {windowed, {Recurrent: true, ConvState: 4, DeltaState: 4}},
		"blocks":               {{KVHeads: 1, KeyDim: 32, ValueDim: 0}},
	} {
		if _, err := blob.Of(&gguf.Geometry{Layers: layers}, opt); !errors.Is(err, blob.ErrLayout) {
			t.Errorf("%s: %v", what, err)
		}
	}
	plain := &gguf.Geometry{Layers: []gguf.Layer{{KVHeads: 1, KeyDim: 32, ValueDim: 32}}}
	for what, change := range map[string]func(*blob.Options){
		"no streams":       func(o *blob.Options) { o.Streams = 0 },
		"too many streams": func(o *blob.Options) { o.Streams = 257 },
		"transposed q8_0":  func(o *blob.Options) { o.Values, o.Transposed = gguf.Q8_0, true },
		"unknown type":     func(o *blob.Options) { o.Keys = 5 },
	} {
		o := opt
		change(&o)
		if _, err := blob.Of(plain, o); !errors.Is(err, blob.ErrLayout) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
