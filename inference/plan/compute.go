package plan

import (
	"strings"

	"dure/gguf"
)

// The engine's compute buffers hold what lives at once while its largest graph
// runs: the inputs, of which the mask of the attention is by far the largest,
// and the intermediate values of the hungriest step. The steps and the widths
// in them were read from the buffers of llama.cpp v0.5.0 over batch sizes,
// contexts, sequences and cache types; grid_test.go and large_test.go hold them
// to it.

const f32 = 4

// family is what the graphs of some architectures have in common: how often
// the width of the model (E) and of the queries (Q) live beside the largest
// tensors.
type family struct {
	ffnE, ffnQ   int // in the feed-forward step
	attnE, attnQ int // in attention without flash attention
}

func familyOf(g *gguf.Geometry) family {
	switch g.Architecture {
	case "qwen3next", "qwen35", "qwen35moe":
		return family{ffnE: 3, attnE: 3, attnQ: 3}
	case "gemma2", "gemma3":
		return family{ffnE: 3, ffnQ: 1, attnE: 3, attnQ: 2}
	}
	return family{ffnE: 4, attnE: 2, attnQ: 3}
}

// graph has the sizes of one shape's graph in bytes.
type graph struct {
	g *gguf.Geometry
	s Shape
	layout
	// tokens of the graph: the micro batch, in whole rows per sequence.
	tokens int
	// inner and channels are the widths of gated delta networks, 0 if unknown.
	inner, channels int
}

func (p *planner) graph(s Shape) graph {
	g := p.Model.Geometry
	b := graph{g: g, s: s, layout: s.layout(g, s.MicroBatch), inner: p.inner, channels: p.channels}
	b.tokens = padInt(b.micro, s.Sequences)
	return b
}

// row is the size of one value of a width per token.
func (b graph) row(width int) uint64 { return uint64(b.tokens) * uint64(width) * f32 }

// layers are those that the graph runs through.
func (b graph) layers(visit func(*gguf.Layer)) {
	for i := range b.g.Layers {
		if l := &b.g.Layers[i]; l.MTP == b.s.Draft {
			visit(l)
		}
	}
}

// has tells of layers with full and with windowed attention.
func (b graph) has() (full, windowed *gguf.Layer) {
	b.layers(func(l *gguf.Layer) {
		switch {
		case l.Recurrent || l.KVHeads == 0:
		case l.Window > 0:
			windowed = l
		default:
			full = l
		}
	})
	return full, windowed
}

// inputs of the graph: tokens, positions, places of the cells, masks.
func (b graph) inputs() uint64 {
	perToken := 4 + 4 + 8 // token, position, spare
	if b.g.Rope.Sections != [4]int{} {
		perToken += 12 // four positions a token
	}
	var n uint64
	full, windowed := b.has()
	for _, c := range []struct {
		layer *gguf.Layer
		cells int
	}{{full, b.sequence}, {windowed, b.window}} {
		if c.layer == nil {
			continue
		}
		n += b.mask(c.cells) + b.places(c.layer) + b.rotation(c.layer)
	}
	if b.s.Draft {
		n += b.row(b.g.Embedding) // the hidden rows of the main context
	}
	return n + uint64(b.tokens*perToken)
}

// mask of the attention: cells by tokens, of each stream its own part.
func (b graph) mask(cells int) uint64 {
	size := uint64(cells) * uint64(b.tokens)
	if b.s.NoFlash {
		return size * f32
	}
	return size * 2
}

// places says which cells the new keys and values go to. Without flash
// attention values are stored transposed, element by element.
func (b graph) places(l *gguf.Layer) uint64 {
	n := uint64(b.tokens) * 16
	if b.s.NoFlash {
		n += uint64(b.tokens) * 8 * uint64(l.KVHeads*l.ValueDim)
	}
	return n
}

// rotation matrices spread outliers before keys and values are quantised.
func (b graph) rotation(l *gguf.Layer) uint64 {
	if !b.s.Cache.Quantised() || l.KeyDim%64 != 0 {
		return 0
	}
	return uint64(l.KeyDim*l.KeyDim+64*64) * f32
}

// step is the largest set of intermediate values.
func (b graph) step(d Device) (n uint64) {
	b.layers(func(l *gguf.Layer) { n = max(n, b.feedForward(l, d), b.attention(l, d), b.delta(l)) })
	return n
}

func (b graph) feedForward(l *gguf.Layer, d Device) uint64 {
	f := familyOf(b.g)
	width := 3 * l.FeedForward
	if e := b.g.Experts; e.Count > 0 {
		width = e.Used*(3*e.FeedForward+b.g.Embedding) + 3*e.SharedFeedForward + 2*e.Count
	}
	if !b.s.Draft {
		return b.row(width + f.ffnE*b.g.Embedding + f.ffnQ*l.Heads*l.KeyDim)
	}
	// A draft has one layer and its hidden rows are inputs: the mask is dead by
	// now, and the widest rows that it has room for go into its place. A GPU has
	// a copy of it, which lives on a little longer.
	mask := b.mask(b.sequence)
	if wide := b.row(l.FeedForward); wide > 0 && mask >= wide {
		width -= l.FeedForward * int(min(3, mask/wide))
	} else if d.Kind == CPU && mask >= b.row(b.g.Embedding) {
		width -= b.g.Embedding
	}
	return b.row(width + b.g.Embedding)
}

// attention of one layer.
func (b graph) attention(l *gguf.Layer, d Device) uint64 {
	if l.Recurrent || l.KVHeads == 0 {
		return 0
	}
	f := familyOf(b.g)
	queries := l.Heads * l.KeyDim
	if b.s.Draft && !b.s.NoFlash {
		n := b.row(b.g.Embedding+4*queries) + b.halves(l, b.sequence, d)
		if d.Kind != CPU {
			n += b.row(2 * l.KVHeads * l.KeyDim)
		}
		return n
	}
	n := b.row(f.attnE*b.g.Embedding + f.attnQ*queries)
	cells := b.sequence
	if l.Window > 0 {
		cells = b.window
	}
	if b.s.NoFlash {
		return n + uint64(cells)*uint64(b.tokens)*uint64(l.Heads)*f32
	}
	return n + b.row(2*l.KVHeads*l.KeyDim) + b.halves(l, cells, d)
}

// halves is where CUDA's attention kernels for prompts put quantised keys and
// values of one layer after turning them into halves: all cells of the pool.
func (b graph) halves(l *gguf.Layer, cells int, d Device) (n uint64) {
	if !d.cuda() {
		return 0
	}
	all := uint64(cells * b.streams * l.KVHeads)
	if b.s.Cache.Keys != gguf.F16 {
		n += all * uint64(l.KeyDim) * 2
	}
	if b.s.Cache.Values != gguf.F16 {
		n += all * uint64(l.ValueDim) * 2
	}
	return n
}

// delta is the step of a gated delta network: channels in and out of the
// convolution, gates, and the states of all sequences, old and new.
func (b graph) delta(l *gguf.Layer) uint64 {
	if !l.Recurrent {
		return 0
	}
	inner, channels := b.deltaWidths(l)
	conv := 2 * uint64(b.s.Sequences) * uint64(l.ConvState) * stateBytes
	states := uint64(b.s.Sequences*(2+b.s.Rollback)) * uint64(l.DeltaState) * stateBytes
	e := 3 * b.g.Embedding
	return max(b.row(2*channels+inner+e)+conv+states, b.row(2*channels+2*inner+e)+conv)
}

// deltaWidths are the width of the values and of all channels. The header tells
// them by the shapes of two tensors; without a tensor directory they come from
// the states and the usual kernel and shares.
func (b graph) deltaWidths(l *gguf.Layer) (inner, channels int) {
	if b.inner > 0 {
		return b.inner, b.channels
	}
	const kernel = 4
	channels = l.ConvState / (kernel - 1)
	return channels * 3 / 5, channels
}

// deltaShape finds the widths of gated delta networks in a tensor directory.
func deltaShape(files [][]gguf.Tensor) (inner, channels int) {
	for _, file := range files {
		for i := range file {
			t := &file[i]
			s := t.Shape()
			switch {
			case len(s) != 2:
			case strings.HasSuffix(t.Name, ".ssm_out.weight"):
				inner = int(s[0])
			case strings.HasSuffix(t.Name, ".ssm_conv1d.weight"):
				channels = int(s[1])
			}
			if inner > 0 && channels > 0 {
				return inner, channels
			}
		}
	}
	return 0, 0
}

// output is the step at the end: logits, and the rows they come from. with says
// that the last layer is on the same device.
func (b graph) output(with bool) uint64 {
	rows, e := uint64(min(b.tokens, b.s.Outputs)), b.g.Embedding
	n := rows*uint64(b.g.Vocabulary+e)*f32 + b.row(e)
	if with && b.g.RecurrentLayers() > 0 && !b.s.Draft {
		n += rows*uint64(e)*f32 + b.row(e) // rows are picked behind the last norm
	}
	return n
}

// onDevice is the compute buffer of a device that runs layers.
func (b graph) onDevice(d Device) uint64 { return b.inputs() + b.step(d) }

// beside is the host's compute buffer where GPUs run the layers: it makes the
// inputs and looks the tokens up.
func (b graph) beside() uint64 {
	n := b.inputs() + b.row(b.g.Embedding)
	if !b.s.Draft {
		n += b.row(b.g.Embedding)
	}
	return n
}

// mixed is the host's compute buffer where it keeps some of the layers. Prompts
// are computed on a GPU even then, with weights copied there; recurrent layers
// stay with their states.
func (b graph) mixed(host Device) uint64 {
	switch {
	case b.s.MicroBatch < offloadTokens || b.g.RecurrentLayers() > 0 && b.s.Rollback > 0:
		return max(b.beside(), b.onDevice(host))
	case b.g.RecurrentLayers() > 0 && !b.s.Draft:
		return b.beside() + b.row(b.g.Embedding+b.inner)
	}
	return b.beside()
}

// offloadTokens is the batch from which on the engine copies weights to a GPU
// rather than computing where they are.
const offloadTokens = 32
