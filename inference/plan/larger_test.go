package plan_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dure/gguf"
	"dure/inference/plan"
)

func TestLargerChoicesAreExplained(t *testing.T) {
	p, err := plan.Make(plan.Input{Model: model27B(t, gguf.Q4K, 0), Devices: cards(t, "rtx-4090"), Wish: plan.Wish{Context: 131072, Agents: 2, Active: 1, Cache: q8}})
	if err != nil {
		t.Fatal(err)
	}
	text := p.ExplainLarger()
	for _, want := range []string{"a context of 262144 tokens", "one more active agent", "a cache of f16", "CUDA0", "short"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "one more layer") || strings.Contains(text, "this binds") || p.Binding != "nothing, all that was asked for fits" {
		t.Errorf("bound by %q\n%s", p.Binding, text)
	}
	if p, err = plan.Make(plan.Input{Model: model27B(t, gguf.Q4K, 0), Devices: cards(t, "rtx-4090")}); err != nil {
		t.Fatal(err)
	}
	if first := p.Larger[0]; !first.Binds || first.Short() == 0 || !strings.Contains(p.Binding, first.Change) {
		t.Errorf("bound by %q, first step %+v", p.Binding, first)
	}
}

// What a step says is what a plan for that step says: it is refused where bytes
// are missing, and fits where none are.
func TestLargerIsWhatAPlanWouldSay(t *testing.T) {
	models := propertyModels(t)
	rapid.Check(t, func(r *rapid.T) {
		in := draw(r, models)
		p, err := plan.Make(in)
		if err != nil {
			return
		}
		bound := 0
		for _, s := range p.Larger {
			if s.Binds {
				bound++
			}
			if s.Change != "one more active agent" {
				continue
			}
			w := in
			w.Wish.Context, w.Wish.Cache, w.Wish.Layers = p.Context, &p.Cache, p.Layers
			if p.Layers == 0 {
				w.Wish.Layers = plan.LayersNone
			}
			w.Wish.Active = p.Active + 1
			w.Wish.Agents = max(p.Agents, w.Wish.Active)
			_, err := plan.Make(w)
			refused := errors.As(err, new(*plan.RefusedError))
			if err != nil && !refused || refused != (s.Short() > 0) {
				r.Fatalf("%+v, but a plan for it says %v", s, err)
			}
		}
		if bound > 1 || bound == 1 && !p.Larger[0].Binds {
			r.Fatalf("%d steps bind: %+v", bound, p.Larger)
		}
	})
}
