package gguf_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dure/gguf"
	"dure/gguf/synth"
)

// header is a file with an architecture's keys and no tensors. A nil value
// leaves a key out.
func header(t testing.TB, arch string, keys map[string]any) *gguf.File {
	t.Helper()
	var w gguf.Writer
	w.Set(gguf.KeyArchitecture, arch)
	all := map[string]any{
		"context_length": uint32(4096), "embedding_length": uint32(512), "block_count": uint32(8),
		"feed_forward_length": uint32(1024), "attention.head_count": uint32(8), "attention.head_count_kv": uint32(2),
	}
	for k, v := range keys {
		all[k] = v
	}
	for k, v := range all {
		switch {
		case v == nil:
		case strings.HasPrefix(k, "general.") || strings.HasPrefix(k, "tokenizer."):
			w.Set(k, v)
		default:
			w.Set(arch+"."+k, v)
		}
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(b.Bytes(), uint64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// model builds a synthetic model in memory.
func model(t testing.TB, write func(io.Writer, synth.Config) error, c synth.Config) *gguf.File {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, c); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(b.Bytes(), uint64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func geometry(t testing.TB, f interface {
	Geometry() (*gguf.Geometry, error)
}) *gguf.Geometry {
	t.Helper()
	g, err := f.Geometry()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestQwen27B checks the figures of Qwen3.8-27B, which are known from logs of
// the engine: 16 layers hold keys and values, 64 KiB a token as f16, 34 as
// q8_0, 18 as q4_0; 149.625 MiB of state a sequence.
func TestQwen27B(t *testing.T) {
	for _, tc := range []struct {
		name           string
		weights        gguf.TensorType
		mtp            int
		tensors        int
		params, bytes  uint64
		fileType       string
		bits, fileSize float64 // bits per weight, GB
	}{
		{"4 bit", gguf.Q4K, 0, 851, 26895998464, 16536406016, "Q4_K_M", 4.92, 16.55},
		{"4 bit with MTP", gguf.Q4K, 1, 866, 27320697856, 16799719424, "Q4_K_M", 4.92, 16.81},
		{"8 bit", gguf.Q8_0, 0, 851, 26895998464, 28584769536, "Q8_0", 8.50, 28.59},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, err := synth.NewQwen35(synth.Qwen27B(tc.weights, tc.mtp))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "27b.gguf")
			if err := w.WriteFile(path); err != nil {
				t.Fatal(err)
			}
			m, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			g := geometry(t, m)
			tensors := 0
			for range m.Tensors() {
				tensors++
			}
			if tensors != tc.tensors || g.Parameters != tc.params || g.Bytes != tc.bytes || g.FileType != tc.fileType {
				t.Errorf("%d tensors, %d parameters, %d bytes, %s", tensors, g.Parameters, g.Bytes, g.FileType)
			}
			if bits := g.BitsPerWeight(); bits < tc.bits-0.01 || bits > tc.bits+0.01 {
				t.Errorf("%.3f bits per weight", bits)
			}
			if gb := float64(m.Files[0].Size) / 1e9; gb < tc.fileSize-0.01 || gb > tc.fileSize+0.01 {
				t.Errorf("file of %.3f GB", gb)
			}
			checkQwen27B(t, g, tc.mtp)
		})
	}
}

func checkQwen27B(t *testing.T, g *gguf.Geometry, mtp int) {
	t.Helper()
	for _, tc := range []struct {
		k, v       gguf.TensorType
		token, mtp uint64
	}{
		{gguf.F16, gguf.F16, 65536, 4096},
		{gguf.Q8_0, gguf.Q8_0, 34816, 2176},
		{gguf.Q8_0, gguf.Q4_0, 26624, 1664},
		{gguf.Q4_0, gguf.Q4_0, 18432, 1152},
	} {
		c, err := g.KV(tc.k, tc.v)
		if err != nil || c.Full != tc.token || c.Windowed != 0 {
			t.Errorf("KV as %v and %v: %+v, %v", tc.k, tc.v, c, err)
		}
		c, err = g.MTPKV(tc.k, tc.v)
		if err != nil || c.Total() != tc.mtp*uint64(mtp) {
			t.Errorf("MTP KV as %v and %v: %+v, %v", tc.k, tc.v, c, err)
		}
	}
	if g.State() != 156893184 || g.KVLayers() != 16 || g.RecurrentLayers() != 48 || g.Window() != 0 {
		t.Errorf("state %d, %d KV layers, %d recurrent layers, window %d", g.State(), g.KVLayers(), g.RecurrentLayers(), g.Window())
	}
	if g.Vocabulary != 248320 || g.TrainContext != 262144 || g.Embedding != 5120 || g.Tied || g.Encoder || g.MTPLayers != mtp || len(g.Layers) != 64+mtp {
		t.Errorf("%+v", *g)
	}
	for i, l := range g.Layers {
		if want := i < 64 && (i+1)%4 != 0; l.Recurrent != want || l.MTP != (i >= 64) {
			t.Errorf("layer %d: %+v", i, l)
		}
	}
	rope := gguf.Rope{Dims: 64, Base: 1e7, Scaling: "none", Factor: 1, OriginalContext: 262144, Sections: [4]int{11, 11, 10, 0}}
	if d := cmp.Diff(rope, g.Rope); d != "" {
		t.Error(d)
	}
	if g.Tokenizer != "gpt2/qwen35" {
		t.Errorf("tokenizer %s", g.Tokenizer)
	}
}

// TestSizes9B: the engine logs 50.25 MiB of state for the 9B sibling.
func TestSizes9B(t *testing.T) {
	g := geometry(t, header(t, "qwen35", map[string]any{
		"block_count": uint32(32), "embedding_length": uint32(4096), "attention.head_count": uint32(16), "attention.head_count_kv": uint32(4),
		"attention.key_length": uint32(256), "attention.value_length": uint32(256), "ssm.conv_kernel": uint32(4),
		"ssm.state_size": uint32(128), "ssm.group_count": uint32(16), "ssm.time_step_rank": uint32(32), "ssm.inner_size": uint32(4096),
	}))
	if g.State() != 50.25*(1<<20) {
		t.Errorf("state %.3f MiB", float64(g.State())/(1<<20))
	}
}

// layers is a list of n equal layers.
func layers(n int, l gguf.Layer) []gguf.Layer {
	list := make([]gguf.Layer, n)
	for i := range list {
		list[i] = l
	}
	return list
}

func TestArchitectures(t *testing.T) {
	plain := gguf.Layer{Heads: 8, KVHeads: 2, KeyDim: 64, ValueDim: 64, FeedForward: 1024}
	windowed := plain
	windowed.Window = 512
	pattern := func(list string) []gguf.Layer {
		var out []gguf.Layer
		for _, c := range list {
			if c == 'w' {
				out = append(out, windowed)
			} else {
				out = append(out, plain)
			}
		}
		return out
	}
	wide := plain
	wide.KeyDim, wide.ValueDim = 128, 128
	perHead := plain
	perHead.KVHeads = 8
	narrow := windowed
	narrow.KeyDim, narrow.ValueDim = 32, 16
	mtp := plain
	mtp.MTP = true
	for _, tc := range []struct {
		name, arch string
		keys       map[string]any
		want       []gguf.Layer
		full, part uint64 // KV bytes of a token as f16
	}{
		{"llama", "llama", nil, layers(8, plain), 8 * 512, 0},
		{"llama without head_count_kv", "llama", map[string]any{"attention.head_count_kv": nil}, layers(8, perHead), 8 * 2048, 0},
		{"qwen2", "qwen2", nil, layers(8, plain), 8 * 512, 0},
		{"qwen3 with wide heads", "qwen3", map[string]any{"attention.key_length": uint32(128), "attention.value_length": uint32(128)}, layers(8, wide), 8 * 1024, 0},
		{"qwen3 with MTP", "qwen3", map[string]any{"nextn_predict_layers": uint32(1)}, append(layers(7, plain), mtp), 7 * 512, 0},
		{"phi3 ignores its window", "phi3", map[string]any{"attention.sliding_window": uint32(512)}, layers(8, plain), 8 * 512, 0},
		{"gemma3", "gemma3", map[string]any{"attention.sliding_window": uint32(512)}, pattern("wwwwwfww"), 512, 7 * 512},
		{"gemma3 with a period", "gemma3", map[string]any{"attention.sliding_window": uint32(512), "attention.sliding_window_pattern": uint32(2)}, pattern("wfwfwfwf"), 4 * 512, 4 * 512},
		{"gemma3 with a list", "gemma3", map[string]any{"attention.sliding_window": uint32(512), "attention.sliding_window_pattern": []bool{false, true, false, false, true, false, false, false}}, pattern("fwffwfff"), 6 * 512, 2 * 512},
		{"gemma3 all windowed", "gemma3", map[string]any{"attention.sliding_window": uint32(512), "attention.sliding_window_pattern": uint32(0)}, pattern("wwwwwwww"), 0, 8 * 512},
		{"gemma3 with narrow windowed heads", "gemma3", map[string]any{
			"attention.sliding_window": uint32(512), "attention.key_length_swa": uint32(32), "attention.value_length_swa": uint32(16), "attention.sliding_window_pattern": uint32(8),
		}, append(layers(7, narrow), plain), 512, 7 * 2 * 48 * 2},
		{"gemma3 without a window", "gemma3", nil, pattern("ffffffff"), 8 * 512, 0},
		{"gemma2", "gemma2", map[string]any{"attention.sliding_window": uint32(512)}, pattern("wfwfwfwf"), 4 * 512, 4 * 512},
		{"gpt-oss", "gpt-oss", map[string]any{"attention.sliding_window": uint32(512)}, pattern("wfwfwfwf"), 4 * 512, 4 * 512},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := geometry(t, header(t, tc.arch, tc.keys))
			if d := cmp.Diff(tc.want, g.Layers); d != "" {
				t.Error(d)
			}
			c, err := g.KV(gguf.F16, gguf.F16)
			if err != nil || c.Full != tc.full || c.Windowed != tc.part || c.Total() != tc.full+tc.part {
				t.Errorf("KV %+v, %v; want %d and %d", c, err, tc.full, tc.part)
			}
			if g.State() != 0 || g.KVLayers() != len(tc.want)-g.MTPLayers {
				t.Errorf("state %d, %d KV layers", g.State(), g.KVLayers())
			}
		})
	}
}

// delta are the keys of a small gated delta network.
func delta(more map[string]any) map[string]any {
	keys := map[string]any{
		"ssm.conv_kernel": uint32(4), "ssm.state_size": uint32(32), "ssm.group_count": uint32(2),
		"ssm.time_step_rank": uint32(4), "ssm.inner_size": uint32(128),
	}
	for k, v := range more {
		keys[k] = v
	}
	return keys
}

func TestHybrids(t *testing.T) {
	for _, tc := range []struct {
		name, arch string
		keys       map[string]any
		want       string // r recurrent, a attention, m MTP
	}{
		{"qwen35", "qwen35", delta(nil), "rrrarrra"},
		{"qwen35 with MTP", "qwen35", delta(map[string]any{"block_count": uint32(9), "nextn_predict_layers": uint32(1)}), "rrrarrram"},
		{"qwen35 with an interval", "qwen35", delta(map[string]any{"full_attention_interval": uint32(2)}), "rararara"},
		{"qwen35moe with a list", "qwen35moe", delta(map[string]any{"attention.recurrent_layers": []bool{true, false, false, true, true, false, false, false}}), "raarraaa"},
		{"a list cannot make MTP recurrent", "qwen35", delta(map[string]any{
			"nextn_predict_layers": uint32(1), "attention.recurrent_layers": []uint32{1, 1, 1, 1, 1, 1, 1, 1}}), "rrrrrrrm"},
		{"qwen3next", "qwen3next", delta(nil), "rrrarrra"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := geometry(t, header(t, tc.arch, tc.keys))
			got := ""
			var state uint64
			for _, l := range g.Layers {
				switch {
				case l.MTP:
					got += "m"
				case l.Recurrent:
					got += "r"
					state += 4 * (3*(128+2*2*32) + 32*128)
					if l.KVHeads != 0 || l.ConvState != 3*256 || l.DeltaState != 4096 {
						t.Errorf("recurrent layer %+v", l)
					}
				default:
					got += "a"
				}
				if !l.Recurrent && (l.KVHeads != 2 || l.ConvState+l.DeltaState != 0) {
					t.Errorf("attention layer %+v", l)
				}
			}
			if got != tc.want || g.State() != state {
				t.Errorf("%s, want %s; state %d, want %d", got, tc.want, g.State(), state)
			}
			if g.KVLayers() != strings.Count(tc.want, "a") {
				t.Errorf("%d KV layers", g.KVLayers())
			}
		})
	}
}

// TestSynthetic: the geometry of every synthetic model against what was asked.
func TestSynthetic(t *testing.T) {
	t.Run("llama", func(t *testing.T) {
		g := geometry(t, model(t, synth.Llama, synth.Config{Weights: gguf.Q8_0, Tied: true}))
		want := layers(2, gguf.Layer{Heads: 4, KVHeads: 2, KeyDim: 32, ValueDim: 32, FeedForward: 256})
		// Two norms of 128 F32 and seven matrices at 34 bytes for 32 weights.
		weights := uint64(128*128*2 + 128*64*2 + 128*256*3)
		for i := range want {
			want[i].Bytes = 2*128*4 + weights/32*34
		}
		if d := cmp.Diff(want, g.Layers); d != "" {
			t.Error(d)
		}
		embedding := uint64(128 * 512)
		wantTypes := []gguf.TypeShare{
			{Type: gguf.Q8_0, Tensors: 15, Parameters: 2*weights + embedding, Bytes: (2*weights + embedding) / 32 * 34},
			{Type: gguf.F32, Tensors: 5, Parameters: 5 * 128, Bytes: 5 * 512},
		}
		if d := cmp.Diff(wantTypes, g.Types); d != "" {
			t.Error(d)
		}
		wantKinds := []gguf.KindShare{
			{Kind: gguf.KindEmbedding, Tensors: 1, Bytes: embedding / 32 * 34},
			{Kind: gguf.KindAttention, Tensors: 8, Bytes: 2 * (128*128*2 + 128*64*2) / 32 * 34},
			{Kind: gguf.KindFeedForward, Tensors: 6, Bytes: 2 * 128 * 256 * 3 / 32 * 34},
			{Kind: gguf.KindNorm, Tensors: 5, Bytes: 5 * 512},
		}
		if d := cmp.Diff(wantKinds, g.Kinds); d != "" {
			t.Error(d)
		}
		if !g.Tied || g.Vocabulary != 512 || g.Tokenizer != "gpt2/smollm" || g.FileType != "Q8_0" || g.Name != "synth-llama" {
			t.Errorf("%+v", *g)
		}
	})
	t.Run("qwen35 with MTP", func(t *testing.T) {
		g := geometry(t, model(t, synth.Qwen35, synth.Config{MTP: 1}))
		if g.KVLayers() != 1 || g.RecurrentLayers() != 3 || g.MTPLayers != 1 || g.Tied || g.State() != 3*4*(3*256+32*128) {
			t.Errorf("%+v", *g)
		}
		kinds := map[gguf.Kind]int{}
		var bytes uint64
		for _, k := range g.Kinds {
			kinds[k.Kind] = k.Tensors
			bytes += k.Bytes
		}
		want := map[gguf.Kind]int{"embedding": 1, "attention": 4, "recurrent": 24, "feedforward": 12, "mtp": 15, "output": 1, "norm": 14}
		if d := cmp.Diff(want, kinds); d != "" || bytes != g.Bytes {
			t.Errorf("%s bytes %d of %d", d, bytes, g.Bytes)
		}
	})
	t.Run("gemma3", func(t *testing.T) {
		g := geometry(t, model(t, synth.Gemma3, synth.Config{}))
		c, err := g.KV(gguf.F16, gguf.F16)
		if err != nil || c.Windowed != 5*256 || c.Full != 256 || g.Window() != 64 || g.Tokenizer != "llama/default" {
			t.Errorf("KV %+v, %v, window %d", c, err, g.Window())
		}
	})
	t.Run("bert", func(t *testing.T) {
		g := geometry(t, model(t, synth.BERT, synth.Config{}))
		c, err := g.KV(gguf.F16, gguf.F16)
		if err != nil || c.Total() != 0 || g.KVLayers() != 0 || !g.Encoder || g.Tied || len(g.Layers) != 2 || g.Tokenizer != "bert" {
			t.Errorf("KV %+v, %v; %+v", c, err, *g)
		}
	})
}

func TestExperts(t *testing.T) {
	g := geometry(t, header(t, "qwen3moe", map[string]any{
		"expert_count": uint32(128), "expert_used_count": uint32(8), "expert_feed_forward_length": uint32(768),
		"expert_shared_feed_forward_length": uint32(256),
	}))
	if want := (gguf.Experts{Count: 128, Used: 8, FeedForward: 768, SharedFeedForward: 256}); g.Experts != want {
		t.Errorf("%+v", g.Experts)
	}
}

func TestRope(t *testing.T) {
	g := geometry(t, header(t, "qwen2", map[string]any{
		"rope.scaling.type": "yarn", "rope.scaling.factor": float32(4), "rope.scaling.original_context_length": uint32(1024),
		"rope.freq_base": float32(1e6), "rope.dimension_count": uint32(32),
	}))
	if want := (gguf.Rope{Dims: 32, Base: 1e6, Scaling: "yarn", Factor: 4, OriginalContext: 1024}); g.Rope != want {
		t.Errorf("%+v", g.Rope)
	}
}

// TestUnknownArchitecture: named as such, with what holds for all.
func TestUnknownArchitecture(t *testing.T) {
	f := header(t, "mamba9", map[string]any{"tokenizer.ggml.tokens": []string{"a", "b"}, "block_count": uint32(1 << 31)})
	g, err := f.Geometry()
	var unknown *gguf.UnknownArchitectureError
	if !errors.As(err, &unknown) || unknown.Architecture != "mamba9" || !strings.Contains(err.Error(), `"mamba9"`) {
		t.Fatalf("error %v", err)
	}
	if g == nil || g.Vocabulary != 2 || g.TrainContext != 4096 || g.Embedding != 512 || len(g.Layers) != 0 {
		t.Errorf("%+v", g)
	}
}

func TestGeometryRefusals(t *testing.T) {
	for _, tc := range []struct {
		name, arch string
		keys       map[string]any
		key        string
		kind       error
		text       string
	}{
		{"no context", "llama", map[string]any{"context_length": nil}, "llama.context_length", gguf.ErrMissingKey, ""},
		{"no embedding", "llama", map[string]any{"embedding_length": nil}, "llama.embedding_length", gguf.ErrMissingKey, ""},
		{"no blocks", "llama", map[string]any{"block_count": nil}, "llama.block_count", gguf.ErrMissingKey, ""},
		{"no heads", "llama", map[string]any{"attention.head_count": nil}, "llama.attention.head_count", gguf.ErrMissingKey, ""},
		{"zero blocks", "llama", map[string]any{"block_count": uint32(0)}, "llama.block_count", nil, "must not be 0"},
		{"too many blocks", "llama", map[string]any{"block_count": uint32(513)}, "llama.block_count", nil, "at most 512"},
		{"huge block count", "llama", map[string]any{"block_count": uint64(1 << 63)}, "llama.block_count", nil, "too large"},
		{"blocks as text", "llama", map[string]any{"block_count": "8"}, "llama.block_count", gguf.ErrType, "is string"},
		{"more MTP than blocks", "qwen3", map[string]any{"nextn_predict_layers": uint32(9)}, "qwen3.nextn_predict_layers", nil, "9 of 8"},
		{"short list", "llama", map[string]any{"attention.head_count_kv": []uint32{1, 2}}, "llama.attention.head_count_kv", nil, "2 elements, must be 8"},
		{"list of text", "llama", map[string]any{"attention.head_count": []string{"", "", "", "", "", "", "", ""}}, "llama.attention.head_count", gguf.ErrType, "element 0"},
		{"huge heads", "llama", map[string]any{"attention.head_count_kv": uint32(1 << 31)}, "llama.attention.head_count_kv", nil, "too large"},
		{"part of a head rotated", "llama", map[string]any{"rope.dimension_count": uint32(32)}, "llama.rope.dimension_count", nil, "head width 64"},
		{"more experts used than there are", "qwen3moe", map[string]any{"expert_count": uint32(4), "expert_used_count": uint32(5)}, "qwen3moe.expert_used_count", nil, "5 of 4"},
		{"experts unused", "qwen3moe", map[string]any{"expert_count": uint32(4)}, "qwen3moe.expert_used_count", nil, "0 of 4"},
		{"no state size", "qwen35", delta(map[string]any{"ssm.state_size": nil}), "qwen35.ssm.state_size", gguf.ErrMissingKey, ""},
		{"kernel of 0", "qwen35", delta(map[string]any{"ssm.conv_kernel": uint32(0)}), "qwen35.ssm.conv_kernel", nil, "must not be 0"},
		{"huge state", "qwen35", delta(map[string]any{"ssm.inner_size": uint32(1 << 30), "ssm.state_size": uint32(1 << 30)}), "qwen35.ssm.inner_size", nil, "too large"},
		{"interval of 0", "qwen35", delta(map[string]any{"full_attention_interval": uint32(0)}), "qwen35.full_attention_interval", nil, "must not be 0"},
		{"window that no layer has", "gemma3", map[string]any{"attention.sliding_window": uint32(512), "attention.sliding_window_pattern": uint32(1)}, "gemma3.attention.sliding_window_pattern", nil, "aborts the engine"},
		{"no window", "gpt-oss", nil, "gpt-oss.attention.sliding_window", gguf.ErrMissingKey, ""},
		{"long window list", "gemma3", map[string]any{"attention.sliding_window": uint32(512), "attention.sliding_window_pattern": make([]bool, 513)}, "gemma3.attention.sliding_window_pattern", nil, "at most 512"},
		{"scaling as a number", "llama", map[string]any{"rope.scaling.type": uint32(1)}, "llama.rope.scaling.type", gguf.ErrType, "is uint32"},
		{"name as a number", "llama", map[string]any{"general.name": uint32(1)}, "general.name", gguf.ErrType, "is uint32"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, err := header(t, tc.arch, tc.keys).Geometry()
			var at *gguf.KeyError
			if g != nil || !errors.As(err, &at) {
				t.Fatalf("geometry %+v, error %v", g, err)
			}
			if at.Key != tc.key || tc.kind != nil && !errors.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %v, want key %s, kind %v, %q", err, tc.key, tc.kind, tc.text)
			}
			if missing := errors.Is(err, gguf.ErrMissingKey); missing != (at.Offset == 0) && tc.name != "experts unused" {
				t.Errorf("offset %d of %v", at.Offset, err)
			}
		})
	}
	var w gguf.Writer
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(b.Bytes(), uint64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Geometry(); !errors.Is(err, gguf.ErrMissingKey) || !strings.Contains(err.Error(), gguf.KeyArchitecture) {
		t.Errorf("error %v", err)
	}
}

// TestCacheTypes: a type whose blocks do not divide a head is refused, as the
// engine does.
func TestCacheTypes(t *testing.T) {
	g := geometry(t, header(t, "llama", map[string]any{
		"attention.key_length": uint32(80), "attention.value_length": uint32(64), "rope.dimension_count": uint32(80),
	}))
	if _, err := g.KV(gguf.Q8_0, gguf.F16); err == nil || !strings.Contains(err.Error(), "do not divide a head of 80") {
		t.Errorf("error %v", err)
	}
	if c, err := g.KV(gguf.F16, gguf.Q8_0); err != nil || c.Full != 8*2*(160+68) {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := g.KV(gguf.F16, gguf.TensorType(99)); err == nil {
		t.Error("unknown type accepted")
	}
}
