package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"dure/gguf"
	"dure/inference/plan"
)

// A long context is a load of its own: it is refused where the header does not
// allow it or the trained context is enough, and says what it changes.
func TestYarn(t *testing.T) {
	const trained = 262144
	for _, c := range []struct {
		name   string
		change func(*gguf.Geometry)
		wish   plan.Wish
		factor int
		want   string // in the error, or in the notes
	}{
		{"two windows", nil, plan.Wish{Context: trained + 1}, 2, "2 times: answers to short prompts change too"},
		{"exactly two", nil, plan.Wish{Context: 2 * trained}, 2, "2 times"},
		{"as far as it goes", nil, plan.Wish{Context: 1_010_000}, 4, "4 times"},
		{"beyond", nil, plan.Wish{Context: 1_010_001}, 0, "takes 1010000"},
		{"a short one", nil, plan.Wish{Context: trained}, 0, "within the trained 262144"},
		{"another window", func(g *gguf.Geometry) { g.TrainContext = 32768 }, plan.Wish{Context: 126250}, 4, "4 times"},
		{"another maker", func(g *gguf.Geometry) { g.Architecture = "gemma3" }, plan.Wish{Context: 300_000}, 2, "describe no YaRN"},
		{"stretched already", func(g *gguf.Geometry) { g.Rope.Scaling, g.Rope.Factor = "yarn", 4 }, plan.Wish{Context: 300_000}, 0, "already (yarn, 4x)"},
		{"scaled otherwise", func(g *gguf.Geometry) { g.Rope.Scaling, g.Rope.Factor = "longrope", 32 }, plan.Wish{Context: 300_000}, 0, "already (longrope"},
		{"no rotary positions", func(g *gguf.Geometry) { g.Rope = gguf.Rope{} }, plan.Wish{Context: 300_000}, 0, "has none"},
		{"no window named", func(g *gguf.Geometry) { g.TrainContext = 0 }, plan.Wish{Context: 300_000}, 0, "names none"},
	} {
		m := model27B(t, gguf.Q4K, 0)
		g := *m.Geometry
		m.Geometry = &g
		if c.change != nil {
			c.change(&g)
		}
		c.wish.LongContext = true
		p, err := plan.Make(plan.Input{Model: m, Devices: cards(t, "rtx-pro-6000"), Wish: c.wish})
		if said := strings.Join(p.Notes, "\n") + fmt.Sprint(err); (err == nil) != (c.factor > 0) || p.YarnFactor != c.factor || !strings.Contains(said, c.want) {
			t.Errorf("%s: factor %d, %s", c.name, p.YarnFactor, said)
		}
	}
}

// Where the choice is free and only a short context fits, nothing is stretched.
func TestYarnThatIsNotNeeded(t *testing.T) {
	p, err := plan.Make(plan.Input{Model: model27B(t, gguf.Q4K, 0), Devices: cards(t, "rtx-4090"),
		Wish: plan.Wish{LongContext: true, Cache: q8}})
	if err != nil || p.Context > 262144 || p.YarnFactor != 1 || !strings.Contains(strings.Join(p.Notes, "\n"), "left out") {
		t.Errorf("%d tokens, factor %d, %q, %v", p.Context, p.YarnFactor, p.Notes, err)
	}
}
