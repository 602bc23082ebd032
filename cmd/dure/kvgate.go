package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"dure/gguf"
	"dure/inference"
	benchkv "dure/inference/bench/kv"
	"dure/inference/plan"
	"dure/inference/prefix"
	"dure/kvcache"
	"dure/kvcache/codec"
)

// kvGate knows what each type of the cache loses with one model on one engine, and
// decides which may be used (benchkv.DefaultBound).
type kvGate struct {
	model       string // its name, for messages
	engine      string
	fingerprint string
	geometry    *gguf.Geometry // nil where it is not known
	rows        []qualityRow
	// unread is why nothing is known of what was measured: nothing with a loss is then
	// used but by force.
	unread error
	force  bool
	basis  *codec.Basis // of the model, for codec.Calibrated
}

// newKVGate reads what was measured; file and geometry are nil where they are not known.
func newKVGate(home, engine, model string, file *gguf.Model, g *gguf.Geometry, force bool) kvGate {
	gate := kvGate{model: model, engine: engine, geometry: g, force: force}
	if gate.rows, gate.unread = readQuality(home); gate.unread == nil && len(gate.rows) > 0 && file != nil {
		gate.fingerprint, gate.unread = fingerprintOf(file)
	}
	return gate
}

// envRotationOff is the engine's own switch.
const envRotationOff = "LLAMA_ATTN_ROT_DISABLE"

// rotationOf is what the engine does to what it stores, in this process's environment,
// which runners inherit.
func rotationOf(g *gguf.Geometry, keys, values gguf.TensorType) benchkv.Rotation {
	if g == nil {
		return benchkv.Rotation{}
	}
	off, _ := strconv.Atoi(os.Getenv(envRotationOff)) // what is no number is 0 to the engine too
	return benchkv.RotationOf(g, keys, values, off != 0)
}

// types decides about a type of the cache.
func (g kvGate) types(c plan.Cache) benchkv.Admission {
	like := qualityRow{Engine: g.engine, Fingerprint: g.fingerprint, Setting: benchkv.TypesName(c.Keys, c.Values),
		Tier: string(benchkv.Hot), Rotation: rotationOf(g.geometry, c.Keys, c.Values)}
	lossless, name := benchkv.Lossless(c.Keys, c.Values), "KV cache "+like.Setting
	if g.unread != nil && !lossless {
		return benchkv.Unread(name, g.unread, g.force)
	}
	return benchkv.DefaultBound().Admit(name, g.model, lossless, known(g.rows, like), g.force)
}

// class says whether states that wait may be kept in a class, and why not: a class with a
// loss is offered only where it was measured and passed.
func (g kvGate) class(c codec.Class) (offered bool, why string) {
	if c == codec.Exact {
		return true, ""
	}
	name := "class " + c.String()
	like := qualityRow{Engine: g.engine, Fingerprint: g.fingerprint, Setting: c.String(), Tier: string(benchkv.Parked), Codec: codecKey(c, g.basis)}
	k := known(g.rows, like)
	switch {
	case g.unread != nil:
		return false, fmt.Sprintf("%s: %v", name, g.unread)
	case !k.Measured:
		return false, fmt.Sprintf("%s is not measured for this model", name)
	}
	verdict, why := benchkv.DefaultBound().Judge(k.Figures)
	if besideCells(c) {
		verdict, why = benchkv.DefaultBound().JudgeBeside(k.Figures, g.cells())
	}
	if verdict != benchkv.Passed {
		return false, fmt.Sprintf("%s: %s: %s", name, verdict, why)
	}
	return true, ""
}

// cells are what is known of the cells that a class may lose as much as.
func (g kvGate) cells() benchkv.Known {
	keys, values, err := benchkv.ParseTypes(benchkv.CellsBeside)
	if err != nil {
		return benchkv.Known{}
	}
	return known(g.rows, qualityRow{Engine: g.engine, Fingerprint: g.fingerprint, Setting: benchkv.CellsBeside, Tier: string(benchkv.Hot), Rotation: rotationOf(g.geometry, keys, values)})
}

// besideCells are the classes that are made to lose as much as those cells.
func besideCells(c codec.Class) bool { return c == codec.Small || c == codec.Calibrated }

// codecKey tells the coding of a class from earlier ones, and from that with another
// basis.
func codecKey(c codec.Class, b *codec.Basis) string {
	if c != codec.Calibrated || b == nil {
		return strconv.Itoa(codec.Version)
	}
	return fmt.Sprintf("%d, basis %x", codec.Version, b.Fingerprint())
}

// admitClass refuses a class of stored states that was not found good enough for the
// model, and gives the one that needs it its basis.
func (g *kvGate) admitClass(home string, d *prefix.Disk, m *gguf.Model) error {
	if d.Bytes == 0 || d.Class <= codec.Exact || g.geometry == nil {
		return nil
	}
	if err := g.giveBasis(home, d.Class, d, m); err != nil {
		return loadError("model %s: --cache-class %v: %v; `dure bench kv %s --calibrate` makes one", g.model, d.Class, err, g.model)
	}
	if offered, why := g.class(d.Class); !offered && !g.force {
		return loadError("model %s: --cache-class %s; `dure bench kv %s` measures it; take --cache-class %v, or --force, and answers that go on from such a state say so",
			g.model, strings.TrimPrefix(why, "class "), g.model, codec.Exact)
	}
	return nil
}

// giveBasis reads the model's basis for the class that needs one.
func (g *kvGate) giveBasis(home string, c codec.Class, d *prefix.Disk, m *gguf.Model) error {
	if c != codec.Calibrated || len(d.Basis) > 0 {
		return nil
	}
	print, err := fingerprintOf(m)
	if err == nil {
		d.Basis, g.basis, err = readBasis(home, print, g.geometry)
	}
	return err
}

// admitSmaller leaves those classes that states may be stored anew in which were found
// good enough for the model, and tells how small they are as far as it was measured. One
// that was named and is not offered is refused.
func (g *kvGate) admitSmaller(home string, d *prefix.Disk, m *gguf.Model) error {
	named := d.Smaller
	d.Smaller = nil
	if len(named) == 0 || d.Bytes == 0 || g.geometry == nil {
		return nil
	}
	ratios, last := g.ratios(), 1.0
	for _, s := range named {
		c := codec.Class(s.Class)
		err := g.giveBasis(home, c, d, m)
		offered, why := false, fmt.Sprint(c, ": ", err)
		if err == nil {
			offered, why = g.class(c)
		}
		if !offered && d.Auto {
			continue
		}
		if !offered && (!g.force || err != nil) {
			return loadError("model %s: --cache-smaller %s; `dure bench kv %s` measures it; leave it out, or take --force, and answers that go on from such a state say so",
				g.model, strings.TrimPrefix(why, "class "), g.model)
		}
		if r, base := ratios[c.String()], ratios[max(d.Class, codec.Exact).String()]; r > 0 && base > 0 {
			s.Part = base / r
		}
		s.Part = min(s.Part, last) // each is to be smaller than the one before
		last = s.Part
		d.Smaller = append(d.Smaller, s)
	}
	if d.Auto {
		d.Smaller = twoSteps(d.Smaller)
	}
	return nil
}

// twoSteps leaves the mildest class that loses about what q8_0 cells do, and the smallest
// of the others: a state that goes through more has lost more than any was measured to.
func twoSteps(all []kvcache.Coding) (out []kvcache.Coding) {
	for _, s := range all {
		mild := codec.Class(s.Class) < codec.Small
		switch {
		case len(out) == 0 || !mild && codec.Class(out[len(out)-1].Class) < codec.Small:
			out = append(out, s)
		case !mild:
			out[len(out)-1] = s
		}
	}
	return out
}

// admit puts what is to be said of a load's cache into its placement, or refuses it.
func (g kvGate) admit(p *placement, c plan.Cache) error {
	a := g.types(c)
	if a.Refused {
		return g.refusal(a)
	}
	p.loss, p.llm.Warnings = a.Loss, notices(a)
	return nil
}

// refused are the usual types that may not be chosen.
func (g kvGate) refused() (out []plan.Cache) {
	for _, t := range []gguf.TensorType{gguf.Q8_0, gguf.Q4_0} {
		if c := (plan.Cache{Keys: t, Values: t}); g.types(c).Refused {
			out = append(out, c)
		}
	}
	return out
}

// losses say what each type that was measured, or is usual, loses.
func (g kvGate) losses() map[string]string {
	out := map[string]string{}
	add := func(c plan.Cache) {
		a := g.types(c)
		out[c.String()] = a.Loss
		switch {
		case a.Loss == benchkv.NotMeasured:
			out[c.String()] += fmt.Sprintf("; `dure bench kv %s` measures its loss", g.model)
		case a.Refused:
			out[c.String()] += "; a load refuses it without --force"
		}
	}
	for _, t := range []gguf.TensorType{gguf.Q8_0, gguf.Q4_0} {
		add(plan.Cache{Keys: t, Values: t})
	}
	for _, r := range g.rows {
		if keys, values, err := benchkv.ParseTypes(r.Setting); err == nil && r.Tier == string(benchkv.Hot) && r.Fingerprint == g.fingerprint && r.Engine == g.engine {
			add(plan.Cache{Keys: keys, Values: values})
		}
	}
	return out
}

// ratios are how many times smaller parked states of the model were measured to be, by
// class.
func (g kvGate) ratios() map[string]float64 {
	out := map[string]float64{}
	for _, r := range g.rows {
		c, err := codec.ParseClass(r.Setting)
		if err == nil && r.Tier == string(benchkv.Parked) && r.Fingerprint == g.fingerprint && r.Engine == g.engine &&
			(r.Codec == codecKey(c, g.basis) || c == codec.Calibrated && strings.HasPrefix(r.Codec, codecKey(c, nil)+",")) {
			if _, newer := out[r.Setting]; !newer {
				out[r.Setting] = r.Ratio
			}
		}
	}
	return out
}

// refusal is the error of a load with a type that may not be used.
func (g kvGate) refusal(a benchkv.Admission) error {
	better := "f16"
	for _, r := range g.rows {
		if r.Fingerprint == g.fingerprint && r.Engine == g.engine && r.Tier == string(benchkv.Hot) && r.passes() {
			better += ", " + r.Setting
		}
	}
	return loadError("model %s: %s; take --kv %s, or --force, and every answer says so", g.model, a.Why, strings.Replace(better, ", ", " or ", 1))
}

// notices are what every answer says.
func notices(a benchkv.Admission) []inference.Warning {
	if a.Notice == "" {
		return nil
	}
	return []inference.Warning{{Code: inference.CodeLossyCache, Message: a.Notice}}
}
