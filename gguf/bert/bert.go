package bert

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"dure/gguf"
)

// config is what matters of config.json.
type config struct {
	Type       string  `json:"model_type"`
	Activation string  `json:"hidden_act"`
	Positions  string  `json:"position_embedding_type"`
	Width      int     `json:"hidden_size"`
	Inner      int     `json:"intermediate_size"`
	Context    int     `json:"max_position_embeddings"`
	Heads      int     `json:"num_attention_heads"`
	Layers     int     `json:"num_hidden_layers"`
	Segments   int     `json:"type_vocab_size"`
	Vocabulary int     `json:"vocab_size"`
	Epsilon    float32 `json:"layer_norm_eps"`
}

// mostBytes bounds the file of weights, which is held in memory.
const mostBytes = 2 << 30

// Convert makes a GGUF file of the model in folder. name is stored as its name.
func Convert(folder fs.FS, name string) (*gguf.Writer, error) {
	w, err := convert(folder, name)
	if err != nil {
		return nil, fmt.Errorf("convert BERT %s: %w", name, err)
	}
	return w, nil
}

func convert(folder fs.FS, name string) (*gguf.Writer, error) {
	var c config
	if err := readJSON(folder, "config.json", &c); err != nil {
		return nil, err
	}
	if c.Type != "bert" || c.Activation != "gelu" || cmp.Or(c.Positions, "absolute") != "absolute" {
		return nil, fmt.Errorf("config.json: model type %q, activation %q, positions %q; only bert, gelu, absolute can be converted", c.Type, c.Activation, c.Positions)
	}
	if c.Layers < 1 || c.Heads < 1 || c.Width < 1 || c.Context < 1 || c.Vocabulary < 1 || c.Width%c.Heads != 0 {
		return nil, fmt.Errorf("config.json: %+v is no shape of a model", c)
	}
	pooling, err := poolingOf(folder)
	if err != nil {
		return nil, err
	}
	w := new(gguf.Writer)
	w.Set(gguf.KeyArchitecture, "bert")
	w.Set("general.type", "model")
	w.Set(gguf.KeyName, name)
	w.Set(gguf.KeyFileType, uint32(1)) // mostly F16
	for key, value := range ordered(map[string]any{
		"vocab_size": uint32(c.Vocabulary), "context_length": uint32(c.Context), "embedding_length": uint32(c.Width),
		"feed_forward_length": uint32(c.Inner), "block_count": uint32(c.Layers), "attention.head_count": uint32(c.Heads),
		"attention.layer_norm_epsilon": c.Epsilon, "attention.causal": false, "pooling_type": pooling,
	}) {
		w.Set("bert."+key, value)
	}
	if err := storeTokenizer(w, folder, c); err != nil {
		return nil, err
	}
	return w, storeWeights(w, folder)
}

// ordered yields a map by its keys.
func ordered(m map[string]any) func(func(string, any) bool) {
	return func(yield func(string, any) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// poolingOf is the number that the format has for what 1_Pooling says.
func poolingOf(folder fs.FS) (uint32, error) {
	var modes map[string]any
	if err := readJSON(folder, "1_Pooling/config.json", &modes); err != nil {
		return 0, err
	}
	var on []string
	for mode, value := range ordered(modes) {
		if value == true && strings.HasPrefix(mode, "pooling_mode_") {
			on = append(on, mode)
		}
	}
	switch {
	case slices.Equal(on, []string{"pooling_mode_mean_tokens"}):
		return 1, nil
	case slices.Equal(on, []string{"pooling_mode_cls_token"}):
		return 2, nil
	}
	return 0, fmt.Errorf("1_Pooling/config.json: pooling by %v, only by the mean or by the first token can be converted", on)
}

// names of tensors outside of layers and, behind the layer's number, in them.
var names = map[string]string{
	"embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
	"embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
	"attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
	"attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
	"intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
}

// unused tensors serve other tasks.
var unused = []string{"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"}

// rename is the name in GGUF of a tensor; false where it is not known.
func rename(name string) (string, bool) {
	base, kind := name, ""
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		base, kind = name[:i], name[i:]
	}
	if kind != ".weight" && kind != ".bias" {
		return "", false
	}
	prefix := ""
	if rest, ok := strings.CutPrefix(base, "encoder.layer."); ok {
		number, inner, _ := strings.Cut(rest, ".")
		if n, err := strconv.Atoi(number); err != nil || strconv.Itoa(n) != number {
			return "", false
		}
		prefix, base = "blk."+number+".", inner
	}
	to, known := names[base]
	return prefix + to + kind, known && (prefix == "") == strings.HasPrefix(base, "embeddings.")
}

// storeWeights adds all tensors. That none is missing the engine sees.
func storeWeights(w *gguf.Writer, folder fs.FS) error {
	file, err := readFile(folder, "model.safetensors", mostBytes)
	if err != nil {
		return err
	}
	all, err := arrays(file)
	if err != nil {
		return fmt.Errorf("model.safetensors: %w", err)
	}
	renamed := map[string]array{}
	for name, a := range all {
		if slices.Contains(unused, strings.TrimPrefix(name, "bert.")) {
			continue
		}
		to, known := rename(strings.TrimPrefix(name, "bert."))
		if !known || a.data == nil || len(a.shape) < 1 || len(a.shape) > 2 {
			return fmt.Errorf("model.safetensors: tensor %s, of shape %v, cannot be converted", name, a.shape)
		}
		renamed[to] = a
	}
	// Tables come last: a matrix there would be outside of what stays mapped where a CPU
	// packs matrices, and the file's size not what is counted.
	for _, to := range slices.Sorted(maps.Keys(renamed)) {
		a := renamed[to]
		shape := slices.Clone(a.shape)
		slices.Reverse(shape) // the contiguous one comes first
		if len(shape) == 2 && to != "position_embd.weight" && to != "token_types.weight" {
			w.Tensor(to, gguf.F16, shape, halves(a.data))
			continue
		}
		w.Tensor(to, gguf.F32, shape, func(out io.Writer) error { _, err := out.Write(a.data); return err })
	}
	return nil
}

// halves writes F32 values as F16.
func halves(data []byte) gguf.Data {
	return func(out io.Writer) error {
		var b []byte
		for i := 0; i < len(data); i += 4 {
			b = binary.LittleEndian.AppendUint16(b, gguf.Float16(math.Float32frombits(binary.LittleEndian.Uint32(data[i:]))))
			if len(b) >= 64<<10 || i+4 == len(data) {
				if _, err := out.Write(b); err != nil {
					return err
				}
				b = b[:0]
			}
		}
		return nil
	}
}

func readFile(folder fs.FS, name string, most int64) ([]byte, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("more than %d bytes", most)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

func readJSON(folder fs.FS, name string, into any) error {
	data, err := readFile(folder, name, 64<<20)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
