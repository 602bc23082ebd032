package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// bytesOf emits what build adds.
func bytesOf(t testing.TB, build func(w *Writer)) []byte {
	t.Helper()
	var w Writer
	build(&w)
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sample has a value of every type, strings, nested lengths and two tensors.
func sample(w *Writer) {
	w.Set("u8", uint8(200))
	w.Set("i8", int8(-5))
	w.Set("u16", uint16(60000))
	w.Set("i16", int16(-300))
	w.Set("u32", uint32(4e9))
	w.Set("i32", int32(-2e9))
	w.Set("f32", float32(0.5))
	w.Set("bool", true)
	w.Set("string", "héllo")
	w.Set("u64", uint64(math.MaxUint64))
	w.Set("i64", int64(math.MinInt64))
	w.Set("f64", math.Pi)
	w.Set("strings", []string{"a", "", "ccc"})
	w.Set("floats", []float32{1, -2})
	w.Set("bools", []bool{true, false, true})
	w.Set("none", []int16{})
	w.Tensor("a.weight", Q8_0, []uint64{32, 3}, constant(102, 1))
	w.Tensor("b.weight", F32, []uint64{2, 1, 2, 1}, constant(16, 2))
}

// decode reads a value back into the Go type that Writer.Set takes.
func decode(t testing.TB, v Value) any {
	t.Helper()
	var out any
	var err error
	switch v.Type() {
	case String:
		out, err = v.Text()
	case Bool:
		out, err = v.Bool()
	case Float32, Float64:
		out, err = v.Float()
	case Uint8, Uint16, Uint32, Uint64:
		out, err = v.Uint()
	case Array:
		list := []any{v.Elem().String()}
		for i, e := range v.Elements() {
			if i != len(list)-1 {
				t.Fatalf("element %d comes as number %d", len(list)-1, i)
			}
			list = append(list, decode(t, e))
		}
		if len(list)-1 != v.Len() {
			t.Fatalf("%d elements of %d", len(list)-1, v.Len())
		}
		out = list
	default:
		out, err = v.Int()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReadAllTypes(t *testing.T) {
	for version, name := range map[uint32]string{2: "version 2", 3: "version 3"} {
		t.Run(name, func(t *testing.T) {
			b := bytesOf(t, sample)
			le.PutUint32(b[4:], version)
			f, err := Parse(b, uint64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			for k, v := range f.Metadata.All() {
				got[k] = decode(t, v)
			}
			want := map[string]any{
				"u8": uint64(200), "i8": int64(-5), "u16": uint64(60000), "i16": int64(-300), "u32": uint64(4e9), "i32": int64(-2e9),
				"f32": 0.5, "bool": true, "string": "héllo", "u64": uint64(math.MaxUint64), "i64": int64(math.MinInt64), "f64": math.Pi,
				"strings": []any{"string", "a", "", "ccc"}, "floats": []any{"float32", 1.0, -2.0},
				"bools": []any{"bool", true, false, true}, "none": []any{"int16"},
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if f.Version != version || f.Size != uint64(len(b)) || f.Alignment != 32 || f.Metadata.Len() != len(want) {
				t.Errorf("version %d, size %d, alignment %d, %d keys", f.Version, f.Size, f.Alignment, f.Metadata.Len())
			}
			checkSampleTensors(t, f, b)
		})
	}
}

func checkSampleTensors(t *testing.T, f *File, b []byte) {
	t.Helper()
	if len(f.Tensors) != 2 {
		t.Fatalf("%d tensors", len(f.Tensors))
	}
	for i, want := range []struct {
		name            string
		typ             TensorType
		shape           []uint64
		elements, bytes uint64
		fill            byte
	}{
		{"a.weight", Q8_0, []uint64{32, 3}, 96, 102, 1},
		{"b.weight", F32, []uint64{2, 1, 2, 1}, 4, 16, 2},
	} {
		x := f.Tensors[i]
		if x.Name != want.name || x.Type != want.typ || x.Elements != want.elements || x.Bytes != want.bytes || !cmp.Equal(x.Shape(), want.shape) {
			t.Errorf("tensor %d: %+v", i, x)
		}
		data := b[x.Offset : x.Offset+x.Bytes]
		if !bytes.Equal(data, bytes.Repeat([]byte{want.fill}, len(data))) {
			t.Errorf("tensor %d: data at %d is %x", i, x.Offset, data)
		}
	}
}

// TestNestedArrays: the specification allows them although the engine has none.
func TestNestedArrays(t *testing.T) {
	b := bytesOf(t, func(w *Writer) { w.Set("k", []uint8{0}) })
	var nested []byte
	nested = le.AppendUint32(nested, uint32(Array))
	nested = le.AppendUint64(nested, 2)
	for _, s := range []string{"x", "yz"} {
		nested = le.AppendUint32(nested, uint32(String))
		nested = le.AppendUint64(nested, 1)
		nested = appendString(nested, s)
	}
	b = append(b[:len(b)-13], nested...) // element type, length and one byte
	f, err := Parse(b, uint64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	v, _ := f.Metadata.Get("k")
	want := []any{"array", []any{"string", "x"}, []any{"string", "yz"}}
	if d := cmp.Diff(any(want), decode(t, v)); d != "" {
		t.Error(d)
	}
	if got := v.String(); got != `[["x"], ["yz"]]` {
		t.Errorf("printed as %s", got)
	}
	deep := bytesOf(t, func(w *Writer) { w.Set("k", []uint8{0}) })
	deep = deep[:len(deep)-13]
	for range 6 {
		deep = le.AppendUint32(deep, uint32(Array))
		deep = le.AppendUint64(deep, 1)
	}
	deep = append(deep, make([]byte, 64)...)
	wantFormat(t, deep, ErrMalformed, "nest deeper than 4")
}

// TestWrongType: a value is never converted in silence.
func TestWrongType(t *testing.T) {
	b := bytesOf(t, sample)
	f, err := Parse(b, uint64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	get := func(key string) Value {
		v, ok := f.Metadata.Get(key)
		if !ok {
			t.Fatalf("no key %s", key)
		}
		return v
	}
	for name, read := range map[string]func() error{
		"string as integer":   func() error { _, err := get("string").Int(); return err },
		"string as unsigned":  func() error { _, err := get("string").Uint(); return err },
		"array as integer":    func() error { _, err := get("floats").Int(); return err },
		"bool as integer":     func() error { _, err := get("bool").Int(); return err },
		"float as integer":    func() error { _, err := get("f32").Int(); return err },
		"negative unsigned":   func() error { _, err := get("i8").Uint(); return err },
		"too large signed":    func() error { _, err := get("u64").Int(); return err },
		"integer as float":    func() error { _, err := get("u8").Float(); return err },
		"integer as bool":     func() error { _, err := get("u8").Bool(); return err },
		"integer as string":   func() error { _, err := get("u8").Text(); return err },
		"array as string":     func() error { _, err := get("strings").Text(); return err },
		"elements of a float": func() error { return elementsOf(get("f32")) },
	} {
		if err := read(); !errors.Is(err, ErrType) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := (Value{}).Int(); err == nil {
		t.Error("a value that is not there has no error")
	}
}

func elementsOf(v Value) error {
	for range v.Elements() {
		return nil
	}
	return ErrType
}

// wantFormat parses b and expects a FormatError of a kind with a text.
func wantFormat(t *testing.T, b []byte, kind error, text string) *FormatError {
	t.Helper()
	_, err := Parse(b, uint64(len(b)))
	var at *FormatError
	if !errors.As(err, &at) {
		t.Fatalf("error %v, want a FormatError", err)
	}
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Fatalf("error %q, want %q with %q", err, kind, text)
	}
	return at
}

// TestHostile patches a good file at known offsets. at is where the error must
// point.
func TestHostile(t *testing.T) {
	// Layout: 24 header, then "k" uint32 at 24 (8 length, 1 key, 4 type, 4
	// value), "s" string at 41 (8+1+4, length 54, 3 bytes), "l" strings at 65
	// (8+1+4, element type 78, count 82, lengths 90 and 99), "t" at 108 (length
	// 108, name 116, dimensions 117, shape 121, type 129, offset 133), "u" at 141.
	build := func(w *Writer) {
		w.Set("k", uint32(7))
		w.Set("s", "abc")
		w.Set("l", []string{"x", "y"})
		w.Tensor("t", F32, []uint64{8}, nil)
		w.Tensor("u", F32, []uint64{8}, nil)
	}
	u32 := func(n uint32) []byte { return le.AppendUint32(nil, n) }
	u64 := func(n uint64) []byte { return le.AppendUint64(nil, n) }
	for _, tc := range []struct {
		name  string
		patch int
		bytes []byte
		kind  error
		at    uint64
		text  string
	}{
		{"magic", 0, []byte("GGUE"), ErrNotGGUF, 0, `starts with "GGUE"`},
		{"old format", 0, []byte("tjgg"), ErrNotGGUF, 0, "GGJT"},
		{"web page", 0, []byte("<!DO"), ErrNotGGUF, 0, "web page"},
		{"pointer", 0, []byte("version https://git-lfs.github.com"), ErrNotGGUF, 0, "git lfs pull"},
		{"big-endian", 4, []byte{0, 0, 0, 3}, ErrBigEndian, 4, "big-endian"},
		{"version 0", 4, u32(0), ErrVersion, 4, "version: unsupported GGUF version: 0"},
		{"version 1", 4, u32(1), ErrVersion, 4, "can read 2 to 3"},
		{"version 4", 4, u32(4), ErrVersion, 4, "can read 2 to 3"},
		{"tensor count", 8, u64(1 << 60), ErrTruncated, 8, "tensor count"},
		{"metadata count", 16, u64(math.MaxUint64), ErrTruncated, 16, "metadata count"},
		{"one tensor too many", 8, u64(3), ErrMalformed, 174, "tensor 2 name: malformed GGUF file: empty"},
		{"key length", 24, u64(1 << 40), ErrMalformed, 24, "at most 65535"},
		{"key past the end", 24, u64(60000), ErrTruncated, 24, "metadata 0 key"},
		{"empty key", 24, u64(0), ErrMalformed, 24, "metadata 0 key: malformed GGUF file: empty"},
		{"value type", 33, u32(13), ErrMalformed, 33, `metadata 0 ("k") type: malformed GGUF file: unknown type 13`},
		{"duplicate key", 49, []byte("k"), ErrMalformed, 41, `"k" is also key 0`},
		{"string length", 54, u64(math.MaxUint64), ErrTruncated, 54, `metadata 1 ("s") value`},
		{"element type", 78, u32(99), ErrMalformed, 78, "element type: malformed GGUF file: unknown type 99"},
		{"array length", 82, u64(1 << 61), ErrTruncated, 82, `metadata 2 ("l") length`},
		{"string in array", 90, u64(1 << 50), ErrTruncated, 90, `metadata 2 ("l") value`},
		{"tensor name length", 108, u64(64), ErrMalformed, 108, "at most 63"},
		{"duplicate tensor", 149, []byte("t"), ErrMalformed, 141, `"t" is also tensor 0`},
		{"dimensions", 117, u32(5), ErrMalformed, 117, "5, at most 4"},
		{"negative dimension", 121, u64(1 << 63), ErrMalformed, 121, "dimension 0"},
		{"huge dimension", 121, u64(1 << 62), ErrMalformed, 129, "too many bytes"},
		{"tensor type", 129, u32(43), ErrMalformed, 129, "unknown type 43"},
		{"removed tensor type", 129, u32(4), ErrMalformed, 129, "unknown type 4"},
		{"part of a block", 129, u32(8), ErrMalformed, 129, "multiple of the 32"},
		{"first offset", 133, u64(32), ErrMalformed, 133, "must go on at 0"},
		{"overlap", 166, u64(0), ErrMalformed, 166, "lies within the tensor before it"},
		{"misaligned", 166, u64(33), ErrMalformed, 166, "must go on at 32"},
		{"gap", 166, u64(64), ErrMalformed, 166, "must go on at 32"},
		{"offset past the end", 166, u64(1 << 60), ErrMalformed, 166, "must go on at 32"},
		{"data past the end", 154, u64(9), ErrTruncated, 166, `tensor 1 ("u") data`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := bytesOf(t, build)
			if len(b) != 256 {
				t.Fatalf("layout changed: %d bytes", len(b))
			}
			copy(b[tc.patch:], tc.bytes)
			if at := wantFormat(t, b, tc.kind, tc.text); at.Offset != tc.at {
				t.Errorf("%v: offset %d, want %d", at, at.Offset, tc.at)
			}
		})
	}
}

func TestHugeSize(t *testing.T) {
	b := bytesOf(t, sample)
	if _, err := Parse(b, math.MaxUint64); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "file size") {
		t.Errorf("error %v", err)
	}
	if _, err := Parse(b, math.MaxInt64); err != nil {
		t.Errorf("error %v", err)
	}
}

func TestHostileAlignment(t *testing.T) {
	for _, tc := range []struct {
		value any
		text  string
	}{
		{uint32(0), "0 is not a power of two"}, {uint32(48), "48 is not a power of two"}, {uint64(64), "is uint64, must be uint32"}, {"64", "is string"},
	} {
		b := bytesOf(t, func(w *Writer) { w.Set("general.alignmenT", tc.value) })
		b[24+8+len(KeyAlignment)-1] = 't' // a key that Writer would refuse
		if at := wantFormat(t, b, ErrMalformed, tc.text); at.Offset != uint64(24+8+len(KeyAlignment)+4) {
			t.Errorf("%v: offset %d", tc.value, at.Offset)
		}
	}
	b := bytesOf(t, func(w *Writer) {
		w.Set(KeyAlignment, uint32(4096))
		w.Tensor("t", F32, []uint64{1}, constant(4, 9))
		w.Tensor("u", F32, []uint64{1}, constant(4, 8))
	})
	f, err := Parse(b, uint64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if f.DataOffset != 4096 || f.Tensors[1].Offset != 8192 || b[8192] != 8 {
		t.Errorf("data at %d, second tensor at %d", f.DataOffset, f.Tensors[1].Offset)
	}
}

// TestTruncation cuts a file at every length: as a whole file it is truncated,
// as the start of the file it is incomplete or, with all of the header, good.
func TestTruncation(t *testing.T) {
	b := bytesOf(t, sample)
	whole, err := Parse(b, uint64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	last := whole.Tensors[1]
	header := int(whole.DataOffset) - 32 // padding needs not be there
	for n := range len(b) {
		_, err := Parse(b[:n], uint64(n))
		var at *FormatError
		switch {
		case n >= int(last.Offset+last.Bytes):
			if err != nil {
				t.Errorf("cut at %d within the last padding: %v", n, err)
			}
		case !errors.Is(err, ErrTruncated) || !errors.As(err, &at) || at.Offset > uint64(n) || at.Field == "":
			t.Errorf("cut at %d: %v", n, err)
		}
		_, err = Parse(b[:n], uint64(len(b)))
		if incomplete := errors.Is(err, ErrHeaderIncomplete); incomplete != (err != nil) || n < header && err == nil {
			t.Errorf("first %d bytes: %v", n, err)
		}
		if n >= int(whole.DataOffset) && err != nil {
			t.Errorf("first %d bytes hold the header: %v", n, err)
		}
	}
}

// TestHeaderLimit: a hole in a sparse file must not keep the reader busy.
func TestHeaderLimit(t *testing.T) {
	b := bytesOf(t, func(w *Writer) { w.Set("k", []string{}) })
	le.PutUint64(b[len(b)-8:], 1<<32) // empty strings, all zeros
	path := filepath.Join(t.TempDir(), "hole.gguf")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<36); err != nil {
		t.Skip("the file system has no large sparse files:", err)
	}
	_, err := OpenFile(path)
	if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "headers over") || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
}

// TestAllocation: what the reader allocates is bounded by what the file holds,
// whatever it announces.
func TestAllocation(t *testing.T) {
	parse := func(b []byte) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := Parse(b, uint64(len(b)))
		runtime.ReadMemStats(&after)
		if f != nil && err != nil {
			t.Error("file and error")
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	b := bytesOf(t, sample)
	limit := func(n int) uint64 { return 64<<10 + 64*uint64(n) }
	for off := 8; off < len(b); off++ {
		for _, v := range []uint64{math.MaxUint64, 1 << 62, 1 << 40, 1 << 31, uint64(len(b))} {
			bad := append([]byte(nil), b...)
			copy(bad[off:], le.AppendUint64(nil, v))
			if n := parse(bad); n > limit(len(b)) {
				t.Fatalf("%d at offset %d: %d bytes allocated for a file of %d", v, off, n, len(b))
			}
		}
	}
	// The densest entries that a file can hold.
	many := bytesOf(t, func(w *Writer) {
		for i := range 20000 {
			w.Set(fmt.Sprint(i), uint8(0))
		}
		for i := range 20000 {
			w.Tensor(fmt.Sprint(i), I8, []uint64{0}, nil)
		}
	})
	if n := parse(many); n > limit(len(many)) {
		t.Errorf("%d bytes allocated for a file of %d", n, len(many))
	}
}

// TestVocabularyIsNotCopied: opening costs the same for any vocabulary.
func TestVocabularyIsNotCopied(t *testing.T) {
	cost := func(n int) (float64, uint64) {
		tokens := make([]string, n)
		for i := range tokens {
			tokens[i] = strings.Repeat("x", 20)
		}
		b := bytesOf(t, func(w *Writer) { w.Set("tokenizer.ggml.tokens", tokens) })
		run := func() {
			if _, err := Parse(b, uint64(len(b))); err != nil {
				t.Fatal(err)
			}
		}
		allocs := testing.AllocsPerRun(10, run)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run()
		runtime.ReadMemStats(&after)
		return allocs, after.TotalAlloc - before.TotalAlloc
	}
	fewAllocs, few := cost(10)
	manyAllocs, many := cost(250000)
	if manyAllocs != fewAllocs || many > few+4096 {
		t.Errorf("10 tokens: %v allocations, %d bytes; 250000 tokens: %v, %d", fewAllocs, few, manyAllocs, many)
	}
}

// TestRoundTrip: any metadata and tensors come back as they went in.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfDistinct(rapid.StringN(1, 20, -1), func(s string) string { return s }).Draw(t, "keys")
		names := rapid.SliceOfDistinct(rapid.StringMatching(`[a-z.0-9]{1,63}`), func(s string) string { return s }).Draw(t, "names")
		values := make([]any, len(keys))
		var w Writer
		align := uint32(1) << rapid.IntRange(0, 12).Draw(t, "alignment")
		w.Set(KeyAlignment, align)
		for i, k := range keys {
			values[i] = anyValue.Draw(t, "value")
			w.Set(k, values[i])
		}
		tensors := make([]Tensor, len(names))
		for i, n := range names {
			typ := rapid.SampledFrom([]TensorType{F32, F16, Q4_0, Q8_0, I64, Q6K}).Draw(t, "type")
			shape := rapid.SliceOfN(rapid.Uint64Range(0, 3), 1, 4).Draw(t, "shape")
			shape[0] *= typ.BlockSize()
			elements, size, err := tensorBytes(typ, shape)
			if err != nil {
				t.Fatal(err)
			}
			tensors[i] = Tensor{Name: n, Type: typ, Elements: elements, Bytes: size, nDims: len(shape)}
			copy(tensors[i].dims[:], shape)
			w.Tensor(n, typ, shape, constant(int(size), byte(i)))
		}
		var b bytes.Buffer
		if _, err := w.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		checkRoundTrip(t, b.Bytes(), keys, values, tensors, uint64(align))
	})
}

func checkRoundTrip(t *rapid.T, b []byte, keys []string, values []any, tensors []Tensor, align uint64) {
	f, err := Parse(b, uint64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range keys {
		v, ok := f.Metadata.Get(k)
		if !ok {
			t.Fatalf("key %q is gone", k)
		}
		// The bytes in the file are the value's, from its type on.
		want := appendValue(nil, values[i])[4:]
		if got := b[v.offset : v.offset+uint64(len(want))]; !bytes.Equal(got, want) {
			t.Fatalf("key %q: %x, want %x", k, got, want)
		}
	}
	for i, want := range tensors {
		got := f.Tensors[i]
		data := b[got.Offset : got.Offset+got.Bytes]
		if got.Offset%align != 0 || !bytes.Equal(data, bytes.Repeat([]byte{byte(i)}, len(data))) {
			t.Fatalf("tensor %d at %d: %x", i, got.Offset, data)
		}
		want.Offset = got.Offset
		if got != want {
			t.Fatalf("tensor %d: %+v, want %+v", i, got, want)
		}
	}
}

// anyValue draws a value that Writer.Set takes.
var anyValue = rapid.OneOf(
	rapid.Uint8().AsAny(), rapid.Int8().AsAny(), rapid.Uint16().AsAny(), rapid.Int16().AsAny(),
	rapid.Uint32().AsAny(), rapid.Int32().AsAny(), rapid.Uint64().AsAny(), rapid.Int64().AsAny(),
	rapid.Float32().AsAny(), rapid.Float64().AsAny(), rapid.Bool().AsAny(), rapid.String().AsAny(),
	rapid.SliceOf(rapid.String()).AsAny(), rapid.SliceOf(rapid.Bool()).AsAny(), rapid.SliceOf(rapid.Int32()).AsAny(),
	rapid.SliceOf(rapid.Float64()).AsAny(), rapid.SliceOf(rapid.Uint8()).AsAny(),
)

// TestFileCutWhileMapped: a file that another process cuts short gives an
// error, not a crash, and a closed file too.
func TestFileCutWhileMapped(t *testing.T) {
	tokens := make([]string, 10000)
	b := bytesOf(t, func(w *Writer) {
		w.Set("first", uint32(1))
		w.Set("tokens", tokens)
		w.Set("last", "text")
	})
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last, _ := f.Metadata.Get("last")
	list, _ := f.Metadata.Get("tokens")
	if s, err := last.Text(); s != "text" || err != nil {
		t.Fatalf("before: %q, %v", s, err)
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := last.Text(); !errors.Is(err, ErrChanged) {
		t.Errorf("text of a cut file: %v", err)
	}
	count := 0
	var lastErr error
	for _, e := range list.Elements() {
		count++
		_, lastErr = e.Text()
	}
	if !errors.Is(lastErr, ErrChanged) || count == len(tokens) {
		t.Errorf("list of a cut file: %d of %d elements, then %v", count, len(tokens), lastErr)
	}
	if s := last.String(); !strings.Contains(s, "cut short") {
		t.Errorf("printed as %s", s)
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	if _, err := last.Text(); err == nil {
		t.Error("text of a closed file")
	}
}

func TestOpenRefusals(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.gguf")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe.gguf") // nobody writes into it
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		filepath.Join(dir, "none.gguf"): os.ErrNotExist,
		empty:                           ErrTruncated,
		dir:                             nil,
		pipe:                            nil,
	} {
		_, err := Open(path)
		if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want %v", path, err, want)
		}
	}
}

func TestValueString(t *testing.T) {
	b := bytesOf(t, func(w *Writer) {
		sample(w)
		w.Set("long", strings.Repeat("ab", 40))
		w.Set("list", []int32{1, 2, 3, 4, 5, 6})
	})
	f, err := Parse(b, uint64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"u64": "18446744073709551615", "i8": "-5", "f32": "0.5", "bool": "true", "string": `"héllo"`, "none": "[]",
		"strings": `["a", "", "ccc"]`, "list": "[1, 2, 3, 4, ... (6 int32)]", "long": `"` + strings.Repeat("ab", 30) + `"... (80 bytes)`,
	} {
		v, _ := f.Metadata.Get(key)
		if v.String() != want {
			t.Errorf("%s: %s, want %s", key, v, want)
		}
	}
}
