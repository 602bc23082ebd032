package gguf

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// TypeShare is the part of the weights stored as one type.
type TypeShare struct {
	Type       TensorType `json:"type"`
	Tensors    int        `json:"tensors"`
	Parameters uint64     `json:"parameters"`
	Bytes      uint64     `json:"bytes"`
}

// Kind is a use of weights.
type Kind string

// The kinds of weights, in the order of Geometry.Kinds.
const (
	KindEmbedding   Kind = "embedding"   // input tables; also the output where tied
	KindAttention   Kind = "attention"   // projections of attention layers
	KindRecurrent   Kind = "recurrent"   // projections of recurrent layers
	KindFeedForward Kind = "feedforward" // dense networks and shared experts
	KindExperts     Kind = "experts"     // routed experts and their router
	KindMTP         Kind = "mtp"         // everything in MTP layers
	KindOutput      Kind = "output"      // output matrix, classifier
	KindNorm        Kind = "norm"        // scale vectors
	KindOther       Kind = "other"
)

var kinds = []Kind{
	KindEmbedding, KindAttention, KindRecurrent, KindFeedForward, KindExperts,
	KindMTP, KindOutput, KindNorm, KindOther,
}

// KindShare is the part of the weights that has one use.
type KindShare struct {
	Kind    Kind   `json:"kind"`
	Tensors int    `json:"tensors"`
	Bytes   uint64 `json:"bytes"`
}

// BitsPerWeight is the average over all weights, 0 without any.
func (g *Geometry) BitsPerWeight() float64 {
	if g.Parameters == 0 {
		return 0
	}
	return float64(g.Bytes) * 8 / float64(g.Parameters)
}

// weigh sums up the tensors.
func (d *deriver) weigh(lists [][]Tensor) {
	types := make(map[TensorType]*TypeShare)
	uses := make(map[Kind]*KindShare)
	input, output := false, false
	for _, list := range lists {
		for i := range list {
			t := &list[i]
			d.g.Parameters += t.Elements
			d.g.Bytes += t.Bytes
			slot(types, t.Type).add(t)
			slot(uses, d.kindOf(t)).add(t)
			input = input || t.Name == "token_embd.weight"
			output = output || t.Name == "output.weight"
		}
	}
	d.g.Tied = input && !output && !d.g.Encoder
	for typ, s := range types {
		s.Type = typ
		d.g.Types = append(d.g.Types, *s)
	}
	slices.SortFunc(d.g.Types, func(a, b TypeShare) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Type, b.Type))
	})
	for _, k := range kinds {
		if s := uses[k]; s != nil {
			s.Kind = k
			d.g.Kinds = append(d.g.Kinds, *s)
		}
	}
}

// slot is the entry of a map, made if need be.
func slot[K comparable, V any](m map[K]*V, k K) *V {
	if m[k] == nil {
		m[k] = new(V)
	}
	return m[k]
}

func (s *TypeShare) add(t *Tensor) {
	s.Tensors++
	s.Parameters += t.Elements
	s.Bytes += t.Bytes
}

func (s *KindShare) add(t *Tensor) {
	s.Tensors++
	s.Bytes += t.Bytes
}

// kindOf tells the use of a tensor from its name, and counts it to its layer.
func (d *deriver) kindOf(t *Tensor) Kind {
	block, name, ok := splitBlock(t.Name)
	if !ok {
		return globalKind(t.Name)
	}
	recurrent := false
	if block < len(d.g.Layers) {
		l := &d.g.Layers[block]
		l.Bytes += t.Bytes
		if l.MTP {
			return KindMTP
		}
		recurrent = l.Recurrent
	}
	return blockKind(name, recurrent)
}

// splitBlock takes "blk.3.attn_q.weight" apart.
func splitBlock(s string) (block int, name string, ok bool) {
	s, ok = strings.CutPrefix(s, "blk.")
	if !ok {
		return 0, "", false
	}
	number, name, ok := strings.Cut(s, ".")
	if !ok {
		return 0, "", false
	}
	n, err := strconv.ParseUint(number, 10, 16)
	return int(n), name, err == nil
}

func globalKind(name string) Kind {
	switch base, _, _ := strings.Cut(name, "."); {
	case strings.HasSuffix(base, "_norm"):
		return KindNorm
	case strings.HasSuffix(base, "_embd"), base == "token_types":
		return KindEmbedding
	case base == "output", base == "cls":
		return KindOutput
	}
	return KindOther
}

func blockKind(name string, recurrent bool) Kind {
	base, _, _ := strings.Cut(name, ".")
	switch {
	case strings.HasSuffix(base, "_norm"):
		return KindNorm
	case strings.HasSuffix(base, "_exps"), base == "ffn_gate_inp":
		return KindExperts
	case strings.HasPrefix(base, "ffn_"):
		return KindFeedForward
	case strings.HasPrefix(base, "ssm_"):
		return KindRecurrent
	case strings.HasPrefix(base, "attn_") && recurrent:
		return KindRecurrent
	case strings.HasPrefix(base, "attn_"):
		return KindAttention
	case base == "nextn":
		return KindMTP
	}
	return KindOther
}
