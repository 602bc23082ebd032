package bert_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"dure/gguf"
	"dure/gguf/bert"
	"dure/gguf/bert/berttest"
)

func convert(t testing.TB, folder fstest.MapFS) (*gguf.File, []byte) {
	t.Helper()
	w, err := bert.Convert(folder, "tiny")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(b.Bytes(), uint64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f, b.Bytes()
}

func TestConvert(t *testing.T) {
	f, data := convert(t, berttest.Saved())
	for key, want := range map[string]string{
		"general.architecture": "bert", "general.name": "tiny", "bert.context_length": "16", "bert.embedding_length": "32", "bert.feed_forward_length": "64",
		"bert.block_count": "2", "bert.attention.head_count": "4", "bert.attention.causal": "false", "bert.pooling_type": "1",
		"tokenizer.ggml.model": "bert", "tokenizer.ggml.bos_token_id": "2", "tokenizer.ggml.seperator_token_id": "3", "tokenizer.ggml.unknown_token_id": "1",
		"tokenizer.ggml.token_type_count": "2",
	} {
		if v, ok := f.Metadata.Get(key); !ok || v.String() != want && v.String() != `"`+want+`"` {
			t.Errorf("%s is %s, want %s", key, v, want)
		}
	}
	v, _ := f.Metadata.Get("tokenizer.ggml.tokens")
	var tokens []string
	for _, e := range v.Elements() {
		s, _ := e.Text()
		tokens = append(tokens, s)
	}
	if got := strings.Join(tokens, " "); got != "[PAD] [UNK] [CLS] [SEP] [MASK] \u2581a a \u2581hello s" {
		t.Errorf("tokens %s", got)
	}
	from := map[string]string{"token_embd.weight": "embeddings.word_embeddings.weight", "position_embd.weight": "embeddings.position_embeddings.weight",
		"blk.1.attn_output_norm.bias": "encoder.layer.1.attention.output.LayerNorm.bias", "blk.0.ffn_up.weight": "encoder.layer.0.intermediate.dense.weight",
		"blk.1.layer_output_norm.weight": "encoder.layer.1.output.LayerNorm.weight", "blk.0.attn_v.bias": "encoder.layer.0.attention.self.value.bias"}
	if len(f.Tensors) != len(berttest.Tensors())-2 { // without the pooler
		t.Errorf("%d tensors", len(f.Tensors))
	}
	found := 0
	for _, x := range f.Tensors {
		name, ok := from[x.Name]
		if !ok {
			continue
		}
		found++
		shape := berttest.Tensors()[name]
		if got := x.Shape(); len(got) != len(shape) || int(got[0]) != shape[len(shape)-1] {
			t.Errorf("%s has shape %v, was %v", x.Name, got, shape)
		}
		for i := range int(x.Elements) {
			want := berttest.Value(name, i)
			if x.Type == gguf.F32 {
				if got := math.Float32frombits(binary.LittleEndian.Uint32(data[int(x.Offset)+4*i:])); got != want {
					t.Fatalf("%s[%d] is %v, want %v", x.Name, i, got, want)
				}
			} else if got := binary.LittleEndian.Uint16(data[int(x.Offset)+2*i:]); x.Type != gguf.F16 || got != gguf.Float16(want) {
				t.Fatalf("%s[%d] of %v is %#x, want %v", x.Name, i, x.Type, got, want)
			}
		}
	}
	if found != len(from) {
		t.Errorf("%d of %d tensors found", found, len(from))
	}
	if _, again := convert(t, berttest.Saved()); !bytes.Equal(data, again) {
		t.Error("a second conversion has other bytes")
	}
	if _, err := f.Geometry(); err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	text := func(file, old, now string) func(fstest.MapFS) {
		return func(m fstest.MapFS) {
			s := strings.Replace(string(m[file].Data), old, now, 1)
			if s == string(m[file].Data) {
				t.Fatalf("%s has no %s", file, old)
			}
			m[file].Data = []byte(s)
		}
	}
	weights := func(change func(map[string][]int)) func(fstest.MapFS) {
		return func(m fstest.MapFS) {
			all := berttest.Tensors()
			change(all)
			m["model.safetensors"].Data = berttest.Weights(all)
		}
	}
	for name, c := range map[string]struct {
		change func(fstest.MapFS)
		want   string
	}{
		"no config":        {func(m fstest.MapFS) { delete(m, "config.json") }, "config.json"},
		"another model":    {text("config.json", `"bert"`, `"mpnet"`), `"mpnet"`},
		"relu":             {text("config.json", `"gelu"`, `"relu"`), `"relu"`},
		"other positions":  {text("config.json", `"absolute"`, `"relative_key"`), "relative_key"},
		"odd heads":        {text("config.json", `"num_attention_heads": 4`, `"num_attention_heads": 5`), "no shape"},
		"max pooling":      {text("1_Pooling/config.json", `"pooling_mode_mean_tokens"`, `"pooling_mode_max_tokens"`), "max_tokens"},
		"two poolings":     {text("1_Pooling/config.json", "false", "true"), "cls_token pooling_mode_mean"},
		"BPE":              {text("tokenizer.json", "WordPiece", "BPE"), "WordPiece"},
		"cased":            {text("tokenizer.json", `"lowercase": true`, `"lowercase": false`), "lower-case"},
		"accents kept":     {text("tokenizer.json", "null", "false"), "lower-case"},
		"token twice":      {text("tokenizer.json", `"##s": 8`, `"##s": 7`), "number 7"},
		"token missing":    {text("tokenizer.json", `, "##s": 8`, ""), "no token 8"},
		"token beyond":     {text("tokenizer.json", `"##s": 8`, `"##s": 9`), "number 9"},
		"no mask":          {text("tokenizer.json", `"content": "[MASK]"`, `"content": "[MUSK]"`), "[MASK]"},
		"unknown tensor":   {weights(func(m map[string][]int) { m["encoder.layer.0.output.gate.weight"] = []int{1} }), "output.gate"},
		"layer in words":   {weights(func(m map[string][]int) { m["encoder.layer.x.output.dense.weight"] = []int{1} }), "layer.x"},
		"table in a layer": {weights(func(m map[string][]int) { m["encoder.layer.0.embeddings.LayerNorm.weight"] = []int{1} }), "layer.0.embeddings"},
		"three dimensions": {weights(func(m map[string][]int) { m["embeddings.LayerNorm.bias"] = []int{2, 4, 4} }), "[2 4 4]"},
		"cut short":        {func(m fstest.MapFS) { w := m["model.safetensors"]; w.Data = w.Data[:len(w.Data)-1] }, "bytes"},
		"no weights":       {func(m fstest.MapFS) { m["model.safetensors"].Data = nil }, "no safetensors"},
		"long header":      {func(m fstest.MapFS) { m["model.safetensors"].Data[6] = 1 }, "header of"},
		"halves":           {text("model.safetensors", `"F32"`, `"F16"`), "cannot be converted"},
	} {
		folder := berttest.Saved()
		c.change(folder)
		if _, err := bert.Convert(folder, "tiny"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v does not say %q", name, err, c.want)
		}
	}
}

func FuzzWeights(f *testing.F) {
	f.Add(berttest.Weights(map[string][]int{"embeddings.LayerNorm.bias": {2}}))
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Add([]byte("\x60\x00\x00\x00\x00\x00\x00\x00" + `{"embeddings.LayerNorm.bias":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		folder := berttest.Saved()
		folder["model.safetensors"].Data = data
		w, err := bert.Convert(folder, "tiny")
		if err != nil {
			return
		}
		var b bytes.Buffer
		if _, err := w.WriteTo(&b); err != nil {
			return
		}
		if _, err := gguf.Parse(b.Bytes(), uint64(b.Len())); err != nil {
			t.Errorf("what was converted cannot be read: %v", err)
		}
	})
}
