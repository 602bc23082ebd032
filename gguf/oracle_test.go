package gguf_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	oracle "github.com/gpustack/gguf-parser-go"

	"dure/gguf"
	"dure/gguf/synth"
)

var realModels = flag.String("models", "", "comma-separated GGUF files to compare with the oracle too")

// TestOracle compares header, tensors and geometry field by field with an
// independent reader, over all synthetic models and those given by -models.
func TestOracle(t *testing.T) {
	dir := t.TempDir()
	models := map[string]string{}
	add := func(name string, w *gguf.Writer, err error) {
		if err != nil {
			t.Fatal(err)
		}
		models[name] = filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".gguf")
		if err := w.WriteFile(models[name]); err != nil {
			t.Fatal(err)
		}
	}
	build := func(name string, f func(synth.Config) (*gguf.Writer, error), c synth.Config) {
		w, err := f(c)
		add(name, w, err)
	}
	build("llama", synth.NewLlama, synth.Config{})
	build("llama q4_k_m", synth.NewLlama, synth.Config{Weights: gguf.Q4K, MoreBits: true, Embedding: 256})
	build("llama 135m", synth.NewLlama, synth.SmolShape())
	build("qwen35", synth.NewQwen35, synth.Config{})
	build("qwen35 mtp", synth.NewQwen35, synth.Config{MTP: 1, Weights: gguf.Q8_0})
	build("qwen35 120m", synth.NewQwen35, synth.HybridShape())
	build("qwen35 27b 4 bit", synth.NewQwen35, synth.Qwen27B(gguf.Q4K, 1))
	build("qwen35 27b 8 bit", synth.NewQwen35, synth.Qwen27B(gguf.Q8_0, 0))
	build("gemma3", synth.NewGemma3, synth.Config{Layers: 13})
	build("bert", synth.NewBERT, synth.Config{})
	w, err := synth.NewQwen35(synth.Config{MTP: 1})
	if err != nil {
		t.Fatal(err)
	}
	paths, err := w.WriteShards(filepath.Join(dir, "shard"), 20)
	if err != nil {
		t.Fatal(err)
	}
	models["shards"] = paths[0]
	for _, path := range strings.Split(*realModels, ",") {
		if path != "" {
			models[path] = path
		}
	}
	for name, path := range models {
		t.Run(name, func(t *testing.T) { compare(t, path) })
	}
}

func compare(t *testing.T, path string) {
	want, err := oracle.ParseGGUFFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if len(m.Files) == 1 {
		compareMetadata(t, m.Metadata(), want.Header.MetadataKV)
	}
	compareTensors(t, m, want)
	compareGeometry(t, m, want)
}

func compareMetadata(t *testing.T, md *gguf.Metadata, want oracle.GGUFMetadataKVs) {
	if md.Len() != len(want) {
		t.Errorf("%d keys, want %d", md.Len(), len(want))
	}
	for _, kv := range want {
		v, ok := md.Get(kv.Key)
		if !ok {
			t.Errorf("%s is missing", kv.Key)
			continue
		}
		if uint32(v.Type()) != uint32(kv.ValueType) {
			t.Errorf("%s: %v, want %v", kv.Key, v.Type(), kv.ValueType)
			continue
		}
		list, isList := kv.Value.(oracle.GGUFMetadataKVArrayValue)
		if !isList {
			if got := text(t, v); got != strings.TrimSpace(fmt.Sprint(kv.Value)) {
				t.Errorf("%s: %s, want %v", kv.Key, got, kv.Value)
			}
			continue
		}
		if uint32(v.Elem()) != uint32(list.Type) || v.Len() != int(list.Len) {
			t.Errorf("%s: %d %v, want %d %v", kv.Key, v.Len(), v.Elem(), list.Len, list.Type)
			continue
		}
		for i, e := range v.Elements() {
			if got := text(t, e); got != strings.TrimSpace(fmt.Sprint(list.Array[i])) {
				t.Fatalf("%s: element %d is %s, want %v", kv.Key, i, got, list.Array[i])
			}
		}
	}
}

// text is the value as fmt prints the oracle's, which trims strings.
func text(t *testing.T, v gguf.Value) string {
	if v.Type() != gguf.String {
		return v.String()
	}
	s, err := v.Text()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(s)
}

func compareTensors(t *testing.T, m *gguf.Model, want *oracle.GGUFFile) {
	i := 0
	for f, x := range m.Tensors() {
		if i == len(want.TensorInfos) {
			t.Fatal("more tensors than the oracle has")
		}
		o := want.TensorInfos[i]
		i++
		got := []any{x.Name, uint32(x.Type), x.Shape(), x.Offset - f.DataOffset, x.Elements, x.Bytes}
		if d := cmp.Diff([]any{o.Name, uint32(o.Type), o.Dimensions, o.Offset, o.Elements(), o.Bytes()}, got); d != "" {
			t.Errorf("tensor %d: %s", i-1, d)
		}
	}
	if i != len(want.TensorInfos) {
		t.Errorf("%d tensors, want %d", i, len(want.TensorInfos))
	}
	var size uint64
	for i, f := range m.Files {
		size += f.Size
		if len(m.Files) > 1 && f.DataOffset != uint64(want.SplitTensorDataStartOffsets[i]) {
			t.Errorf("file %d: data at %d, want %d", i, f.DataOffset, want.SplitTensorDataStartOffsets[i])
		}
	}
	if size != uint64(want.Size) || len(m.Files) == 1 && m.Files[0].DataOffset != uint64(want.TensorDataStartOffset) {
		t.Errorf("size %d, want %d; data at %d, want %d", size, want.Size, m.Files[0].DataOffset, want.TensorDataStartOffset)
	}
}

func compareGeometry(t *testing.T, m *gguf.Model, want *oracle.GGUFFile) {
	g, err := m.Geometry()
	if err != nil {
		t.Fatal(err)
	}
	a, tok := want.Architecture(), want.Tokenizer()
	if g.Parameters != uint64(want.ModelParameters) || g.Bytes > uint64(want.ModelSize) {
		t.Errorf("%d parameters, want %d; %d bytes of at most %d", g.Parameters, want.ModelParameters, g.Bytes, want.ModelSize)
	}
	if bits := float64(want.ModelBitsPerWeight); g.BitsPerWeight() < bits-0.1 || g.BitsPerWeight() > bits+0.1 {
		t.Errorf("%.3f bits per weight, want about %.3f", g.BitsPerWeight(), bits)
	}
	kind, _, _ := strings.Cut(g.Tokenizer, "/")
	got := []any{g.Architecture, g.TrainContext, g.Embedding, len(g.Layers), g.MTPLayers, g.Vocabulary, kind, g.Vocabulary, g.Experts.Count, g.Experts.Used}
	oracles := []any{a.Architecture, int(a.MaximumContextLength), int(a.EmbeddingLength), int(a.BlockCount), int(a.NextNPredictLayers),
		int(a.VocabularyLength), tok.Model, int(tok.TokensLength), int(a.ExpertCount), int(a.ExpertUsedCount)}
	if d := cmp.Diff(oracles, got); d != "" {
		t.Error(d)
	}
	if a.RoPEDimensionCount != 0 && int(a.RoPEDimensionCount) != g.Rope.Dims || a.RoPEFrequencyBase != 0 && float64(a.RoPEFrequencyBase) != g.Rope.Base {
		t.Errorf("rope %+v, want %d dims, base %v", g.Rope, a.RoPEDimensionCount, a.RoPEFrequencyBase)
	}
	for i, l := range g.Layers {
		recurrent := a.AttentionHybrid && a.FullAttentionInterval > 0 && (i+1)%int(a.FullAttentionInterval) != 0 && !l.MTP
		window := 0
		if i < len(a.AttentionSlidingWindowLayers) && a.AttentionSlidingWindowLayers[i] {
			window = int(a.AttentionSlidingWindow)
		}
		want := []any{recurrent, window, int(a.AttentionHeadCount), int(a.FeedForwardLength[min(i, len(a.FeedForwardLength)-1)])}
		got := []any{l.Recurrent, l.Window, l.Heads, l.FeedForward}
		if !recurrent {
			want = append(want, int(a.AttentionHeadCountKV), int(a.AttentionKeyLength), int(a.AttentionValueLength))
			got = append(got, l.KVHeads, l.KeyDim, l.ValueDim)
		} else {
			conv := (a.SSMConvolutionKernel - 1) * (a.SSMInnerSize + 2*a.SSMGroupCount*a.SSMStateSize)
			want = append(want, int(conv), int(a.SSMInnerSize*a.SSMStateSize))
			got = append(got, l.ConvState, l.DeltaState)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("layer %d: %s", i, d)
		}
	}
}
