package front_test

import (
	"context"
	"iter"
	"testing"

	"dure/inference"

	"github.com/google/go-cmp/cmp"
)

// What fields say goes over the model's defaults, in their order.
func TestChanges(t *testing.T) {
	var got inference.Params
	w := newWorld(t, func(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		got = req.Params
		return script(nil, started(), done())(nil, nil)
	})
	base := w.models.Listings[0].Params
	base.Penalties = inference.Penalties{Repeat: 1.5, LastN: 9}
	w.models.Listings[0].Params = base
	for members, change := range map[string]func(*inference.Params){
		`"seed":5,"temperature":0,"top_p":0.25`: func(p *inference.Params) { p.Seed, p.Temperature, p.TopP = 5, 0, 0.25 },
		`"seed":null`:                           func(*inference.Params) {},
		`"last_n":-1`:                           func(p *inference.Params) { p.Penalties.LastN = -1 },
		`"last_n":0`:                            func(p *inference.Params) { p.Penalties = inference.Penalties{} },
	} {
		want := base
		change(&want)
		if r := w.say(`{` + members + `,` + hello[1:]); r.Status != 200 {
			t.Errorf("%s: %s", members, r.Body)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", members, diff)
		}
	}
	for members, param := range map[string]string{`"seed":-1`: "seed", `"temperature":2.5`: "temperature", `"top_p":0`: "top_p", `"top_p":"1"`: "top_p"} {
		w.say(`{`+members+`,`+hello[1:]).wantError(t, 400, "invalid_request", param)
	}
}
