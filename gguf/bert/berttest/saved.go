// Package berttest writes tiny BERT models in the form that sentence-transformers saves
// them. Only tests import it.
package berttest

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing/fstest"
)

// Shape of the model that Saved writes.
const (
	Width, Inner, Context, Heads, Layers, Vocabulary = 32, 64, 16, 4, 2, 9
)

// Saved is the folder of a model.
func Saved() fstest.MapFS {
	return fstest.MapFS{
		"config.json": &fstest.MapFile{Data: fmt.Appendf(nil, `{"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute",
			"hidden_size": %d, "intermediate_size": %d, "max_position_embeddings": %d, "num_attention_heads": %d,
			"num_hidden_layers": %d, "type_vocab_size": 2, "vocab_size": %d, "layer_norm_eps": 1e-12}`, Width, Inner, Context, Heads, Layers, Vocabulary)},
		"1_Pooling/config.json": &fstest.MapFile{Data: []byte(`{"word_embedding_dimension": 32, "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true}`)},
		"tokenizer.json": &fstest.MapFile{Data: []byte(`{"normalizer": {"type": "BertNormalizer", "lowercase": true, "handle_chinese_chars": true, "strip_accents": null},
			"model": {"type": "WordPiece", "continuing_subword_prefix": "##",
			"vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "a": 5, "##a": 6, "hello": 7, "##s": 8}},
			"added_tokens": [{"id": 0, "content": "[PAD]", "special": true}, {"id": 1, "content": "[UNK]", "special": true}, {"id": 2, "content": "[CLS]", "special": true},
			{"id": 3, "content": "[SEP]", "special": true}, {"id": 4, "content": "[MASK]", "special": true}]}`)},
		"model.safetensors": &fstest.MapFile{Data: Weights(Tensors())},
	}
}

// Tensors are the names and shapes of all weights.
func Tensors() map[string][]int {
	all := map[string][]int{
		"embeddings.word_embeddings.weight": {Vocabulary, Width}, "embeddings.position_embeddings.weight": {Context, Width},
		"embeddings.token_type_embeddings.weight": {2, Width}, "embeddings.LayerNorm.weight": {Width}, "embeddings.LayerNorm.bias": {Width},
		"pooler.dense.weight": {Width, Width}, "pooler.dense.bias": {Width},
	}
	for l := range Layers {
		for name, shape := range map[string][2]int{
			"attention.self.query": {Width, Width}, "attention.self.key": {Width, Width}, "attention.self.value": {Width, Width},
			"attention.output.dense": {Width, Width}, "intermediate.dense": {Inner, Width}, "output.dense": {Width, Inner},
		} {
			p := fmt.Sprintf("encoder.layer.%d.%s", l, name)
			all[p+".weight"], all[p+".bias"] = shape[:], shape[:1]
		}
		for _, name := range []string{"attention.output.LayerNorm", "output.LayerNorm"} {
			p := fmt.Sprintf("encoder.layer.%d.%s", l, name)
			all[p+".weight"], all[p+".bias"] = []int{Width}, []int{Width}
		}
	}
	return all
}

// Value is element i of a tensor: small, exact in F16, and another for each name.
func Value(name string, i int) float32 {
	return float32((i*37+len(name)*11+int(name[len(name)-8]))%257-128) / 256
}

// Weights writes a safetensors file.
func Weights(tensors map[string][]int) []byte {
	header, data := map[string]any{"__metadata__": map[string]string{"format": "pt"}}, []byte{}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		from, n := len(data), 1
		for _, d := range tensors[name] {
			n *= d
		}
		for i := range n {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(Value(name, i)))
		}
		header[name] = map[string]any{"dtype": "F32", "shape": tensors[name], "data_offsets": []int{from, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		panic(err) // it is made of strings and numbers
	}
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, data)
}

// Zip packs a folder.
func Zip(folder fstest.MapFS) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(folder)) {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write(folder[name].Data)
		}
		if err != nil {
			panic(err) // it is written to memory
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}
