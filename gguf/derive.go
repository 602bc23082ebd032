package gguf

import (
	"cmp"
	"fmt"
)

// maxWidth bounds products such as heads times head width: the engine holds
// them in 32 bits, and no model comes near.
const maxWidth = 1<<31 - 1

// deriver collects the keys of one model.
type deriver struct {
	md   *Metadata
	arch string
	g    *Geometry

	trunk               int // layers of the main pass
	fullKey, fullValue  int // head widths
	windowKey, windowVa int // head widths of layers with a window
}

// key is a key in the architecture's own name space.
func (d *deriver) key(name string) string { return d.arch + "." + name }

// int reads a number of at most 31 bits, or takes the default.
func (d *deriver) int(name string, otherwise int) (int, error) {
	n, err := d.md.uintOr(d.key(name), uint64(otherwise))
	if err == nil && n > maxWidth {
		err = d.md.bad(d.key(name), "%d is too large", n)
	}
	return int(min(n, maxWidth)), err
}

// need reads a number that must be there and not be 0.
func (d *deriver) need(name string) (int, error) {
	if _, ok := d.md.Get(d.key(name)); !ok {
		return 0, &KeyError{Key: d.key(name), Err: ErrMissingKey}
	}
	n, err := d.int(name, 0)
	if err == nil && n == 0 {
		err = d.md.bad(d.key(name), "must not be 0")
	}
	return n, err
}

// common reads what any architecture has.
func (d *deriver) common() (err error) {
	g := d.g
	if g.Name, err = d.md.textOr(KeyName, ""); err != nil {
		return err
	}
	if g.FileType, err = fileType(d.md); err != nil {
		return err
	}
	if g.Embedding, err = d.int("embedding_length", 0); err != nil {
		return err
	}
	if g.TrainContext, err = d.int("context_length", 0); err != nil {
		return err
	}
	return d.tokenizer()
}

func (d *deriver) tokenizer() error {
	model, err := d.md.textOr("tokenizer.ggml.model", "")
	if err != nil {
		return err
	}
	pre, err := d.md.textOr("tokenizer.ggml.pre", "")
	if err != nil {
		return err
	}
	d.g.Tokenizer = model
	if pre != "" {
		d.g.Tokenizer += "/" + pre
	}
	// The list of tokens counts; vocab_size may be padded or stale.
	if v, ok := d.md.Get("tokenizer.ggml.tokens"); ok && v.Type() == Array {
		d.g.Vocabulary = v.Len()
		return nil
	}
	d.g.Vocabulary, err = d.int("vocab_size", 0)
	return err
}

// blocks reads the layers and their heads.
func (d *deriver) blocks() error {
	for _, name := range []string{"embedding_length", "context_length"} {
		if _, err := d.need(name); err != nil {
			return err
		}
	}
	n, err := d.need("block_count")
	if err != nil {
		return err
	}
	if n > MaxLayers {
		return d.md.bad(d.key("block_count"), "%d, the engine loads at most %d", n, MaxLayers)
	}
	if d.g.MTPLayers, err = d.int("nextn_predict_layers", 0); err != nil {
		return err
	}
	if d.g.MTPLayers > n {
		return d.md.bad(d.key("nextn_predict_layers"), "%d of %d blocks", d.g.MTPLayers, n)
	}
	d.trunk = n - d.g.MTPLayers
	d.g.Layers = make([]Layer, n)
	for i := range d.g.Layers {
		d.g.Layers[i].MTP = i >= d.trunk
	}
	if err := d.feedForward(); err != nil {
		return err
	}
	return d.heads()
}

func (d *deriver) feedForward() error {
	widths, found, err := d.md.list(d.key("feed_forward_length"), len(d.g.Layers))
	if err != nil || !found {
		return err
	}
	for i, w := range widths {
		d.g.Layers[i].FeedForward = int(w)
	}
	return nil
}

// heads reads head counts per layer and the widths of a head.
func (d *deriver) heads() error {
	heads, found, err := d.md.list(d.key("attention.head_count"), len(d.g.Layers))
	if err != nil {
		return err
	}
	if !found {
		return &KeyError{Key: d.key("attention.head_count"), Err: ErrMissingKey}
	}
	kv, found, err := d.md.list(d.key("attention.head_count_kv"), len(d.g.Layers))
	if err != nil {
		return err
	}
	if !found {
		kv = heads
	}
	for i := range d.g.Layers {
		d.g.Layers[i].Heads, d.g.Layers[i].KVHeads = int(heads[i]), int(kv[i])
	}
	return d.headWidths(int(heads[0]))
}

// headWidths reads the widths of full layers, which come from the embedding by
// default, and those of windowed layers, which come from the full ones.
func (d *deriver) headWidths(heads int) error {
	width := 0
	if heads > 0 {
		width = d.g.Embedding / heads
	}
	for _, w := range []struct {
		name string
		into *int
		from *int
	}{
		{"attention.key_length", &d.fullKey, &width},
		{"attention.value_length", &d.fullValue, &width},
		{"attention.key_length_swa", &d.windowKey, &d.fullKey},
		{"attention.value_length_swa", &d.windowVa, &d.fullValue},
	} {
		var err error
		if *w.into, err = d.int(w.name, *w.from); err != nil {
			return err
		}
	}
	return nil
}

// experts reads the mixture of experts and refuses what aborts the engine.
func (d *deriver) experts() (err error) {
	e := &d.g.Experts
	if e.Count, err = d.int("expert_count", 0); err != nil {
		return err
	}
	used, _, err := d.md.list(d.key("expert_used_count"), len(d.g.Layers))
	if err != nil {
		return err
	}
	for _, n := range used {
		e.Used = max(e.Used, int(n))
	}
	if e.Used > e.Count || e.Count > 0 && e.Used == 0 {
		return d.md.bad(d.key("expert_used_count"), "%d of %d experts", e.Used, e.Count)
	}
	widths, _, err := d.md.list(d.key("expert_feed_forward_length"), len(d.g.Layers))
	if err != nil {
		return err
	}
	for _, n := range widths {
		e.FeedForward = max(e.FeedForward, int(n))
	}
	e.SharedFeedForward, err = d.int("expert_shared_feed_forward_length", 0)
	return err
}

// rope reads rotary positions.
func (d *deriver) rope() (err error) {
	r := &d.g.Rope
	if r.Dims, err = d.int("rope.dimension_count", d.fullKey); err != nil {
		return err
	}
	if r.OriginalContext, err = d.int("rope.scaling.original_context_length", d.g.TrainContext); err != nil {
		return err
	}
	if r.Scaling, err = d.md.textOr(d.key("rope.scaling.type"), "linear"); err != nil {
		return err
	}
	base, _, err := read(d.md, d.key("rope.freq_base"), Value.Float)
	if err != nil {
		return err
	}
	r.Base = cmp.Or(base, 10000)
	factor, found, err := read(d.md, d.key("rope.scaling.factor"), Value.Float)
	if !found {
		factor, _, err = read(d.md, d.key("rope.scale_linear"), Value.Float)
	}
	if err != nil {
		return err
	}
	r.Factor = cmp.Or(factor, 1)
	if r.Factor == 1 && r.Scaling == "linear" {
		r.Scaling = "none"
	}
	sections, found, err := d.md.list(d.key("rope.dimension_sections"), len(r.Sections))
	if err != nil || !found {
		return err
	}
	for i, s := range sections {
		r.Sections[i] = int(s)
	}
	return nil
}

// check fills in what depends on windows and refuses sizes that overflow.
func (d *deriver) check() error {
	for i := range d.g.Layers {
		l := &d.g.Layers[i]
		if l.Recurrent {
			l.KVHeads = 0
			continue
		}
		l.KeyDim, l.ValueDim = d.fullKey, d.fullValue
		if l.Window > 0 {
			l.KeyDim, l.ValueDim = d.windowKey, d.windowVa
		}
		if uint64(l.KVHeads)*uint64(max(l.KeyDim, l.ValueDim)) > maxWidth {
			return d.md.bad(d.key("attention.head_count_kv"), "layer %d: %d heads of width %d are too large", i, l.KVHeads, max(l.KeyDim, l.ValueDim))
		}
	}
	return nil
}

// fileType is the label of the quantisation.
func fileType(md *Metadata) (string, error) {
	n, found, err := read(md, KeyFileType, Value.Uint)
	if err != nil || !found {
		return "", err
	}
	if s, ok := fileTypes[n]; ok {
		return s, nil
	}
	return fmt.Sprintf("type %d", n), nil
}

// fileTypes: llama_ftype of llama.h.
var fileTypes = map[uint64]string{
	0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1",
	10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M",
	16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S",
	22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M",
	28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0",
	37: "TQ2_0", 38: "MXFP4_MOE", 39: "NVFP4", 40: "Q1_0", 41: "Q2_0",
}
