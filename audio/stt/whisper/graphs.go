package whisper

import (
	"fmt"
	"strings"

	"dure/audio/onnx/graph"
)

// dims are a model's, read from its weights.
type dims struct {
	mels, width, heads, inner      int64
	audioPlaces, textPlaces, words int64
	encoderLayers, decoderLayers   int
	audioPositions, textPositions  []float32 // places x width
}

// builder writes the two graphs of a model.
type builder struct {
	weights map[string]tensor
	d       dims
	g       graph.Graph
	err     error
	n       int // of values made so far
}

func newBuilder(weights map[string]tensor) (*builder, error) {
	b := &builder{weights: weights}
	shape := func(name string, rank int) []int64 {
		t, ok := weights[name]
		if !ok || len(t.shape) != rank {
			b.fail(fmt.Errorf("%s has the shape %v, want one of %d dimensions", name, t.shape, rank))
			return make([]int64, rank)
		}
		return t.shape
	}
	conv := shape("encoder/conv1/weight", 3)
	words := shape("decoder/embeddings/weight", 2)
	audio := shape("encoder/position_encodings/encodings", 2)
	text := shape("decoder/position_encodings/encodings", 2)
	heads := weights["encoder/num_heads"]
	if len(heads.raw) < 1 || heads.raw[0] == 0 {
		b.fail(fmt.Errorf("encoder/num_heads is missing"))
		heads.raw = []byte{1}
	}
	b.d = dims{mels: conv[1], width: conv[0], heads: int64(heads.raw[0]), audioPlaces: audio[0], textPlaces: text[0], words: words[0],
		encoderLayers: layers(weights, "encoder"), decoderLayers: layers(weights, "decoder")}
	if b.d.width <= 0 || b.d.width%b.d.heads != 0 || words[1] != b.d.width || audio[1] != b.d.width || text[1] != b.d.width ||
		b.d.mels < 1 || b.d.mels > 256 || b.d.audioPlaces != melMax/2 || b.d.encoderLayers == 0 || b.d.decoderLayers == 0 {
		b.fail(fmt.Errorf("the shapes %v, %v, %v and %v do not belong to one Whisper model", conv, words, audio, text))
	}
	if b.err == nil {
		b.d.audioPositions, b.err = weights["encoder/position_encodings/encodings"].floats()
	}
	if b.err == nil {
		b.d.textPositions, b.err = weights["decoder/position_encodings/encodings"].floats()
	}
	return b, b.err
}

// layers counts the layers of a side.
func layers(weights map[string]tensor, side string) int {
	n := 0
	for {
		if _, ok := weights[fmt.Sprintf("%s/layer_%d/self_attention/linear_0/weight", side, n)]; !ok {
			return n
		}
		n++
	}
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// weight adds a variable and returns the name of its float32 value in the graph. The
// runtime converts half precision when it loads the model.
func (b *builder) weight(name string) string {
	t, ok := b.weights[name]
	if !ok {
		b.fail(fmt.Errorf("variable %s is missing", name))
		return name
	}
	if err := t.check(); err != nil {
		b.fail(fmt.Errorf("variable %s: %w", name, err))
		return name
	}
	if t.kind == kindFloat32 {
		return b.g.Weight(name, graph.Float32, t.shape, t.raw)
	}
	return b.one("", "Cast", []string{b.g.Weight(name, graph.Float16, t.shape, t.raw)}, graph.Int("to", graph.Float32))
}

// begin starts a graph of the variables of one side.
func (b *builder) begin(side string) {
	b.g, b.n = graph.Graph{}, 0
	n := 0
	for name, t := range b.weights {
		if strings.HasPrefix(name, side) {
			n += len(t.raw) + 256
		}
	}
	b.g.Grow(n)
}

// one adds a node with one output and returns that value's name.
func (b *builder) one(domain, op string, inputs []string, attributes ...graph.Attribute) string {
	b.n++
	out := fmt.Sprintf("v%d", b.n)
	b.g.Node(domain, op, inputs, []string{out}, attributes...)
	return out
}

// linear is x times a weight that lies as output by input, and its bias.
func (b *builder) linear(x, name string) string {
	y := b.one(graph.Runtime, "FusedMatMul", []string{x, b.weight(name + "/weight")}, graph.Int("transB", 1))
	if _, ok := b.weights[name+"/bias"]; !ok {
		return y
	}
	return b.one("", "Add", []string{y, b.weight(name + "/bias")})
}

func (b *builder) normal(x, name string) string {
	return b.one("", "LayerNormalization", []string{x, b.weight(name + "/gamma"), b.weight(name + "/beta")}, graph.Float("epsilon", 1e-5))
}

func (b *builder) gelu(x string) string { return b.one("", "Gelu", []string{x}) }

func (b *builder) add(x, y string) string { return b.one("", "Add", []string{x, y}) }

// split cuts the last axis into n equal parts.
func (b *builder) split(x string, n int) []string {
	parts := make([]string, n)
	for i := range parts {
		b.n++
		parts[i] = fmt.Sprintf("v%d", b.n)
	}
	b.g.Node("", "Split", []string{x}, parts, graph.Int("axis", -1), graph.Int("num_outputs", int64(n)))
	return parts
}

// feed is the two-layer part that ends every layer.
func (b *builder) feed(x, layer string) string {
	h := b.normal(x, layer+"/ffn/layer_norm")
	h = b.gelu(b.linear(h, layer+"/ffn/linear_0"))
	return b.add(x, b.linear(h, layer+"/ffn/linear_1"))
}

// kv are the names and the shape of the keys and values of the decoder's layers.
func (b *builder) kv(prefix, places string) (names []string, shape []graph.Dim) {
	for i := range b.d.decoderLayers {
		names = append(names, fmt.Sprintf("%sk%d", prefix, i), fmt.Sprintf("%sv%d", prefix, i))
	}
	return names, []graph.Dim{graph.Fixed(1), graph.Fixed(b.d.heads), graph.Named(places), graph.Fixed(b.d.width / b.d.heads)}
}

// encoder is the graph from a spectrogram and the positions to the keys and values that
// every layer of the decoder looks up.
func (b *builder) encoder() ([]byte, error) {
	b.begin("encoder/")
	d := b.d
	b.g.Input("mel", graph.Float32, graph.Fixed(1), graph.Fixed(d.mels), graph.Named("frames"))
	b.g.Input("positions", graph.Float32, graph.Fixed(1), graph.Named("places"), graph.Fixed(d.width))
	conv := func(x, name string, stride int64) string {
		return b.gelu(b.one("", "Conv", []string{x, b.weight(name + "/weight"), b.weight(name + "/bias")},
			graph.IntList("kernel_shape", 3), graph.IntList("pads", 1, 1), graph.IntList("strides", stride)))
	}
	x := conv(conv("mel", "encoder/conv1", 1), "encoder/conv2", 2)
	x = b.add(b.one("", "Transpose", []string{x}, graph.IntList("perm", 0, 2, 1)), "positions")
	for i := range d.encoderLayers {
		layer := fmt.Sprintf("encoder/layer_%d", i)
		qkv := b.split(b.linear(b.normal(x, layer+"/self_attention/layer_norm"), layer+"/self_attention/linear_0"), 3)
		a := b.one(graph.Runtime, "MultiHeadAttention", qkv, graph.Int("num_heads", d.heads))
		x = b.feed(b.add(x, b.linear(a, layer+"/self_attention/linear_1")), layer)
	}
	x = b.normal(x, "encoder/layer_norm")
	heads := b.g.Ints("heads", 0, 0, d.heads, d.width/d.heads)
	names, shape := b.kv("c", "places")
	for i := range d.decoderLayers {
		pair := b.split(b.linear(x, fmt.Sprintf("decoder/layer_%d/attention/linear_1", i)), 2)
		for j, value := range pair {
			rows := b.one("", "Reshape", []string{value, heads})
			b.g.Node("", "Transpose", []string{rows}, []string{names[2*i+j]}, graph.IntList("perm", 0, 2, 1, 3))
			b.g.Output(names[2*i+j], graph.Float32, shape...)
		}
	}
	return b.g.Model(), b.err
}

// decoder is the graph from words and what came before to the scores of the next word.
func (b *builder) decoder() ([]byte, error) {
	b.begin("decoder/")
	d := b.d
	b.g.Input("words", graph.Int64, graph.Fixed(1), graph.Named("new"))
	b.g.Input("positions", graph.Float32, graph.Fixed(1), graph.Named("new"), graph.Fixed(d.width))
	past, pastShape := b.kv("s", "past")
	cross, crossShape := b.kv("c", "places")
	now, nowShape := b.kv("n", "now")
	for i := range past {
		b.g.Input(past[i], graph.Float32, pastShape...)
	}
	for i := range cross {
		b.g.Input(cross[i], graph.Float32, crossShape...)
	}
	table := b.weight("decoder/embeddings/weight")
	x := b.add(b.one("", "Gather", []string{table, "words"}), "positions")
	heads := graph.Int("num_heads", d.heads)
	for i := range d.decoderLayers {
		layer := fmt.Sprintf("decoder/layer_%d", i)
		qkv := b.split(b.linear(b.normal(x, layer+"/self_attention/layer_norm"), layer+"/self_attention/linear_0"), 3)
		b.n++
		a := fmt.Sprintf("v%d", b.n)
		b.g.Node(graph.Runtime, "MultiHeadAttention", append(qkv, "", "", "", past[2*i], past[2*i+1]),
			[]string{a, now[2*i], now[2*i+1]}, heads, graph.Int("unidirectional", 1))
		x = b.add(x, b.linear(a, layer+"/self_attention/linear_1"))
		q := b.linear(b.normal(x, layer+"/attention/layer_norm"), layer+"/attention/linear_0")
		a = b.one(graph.Runtime, "MultiHeadAttention", []string{q, cross[2*i], cross[2*i+1]}, heads)
		x = b.feed(b.add(x, b.linear(a, layer+"/attention/linear_2")), layer)
	}
	x = b.normal(x, "decoder/layer_norm")
	x = b.one("", "Gather", []string{x, b.g.Ints("last", -1)}, graph.Int("axis", 1))
	b.g.Node(graph.Runtime, "FusedMatMul", []string{x, table}, []string{"scores"}, graph.Int("transB", 1))
	b.g.Output("scores", graph.Float32, graph.Fixed(1), graph.Fixed(1), graph.Fixed(d.words))
	for i := range now {
		b.g.Output(now[i], graph.Float32, nowShape...)
	}
	return b.g.Model(), b.err
}
