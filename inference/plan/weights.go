package plan

import (
	"slices"
	"strconv"
	"strings"

	"dure/gguf"
)

// part is where a tensor belongs in a model.
type part int

const (
	partInput part = iota
	partLayer
	partOutput
)

// place says where a tensor goes: the input tables stay on the CPU, blocks go
// with their layer, all else goes with the output.
func place(name string) (part, int) {
	if rest, ok := strings.CutPrefix(name, "blk."); ok {
		number, _, _ := strings.Cut(rest, ".")
		if n, err := strconv.Atoi(number); err == nil {
			return partLayer, n
		}
	}
	switch base, _, _ := strings.Cut(name, "."); base {
	case "token_embd", "token_embd_norm", "token_types", "position_embd":
		return partInput, 0
	case "rope_freqs", "rope_factors_long", "rope_factors_short":
		return partLayer, 0
	}
	return partOutput, 0
}

// tensor is what matters of a tensor here.
type tensor struct {
	part       part
	layer      int
	kind       gguf.TensorType
	row, bytes uint64 // elements of a row, bytes of all
	lookup     bool   // the table of the tokens
	output     bool   // the output matrix
}

func tensorsOf(files [][]gguf.Tensor, tied bool) (all []tensor) {
	for _, file := range files {
		for i := range file {
			t := &file[i]
			x := tensor{kind: t.Type, row: 1, bytes: t.Bytes, lookup: t.Name == "token_embd.weight"}
			x.part, x.layer = place(t.Name)
			x.output = t.Name == "output.weight" || tied && x.lookup
			if s := t.Shape(); len(s) > 0 {
				x.row = s[0]
			}
			all = append(all, x)
		}
	}
	return all
}

// outputBytes is the size of the output matrix, 0 if it is not known.
func (p *planner) outputBytes() (n uint64) {
	for _, t := range p.tensors {
		if t.output {
			n = t.bytes
		}
	}
	return n
}

// padded is the size of a tensor inside a buffer of the device.
func (d Device) padded(t gguf.TensorType, row, bytes uint64) uint64 {
	if d.cuda() && t.BlockSize() > 1 && row%cudaRow != 0 {
		// The kernels read whole rows of this many elements.
		bytes += t.RowBytes(pad(cudaRow-row%cudaRow, t.BlockSize()))
	}
	return pad(bytes, d.alignment())
}

// holds says that a tensor of this size can be used on the device.
func (d Device) holds(bytes uint64) bool { return d.MaxTensor == 0 || bytes <= d.MaxTensor }

const cudaRow = 512

func pad(n, to uint64) uint64 { return (n + to - 1) / to * to }

// weigh adds the weights. at has the device of each layer and, behind them, of
// the output. copied are the quantised weights that the CPU computes with.
func (p *planner) weigh(at []*Allocation, host *Allocation) (copied uint64) {
	g := p.Model.Geometry
	if p.Model.Files == nil {
		return p.weighGeometry(at, host)
	}
	sums := map[*Allocation]uint64{}
	output := at[len(g.Layers)]
	for _, t := range p.tensors {
		a := output
		switch t.part {
		case partInput:
			a = host
		case partLayer:
			if t.layer >= len(g.Layers) || g.Layers[t.layer].MTP && p.Wish.MTP == 0 {
				continue // the engine leaves it in the file
			}
			a = at[t.layer]
		}
		if !a.Device.holds(t.bytes) {
			a = host
		}
		// A table is only looked up, unless it is the output matrix as well.
		computed := t.part != partInput || t.output && output == host
		if a == host && computed && t.kind.BlockSize() > 1 {
			copied += t.bytes
		}
		sums[a] += a.Device.padded(t.kind, t.row, t.bytes)
		if g.Tied && t.lookup && output != host && output.Device.holds(t.bytes) {
			sums[output] += output.Device.padded(t.kind, t.row, t.bytes)
		}
	}
	for a, n := range sums {
		a.add(Weights, "", n, Exact)
	}
	return copied
}

// weighGeometry does without a tensor directory. Which of the weights are
// quantised is not known there: all that the CPU computes with may be copied.
func (p *planner) weighGeometry(at []*Allocation, host *Allocation) (copied uint64) {
	g := p.Model.Geometry
	output := at[len(g.Layers)]
	sums := map[*Allocation]uint64{}
	rest := g.Bytes
	for i := range g.Layers {
		rest -= min(rest, g.Layers[i].Bytes)
		if !g.Layers[i].MTP || p.Wish.MTP > 0 {
			sums[at[i]] += g.Layers[i].Bytes
		}
	}
	if slices.ContainsFunc(g.Types, func(s gguf.TypeShare) bool { return s.Type.BlockSize() > 1 }) {
		copied = sums[host]
	}
	for _, k := range g.Kinds {
		if k.Kind != gguf.KindEmbedding {
			continue
		}
		sums[host] += k.Bytes
		rest -= min(rest, k.Bytes)
		if g.Tied && output != host {
			sums[output] += k.Bytes
		}
	}
	sums[output] += rest
	for a, n := range sums {
		a.add(Weights, "", n, Formula)
	}
	return copied
}
