package blob_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"dure/kvcache/blob"
	"pgregory.net/rapid"
)

// Cut short anywhere, or with bytes to spare, a state is refused.
func TestEveryByteCounts(t *testing.T) {
	for _, name := range names() {
		m := build(layouts[name], 6, 1, 0, inOrder)
		for _, part := range []blob.Part{blob.Whole, blob.Partial} {
			data := m.bytes(part)
			for n := range data {
				_, err := blob.Parse(m.layout, data[:n], part)
				if !errors.Is(err, blob.ErrTruncated) {
					t.Fatalf("%s: %d of %d bytes: %v", name, n, len(data), err)
				}
				checkError(t, err, n)
			}
			_, err := blob.Parse(m.layout, append(data, 0), part)
			if !errors.Is(err, blob.ErrMalformed) {
				t.Errorf("%s: a byte too many: %v", name, err)
			}
		}
	}
}

func checkError(t *testing.T, err error, size int) {
	t.Helper()
	var at *blob.FormatError
	if !errors.As(err, &at) || at.Offset < 0 || at.Offset > size || at.Field == "" || at.Detail == "" {
		t.Fatalf("error without a place: %#v", err)
	}
}

// A changed field is refused, naming the field and its place; what is not, is
// position, token or contents of a row, and is written again as it is.
func TestChangedBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := draw(t)
		data := m.bytes(blob.Whole)
		i := rapid.IntRange(0, len(data)-1).Draw(t, "byte")
		data[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		b, err := blob.Parse(m.layout, data, blob.Whole)
		if err != nil {
			var at *blob.FormatError
			if !errors.As(err, &at) || at.Offset > len(data) {
				t.Fatalf("%v", err)
			}
			return
		}
		if !bytes.Equal(b.Append(nil, blob.Whole), data) {
			t.Fatal("accepted, and written differently")
		}
	})
}

func TestFieldsAreNamed(t *testing.T) {
	l := layouts["hybrid"]
	const n = 3
	good := build(l, n, 1, 0, inOrder).bytes(blob.Whole)
	table := 16 // envelope, streams, cells
	layers := table + n*24
	key := layers + 8
	value := key + 12 + n*64
	recurrent := value + 12 + n*128
	for _, tc := range []struct {
		off   int
		value uint32
		field string
		kind  error
	}{
		{0, 1, "magic", blob.ErrMalformed},
		{4, 1 << 31, "sequence", blob.ErrMalformed},
		{8, 2, "pool 0 streams", blob.ErrLayout},
		{12, 1 << 31, "pool 0 cells", blob.ErrTruncated},
		{table + 24, 1 << 31, "pool 0 cell 1 position", blob.ErrMalformed},
		{table + 28, 0, "pool 0 cell 1 number of sequences", blob.ErrMalformed},
		{table + 44, 2, "pool 0 cell 1 sequence", blob.ErrMalformed},
		{layers, 1, "pool 0 transposed", blob.ErrLayout},
		{layers + 4, 2, "pool 0 layers", blob.ErrLayout},
		{key, 2, "pool 0 layer 0 key type", blob.ErrLayout},
		{key + 4, 65, "pool 0 layer 0 key row size", blob.ErrLayout},
		{key + 8, 1, "pool 0 layer 0 key row size", blob.ErrLayout},
		{value, 2, "pool 0 layer 0 value type", blob.ErrLayout},
		{recurrent, 2, "recurrent cells", blob.ErrMalformed},
		{recurrent + 4, 1 << 31, "recurrent position", blob.ErrMalformed},
		{recurrent + 8, 1, "number of sequences of the recurrent cell", blob.ErrMalformed},
		{recurrent + 12, 1, "recurrent state transposed", blob.ErrLayout},
		{recurrent + 16, 5, "layers of the model", blob.ErrLayout},
		{recurrent + 20, 1, "layer 0 convolution type", blob.ErrLayout},
	} {
		data := bytes.Clone(good)
		binary.LittleEndian.PutUint32(data[tc.off:], tc.value)
		_, err := blob.Parse(l, data, blob.Whole)
		var at *blob.FormatError
		if !errors.As(err, &at) || at.Field != tc.field || at.Kind != tc.kind {
			t.Errorf("%s: %v", tc.field, err)
			continue
		}
		want := tc.off
		if want == key+8 {
			want = key + 4 // the upper half of a field of 8 bytes
		}
		if at.Offset != want {
			t.Errorf("%s: offset %d, want %d", tc.field, at.Offset, want)
		}
	}
}

// Two streams with cells: the engine would keep the second only.
func TestASequenceLivesInOneStream(t *testing.T) {
	m := build(layouts["split"], 2, 0, 1, inOrder)
	data := m.bytes(blob.Whole)
	body := data[12+4+4 : len(data)-4] // after envelope, streams, an empty one and the count
	var twice []byte
	twice = append(twice, data[:len(data)-4]...)
	twice = append(binary.LittleEndian.AppendUint32(twice, 2), body...)
	_, err := blob.Parse(m.layout, twice, blob.Whole)
	var at *blob.FormatError
	if !errors.As(err, &at) || at.Kind != blob.ErrMalformed || at.Offset != len(data)-4 {
		t.Errorf("%v", err)
	}
}

// However many cells the bytes announce or have, only places are kept.
func TestMemoryIsBounded(t *testing.T) {
	l := layouts["plain"]
	huge := build(l, 1, 0, 0, inOrder).bytes(blob.Whole)
	binary.LittleEndian.PutUint32(huge[12:], 1<<32-1)
	long := build(l, 20_000, 0, 0, inOrder).bytes(blob.Whole)
	for name, data := range map[string][]byte{"announced": huge, "present": long} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, err := blob.Parse(l, data, blob.Whole)
		runtime.ReadMemStats(&after)
		if (err == nil) != (name == "present") {
			t.Fatalf("%s: %v", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 4096 {
			t.Errorf("%s: %d bytes allocated for %d", name, got, len(data))
		}
		runtime.KeepAlive(b)
	}
}

// FuzzParse: no bytes make the parser, or what works on its result, panic; what
// it accepts it writes again to the byte; what it refuses has a place.
func FuzzParse(f *testing.F) {
	all := names()
	for i, name := range all {
		m := build(layouts[name], 5, 0, 0, inOrder)
		f.Add(m.bytes(blob.Whole), uint8(i), false, uint16(3))
		f.Add(m.bytes(blob.Partial), uint8(i), true, uint16(5))
	}
	f.Fuzz(func(t *testing.T, data []byte, which uint8, partial bool, at uint16) {
		l, part := layouts[all[int(which)%len(all)]], blob.Whole
		if partial {
			part = blob.Partial
		}
		b, err := blob.Parse(l, data, part)
		if err != nil {
			checkError(t, err, len(data))
			return
		}
		if !bytes.Equal(b.Append(nil, part), data) || b.Size(part) != len(data) {
			t.Fatal("written differently")
		}
		n := int(at)
		if prefix, err := b.Prefix(n); err == nil {
			if err := prefix.Complete(); err != nil || prefix.End() != n {
				t.Fatalf("prefix %d: end %d, %v", n, prefix.End(), err)
			}
		}
		if b.Complete() != nil {
			return
		}
		whole, err := blob.Join(l, b)
		if err != nil || whole.Size(part) != len(data) {
			t.Fatalf("a complete state does not join: %v", err)
		}
		if trunk, err := b.Rows(0, n); err == nil && n < b.End() {
			tail, err := b.Rows(n, b.End())
			if err != nil {
				t.Fatal(err)
			}
			again, err := blob.Join(l, trunk, tail, b.State())
			if err != nil || !bytes.Equal(again.Append(nil, blob.Whole), whole.Append(nil, blob.Whole)) {
				t.Fatalf("cut at %d: %v", n, err)
			}
		}
	})
}
