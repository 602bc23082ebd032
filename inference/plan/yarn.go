package plan

import (
	"fmt"
	"slices"
)

// YaRN stretches rotary positions by a factor. The makers of models trained for
// 262,144 tokens name 1,010,000 as its reach; other windows reach as many times
// their own.
const (
	longContextTokens = 1_010_000
	yarnOriginal      = 262_144
)

// foreseen are the architectures whose makers describe YaRN for their models.
var foreseen = []string{"qwen2", "qwen2moe", "qwen3", "qwen3moe", "qwen3next", "qwen35", "qwen35moe"}

// stretch raises the limit of the context as far as YaRN reaches, or says why
// there is no YaRN for this model or this wish.
func (p *planner) stretch() error {
	g := p.Model.Geometry
	switch r := g.Rope; {
	case g.Encoder || r.Dims == 0:
		return fmt.Errorf("YaRN stretches rotary positions, and the model has none")
	case r.Scaling != "" && r.Scaling != "none":
		return fmt.Errorf("the model's header scales its positions already (%s, %gx): its context of %d tokens is the longest", r.Scaling, r.Factor, g.TrainContext)
	case g.TrainContext == 0:
		return fmt.Errorf("YaRN stretches the trained context, and the model's header names none")
	}
	p.limit = yarnReach(g.TrainContext)
	if c := p.Wish.Context; c > 0 && c <= g.TrainContext {
		return fmt.Errorf("a context of %d tokens is within the trained %d: YaRN is for longer ones, up to %d, and only makes this one worse", c, g.TrainContext, p.limit)
	}
	return nil
}

func yarnReach(trained int) int { return max(trained, longContextTokens*trained/yarnOriginal) }

// longHint is added to a context that is too long.
func (p *planner) longHint() string {
	g := p.Model.Geometry
	if p.Wish.LongContext || !slices.Contains(foreseen, g.Architecture) || g.Rope.Scaling != "none" || p.Wish.Context > yarnReach(g.TrainContext) {
		return ""
	}
	return fmt.Sprintf("; with YaRN it reaches %d", yarnReach(g.TrainContext))
}

// yarnFactor is the smallest whole number of trained contexts that holds this
// one: the less is stretched, the less is lost.
func (p *planner) yarnFactor(context int) int {
	trained := p.Model.Geometry.TrainContext
	if !p.Wish.LongContext || trained == 0 {
		return 1
	}
	return max(1, (context+trained-1)/trained)
}

func (p *planner) noteYarn(out *Plan) {
	if !out.LongContext {
		return
	}
	if out.YarnFactor == 1 {
		out.Notes = append(out.Notes, "what fits is within the trained context: YaRN would change nothing and is left out")
		return
	}
	out.Notes = append(out.Notes, fmt.Sprintf("YaRN scales all positions %d times: answers to short prompts change too", out.YarnFactor))
	if a := p.Model.Geometry.Architecture; !slices.Contains(foreseen, a) {
		out.Notes = append(out.Notes, fmt.Sprintf("the makers of %s models describe no YaRN: what a stretched one answers is not known", a))
	}
}
