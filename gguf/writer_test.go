package gguf

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// constant is tensor data of n equal bytes.
func constant(n int, b byte) Data {
	return func(w io.Writer) error {
		_, err := w.Write(bytes.Repeat([]byte{b}, n))
		return err
	}
}

// TestWriterBytes pins the layout byte by byte, from the specification.
func TestWriterBytes(t *testing.T) {
	var w Writer
	w.Set("a", uint16(0x1234))
	w.Set("b", []string{"x", ""})
	w.Set("c", []bool{true, false})
	w.Tensor("t", F32, []uint64{2}, constant(8, 0xaa))
	var got bytes.Buffer
	if _, err := w.WriteTo(&got); err != nil {
		t.Fatal(err)
	}
	head := "GGUF" + "\x03\x00\x00\x00" +
		"\x01\x00\x00\x00\x00\x00\x00\x00" + "\x03\x00\x00\x00\x00\x00\x00\x00" +
		"\x01\x00\x00\x00\x00\x00\x00\x00a" + "\x02\x00\x00\x00" + "\x34\x12" +
		"\x01\x00\x00\x00\x00\x00\x00\x00b" + "\x09\x00\x00\x00" + "\x08\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00" +
		"\x01\x00\x00\x00\x00\x00\x00\x00x" + "\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x01\x00\x00\x00\x00\x00\x00\x00c" + "\x09\x00\x00\x00" + "\x07\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00" + "\x01\x00" +
		"\x01\x00\x00\x00\x00\x00\x00\x00t" + "\x01\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00"
	head += strings.Repeat("\x00", (32-len(head)%32)%32)
	want := head + strings.Repeat("\xaa", 8) + strings.Repeat("\x00", 24)
	if got.String() != want {
		t.Errorf("got\n%q\nwant\n%q", got.String(), want)
	}
}

// TestWriterRefusals: each step must make WriteTo fail with a word that names
// the cause.
func TestWriterRefusals(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		build      func(w *Writer)
	}{
		{"empty key", "empty key", func(w *Writer) { w.Set("", 1) }},
		{"duplicate key", `duplicate key "k"`, func(w *Writer) { w.Set("k", "1"); w.Set("k", "2") }},
		{"Go int has no stored type", "int", func(w *Writer) { w.Set("k", 1) }},
		{"alignment not a power of two", "power of two", func(w *Writer) { w.Set(KeyAlignment, uint32(48)) }},
		{"alignment of another type", "power of two", func(w *Writer) { w.Set(KeyAlignment, uint64(64)) }},
		{"alignment too late", "before the first tensor", func(w *Writer) {
			w.Tensor("t", F32, []uint64{1}, nil)
			w.Set(KeyAlignment, uint32(64))
		}},
		{"unknown type", "type 4", func(w *Writer) { w.Tensor("t", 4, []uint64{1}, nil) }},
		{"no shape", "0 dimensions", func(w *Writer) { w.Tensor("t", F32, nil, nil) }},
		{"five dimensions", "5 dimensions", func(w *Writer) { w.Tensor("t", F32, []uint64{1, 1, 1, 1, 1}, nil) }},
		{"too many elements", "too many", func(w *Writer) { w.Tensor("t", F32, []uint64{1 << 32, 1 << 32}, nil) }},
		{"too many bytes", "too many", func(w *Writer) { w.Tensor("t", F64, []uint64{1 << 61}, nil) }},
		{"part of a block", "multiple of the 32", func(w *Writer) { w.Tensor("t", Q8_0, []uint64{33}, nil) }},
		{"long name", "1 to 63", func(w *Writer) { w.Tensor(strings.Repeat("n", 64), F32, []uint64{1}, nil) }},
		{"no name", "1 to 63", func(w *Writer) { w.Tensor("", F32, []uint64{1}, nil) }},
		{"duplicate name", "duplicate name", func(w *Writer) {
			w.Tensor("t", F32, []uint64{1}, nil)
			w.Tensor("t", F32, []uint64{1}, nil)
		}},
		{"short data", "data has 3 bytes", func(w *Writer) { w.Tensor("t", F32, []uint64{1}, constant(3, 0)) }},
		{"long data", "data has 5 bytes", func(w *Writer) { w.Tensor("t", F32, []uint64{1}, constant(5, 0)) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var w Writer
			tc.build(&w)
			_, err := w.WriteTo(io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
		})
	}
}

// TestWriteFileHoles: a file with holes reads the same as the stream, and a
// hole at the end counts in the size.
func TestWriteFileHoles(t *testing.T) {
	var w Writer
	w.Set(KeyAlignment, uint32(64))
	w.Tensor("hole", F32, []uint64{1 << 20}, nil)
	w.Tensor("data", F16, []uint64{3}, constant(6, 7))
	w.Tensor("end", F32, []uint64{1 << 20}, nil)
	var stream bytes.Buffer
	n, err := w.WriteTo(&stream)
	if err != nil || n != int64(stream.Len()) {
		t.Fatalf("WriteTo: %d bytes of %d, error %v", n, stream.Len(), err)
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	// A longer file that is already there must not shine through.
	if err := os.WriteFile(path, bytes.Repeat([]byte{0xff}, 10<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, stream.Bytes()) {
		t.Errorf("file of %d bytes differs from stream of %d", len(file), stream.Len())
	}
}
