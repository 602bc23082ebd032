package gguf

import (
	"errors"
	"math"
	"testing"
)

// FuzzParse: no input makes the reader panic; what it accepts is consistent
// and can be read in full; what it refuses has a place and a reason.
func FuzzParse(f *testing.F) {
	for _, build := range []func(w *Writer){
		func(w *Writer) {},
		sample,
		func(w *Writer) {
			w.Set(KeyArchitecture, "qwen35")
			w.Set(KeyAlignment, uint32(64))
			w.Set("qwen35.block_count", uint32(4))
			w.Set("qwen35.attention.recurrent_layers", []bool{true, false, true, false})
			w.Tensor("blk.0.attn_q.weight", Q4K, []uint64{256, 2}, nil)
			w.Tensor("output.weight", F16, []uint64{1, 1, 1, 3}, nil)
		},
	} {
		b := bytesOf(f, build)
		f.Add(b, uint16(0))
		f.Add(b, uint16(4096))
		f.Add(b[:len(b)/2], uint16(len(b)))
	}
	f.Fuzz(func(t *testing.T, b []byte, more uint16) {
		// The file may go on past what is at hand.
		size := uint64(len(b)) + uint64(more)
		file, err := Parse(b, size)
		if err != nil {
			var at *FormatError
			if !errors.As(err, &at) || at.Field == "" || at.Kind == nil || at.Offset > size {
				t.Fatalf("error without a place: %#v", err)
			}
			return
		}
		checkAccepted(t, file)
		if file.DataOffset <= uint64(len(b)) {
			again, err := Parse(b[:file.DataOffset], size)
			if err != nil || len(again.Tensors) != len(file.Tensors) || again.Metadata.Len() != file.Metadata.Len() {
				t.Fatalf("the header alone: %v", err)
			}
		}
	})
}

func checkAccepted(t *testing.T, f *File) {
	end := f.DataOffset
	if end > f.Size && len(f.Tensors) > 0 {
		t.Fatalf("data at %d of %d", end, f.Size)
	}
	for _, x := range f.Tensors {
		if x.Offset < end || x.Offset-end >= f.Alignment || x.Bytes > f.Size-x.Offset || len(x.Shape()) > MaxDims {
			t.Fatalf("tensor %+v after %d in a file of %d", x, end, f.Size)
		}
		end = x.Offset + x.Bytes
	}
	n := 0
	for key, v := range f.Metadata.All() {
		if got, ok := f.Metadata.Get(key); !ok || got.offset != v.offset {
			t.Fatalf("key %q cannot be found", key)
		}
		_ = v.String()
		walk(t, v)
		n++
	}
	if n != f.Metadata.Len() {
		t.Fatalf("%d keys of %d", n, f.Metadata.Len())
	}
	checkGeometry(t, f)
}

// walk reads a value in full.
func walk(t *testing.T, v Value) {
	n := 0
	for _, e := range v.Elements() {
		if e.err != nil {
			t.Fatal(e.err)
		}
		walk(t, e)
		n++
	}
	if n != v.Len() {
		t.Fatalf("%d elements of %d", n, v.Len())
	}
}

func checkGeometry(t *testing.T, f *File) {
	g, err := f.Geometry()
	var unknown *UnknownArchitectureError
	var key *KeyError
	switch {
	case err == nil:
	case errors.As(err, &unknown):
		if g == nil || len(g.Layers) != 0 {
			t.Fatalf("%v with %+v", err, g)
		}
	case !errors.As(err, &key) || g != nil || key.Key == "":
		t.Fatalf("%#v with %+v", err, g)
	default:
		return
	}
	if len(g.Layers) > MaxLayers || g.MTPLayers > len(g.Layers) {
		t.Fatalf("%d layers, %d of them MTP", len(g.Layers), g.MTPLayers)
	}
	for _, typ := range []TensorType{F16, Q8_0} {
		c, err := g.KV(typ, typ)
		if err == nil && c.Total() > math.MaxInt64/MaxLayers {
			t.Fatalf("%d bytes a token", c.Total())
		}
	}
	if g.State() > math.MaxInt64/MaxLayers {
		t.Fatalf("%d bytes of state", g.State())
	}
}

// fuzzKeys are the keys that geometry reads.
var fuzzKeys = []string{
	"context_length", "embedding_length", "block_count", "nextn_predict_layers", "feed_forward_length", "vocab_size",
	"attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length",
	"attention.key_length_swa", "attention.value_length_swa", "attention.sliding_window", "attention.sliding_window_pattern",
	"attention.recurrent_layers", "full_attention_interval", "expert_count", "expert_used_count", "expert_feed_forward_length",
	"expert_shared_feed_forward_length", "ssm.conv_kernel", "ssm.state_size", "ssm.group_count", "ssm.inner_size",
	"rope.dimension_count", "rope.dimension_sections", "rope.freq_base", "rope.scaling.type", "rope.scaling.factor",
}

var fuzzArchitectures = []string{"llama", "qwen2", "qwen35", "gemma3", "gemma2", "gpt-oss", "bert", "mamba"}

// FuzzGeometry: any values of the right keys, of any type.
func FuzzGeometry(f *testing.F) {
	f.Add(byte(0), []byte{0, 0, 1, 1, 0, 1, 2, 0, 1, 6, 0, 1})
	f.Add(byte(2), []byte{0, 0, 9, 1, 0, 9, 2, 0, 8, 6, 0, 4, 20, 0, 4, 21, 0, 32, 22, 0, 2, 23, 0, 64, 3, 0, 1})
	f.Add(byte(3), []byte{0, 0, 9, 1, 0, 9, 2, 0, 8, 6, 0, 4, 12, 0, 99, 13, 4, 8})
	f.Fuzz(func(t *testing.T, arch byte, keys []byte) {
		var w Writer
		a := fuzzArchitectures[int(arch)%len(fuzzArchitectures)]
		w.Set(KeyArchitecture, a)
		used := map[string]bool{}
		for ; len(keys) >= 3; keys = keys[3:] {
			key := a + "." + fuzzKeys[int(keys[0])%len(fuzzKeys)]
			if !used[key] {
				used[key] = true
				w.Set(key, fuzzValue(keys[1], keys[2]))
			}
		}
		b := bytesOf(t, func(out *Writer) { *out = w })
		file, err := Parse(b, uint64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		checkGeometry(t, file)
	})
}

// fuzzValue makes values small, huge, of other types, and lists.
func fuzzValue(kind, n byte) any {
	switch kind % 9 {
	case 0:
		return uint32(n)
	case 1:
		return uint32(1)<<(n%32) - uint32(n>>7)
	case 2:
		return uint64(1)<<(n%64) - uint64(n>>7)
	case 3:
		return int32(n) - 128
	case 4:
		list := make([]bool, n)
		for i := range list {
			list[i] = i%3 == 0
		}
		return list
	case 5:
		list := make([]uint32, n%16)
		for i := range list {
			list[i] = uint32(1) << (n % 32)
		}
		return list
	case 6:
		return float32(n) / 7
	case 7:
		return []string{"", "x"}
	}
	return string([]byte{n})
}

// FuzzSplitShardPath: what is taken apart can be put together.
func FuzzSplitShardPath(f *testing.F) {
	f.Add("a/b-00002-of-00010.gguf")
	f.Add("\n-00001-of-00001.gguf")
	f.Fuzz(func(t *testing.T, path string) {
		prefix, no, count, ok := SplitShardPath(path)
		if ok && (ShardPath(prefix, no, count) != path || no < 0 || no >= count) {
			t.Fatalf("%q: %q %d %d", path, prefix, no, count)
		}
	})
}
