package main

import (
	"strings"
	"testing"

	"dure/gguf"
	"dure/inference/catalog"
	"dure/inference/plan"
)

func TestSpecFlags(t *testing.T) {
	for _, c := range []struct {
		o  specOptions
		ok bool
	}{
		{specOptions{mode: "auto"}, true},
		{specOptions{mode: "ngram", depth: 63}, true},
		{specOptions{mode: "mtp", depth: 2}, true},
		{specOptions{mode: "off"}, true},
		{specOptions{}, true},
		{specOptions{mode: "n-gram"}, false},
		{specOptions{mode: "ngram", depth: 64}, false},
		{specOptions{mode: "auto", depth: -1}, false},
		{specOptions{mode: "off", depth: 2}, false},
		{specOptions{mode: "off", depth: 2, draft: "off"}, false},
		{specOptions{mode: "off", depth: 2, draft: "small"}, true},
	} {
		if err := c.o.validate(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

func TestSpecRowsArePlannedWhereGuessesCanBe(t *testing.T) {
	plain := &gguf.Geometry{Vocabulary: 49152, Layers: make([]gguf.Layer, 2)}
	windowed := &gguf.Geometry{Vocabulary: 262144, Layers: []gguf.Layer{{Window: 512}}}
	hybrid := &gguf.Geometry{Vocabulary: 248320, Layers: []gguf.Layer{{Recurrent: true}}}
	on, off := specOptions{mode: "auto"}, specOptions{mode: "off"}
	for name, c := range map[string]struct {
		got, want int
	}{
		"plain":           {on.outputs(plain, false, false), 64},
		"off":             {off.outputs(plain, false, false), 0},
		"a draft model":   {off.outputs(plain, false, true), 64},
		"long vocabulary": {on.outputs(windowed, false, false), 32},
		"short window":    {on.outputs(windowed, true, false), 0},
		"hybrid":          {on.outputs(hybrid, false, false), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d rows, want %d", name, c.got, c.want)
		}
	}
}

func TestDraftModelIsTheOneAskedForOrTheEntrysOwn(t *testing.T) {
	for _, c := range []struct{ entry, asked, want string }{
		{"", "", ""}, {"small", "", "small"}, {"small", "other", "other"}, {"", "other", "other"}, {"small", "off", ""}, {"", "off", ""},
	} {
		if got := draftName(catalog.Entry{Draft: c.entry}, c.asked); got != c.want {
			t.Errorf("entry %q, asked for %q: %q, want %q", c.entry, c.asked, got, c.want)
		}
	}
}

func TestRollbackIsForThoseWhoGuess(t *testing.T) {
	plain := &gguf.Geometry{Layers: make([]gguf.Layer, 2)}
	hybrid := &gguf.Geometry{Layers: []gguf.Layer{{Recurrent: true}}}
	for _, c := range []struct {
		o       specOptions
		g       *gguf.Geometry
		drafted bool
		want    int
		ok      bool
	}{
		{specOptions{mode: "off"}, hybrid, false, 0, true},
		{specOptions{mode: "auto"}, hybrid, false, 0, true},
		{specOptions{mode: "auto", back: 2}, hybrid, false, 2, true},
		{specOptions{mode: "ngram"}, hybrid, false, usualRollback, true},
		{specOptions{mode: "mtp", back: 2}, hybrid, false, 2, true},
		{specOptions{mode: "ngram"}, plain, false, 0, true},
		{specOptions{mode: "off"}, hybrid, true, usualRollback, true},
		{specOptions{mode: "off", back: 5}, hybrid, true, 5, true},
		{specOptions{mode: "off", back: 5}, hybrid, false, 0, false},
		{specOptions{mode: "ngram", back: -1}, hybrid, false, 0, false},
	} {
		if got, err := c.o.rollback(c.g, c.drafted); got != c.want || (err == nil) != c.ok {
			t.Errorf("%+v: %d, %v", c.o, got, err)
		}
	}
}

// The model's own layers guess where they are asked for, or by themselves where they
// can and nobody else does; what cannot be is refused with a way out.
func TestWhoseOwnLayersGuess(t *testing.T) {
	plain := &gguf.Geometry{Architecture: "llama", Layers: make([]gguf.Layer, 2)}
	mtp := &gguf.Geometry{Architecture: "qwen35", Layers: []gguf.Layer{{Recurrent: true}, {MTP: true}}, MTPLayers: 1}
	two := &gguf.Geometry{Architecture: "qwen35", Layers: []gguf.Layer{{Recurrent: true}, {MTP: true}, {MTP: true}}, MTPLayers: 2}
	other := &gguf.Geometry{Architecture: "glm4moe", Layers: []gguf.Layer{{}, {MTP: true}}, MTPLayers: 1}
	for _, c := range []struct {
		o       specOptions
		g       *gguf.Geometry
		drafted bool
		want    int
		wanted  bool
		err     string
	}{
		{specOptions{mode: "mtp"}, mtp, false, usualRollback, true, ""},
		{specOptions{mode: "mtp", back: 2}, mtp, false, 2, true, ""},
		{specOptions{mode: "mtp"}, mtp, true, 0, false, "--draft off"},
		{specOptions{mode: "mtp"}, plain, false, 0, false, "--spec ngram"},
		{specOptions{mode: "mtp"}, two, false, 0, false, "2 layers"},
		{specOptions{mode: "mtp"}, other, false, 0, false, "glm4moe"},
		{specOptions{mode: "auto"}, mtp, false, usualRollback, false, ""},
		{specOptions{mode: "auto"}, mtp, true, 0, false, ""},
		{specOptions{mode: "auto"}, other, false, 0, false, ""},
		{specOptions{mode: "auto"}, plain, false, 0, false, ""},
		{specOptions{mode: "ngram"}, mtp, false, 0, false, ""},
		{specOptions{mode: "off"}, mtp, false, 0, false, ""},
	} {
		got, wanted, err := c.o.mtp(c.g, c.drafted)
		if got != c.want || wanted != c.wanted || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v on %s: %d, %v, %v", c.o, c.g.Architecture, got, wanted, err)
		}
	}
}

// With auto the plan does without them where there is no room, and says so; asked for,
// it is refused.
func TestOwnLayersGuessWhereThereIsRoom(t *testing.T) {
	g := &gguf.Geometry{Architecture: "qwen35", Layers: []gguf.Layer{{Recurrent: true}, {MTP: true}}, MTPLayers: 1}
	in := plan.Input{Model: plan.Model{Geometry: g}}
	roomy := func(in plan.Input) (plan.Plan, error) {
		return plan.Plan{MTP: in.Wish.MTP, Rollback: in.Wish.Rollback}, nil
	}
	short := func(in plan.Input) (plan.Plan, error) {
		if in.Wish.MTP > 0 {
			return plan.Plan{}, &plan.RefusedError{}
		}
		return roomy(in)
	}
	for _, c := range []struct {
		mode string
		make func(plan.Input) (plan.Plan, error)
		mtp  int
		note bool
		ok   bool
	}{
		{"auto", roomy, usualRollback, false, true}, {"auto", short, 0, true, true},
		{"mtp", roomy, usualRollback, false, true}, {"mtp", short, 0, false, false}, {"off", short, 0, false, true},
	} {
		o := specOptions{mode: c.mode}
		p, err := o.planGuesses(in, c.make)
		if p.MTP != c.mtp || p.Rollback != 0 || (len(p.Notes) > 0) != c.note || (err == nil) != c.ok {
			t.Errorf("%s: depth %d, rollback %d, notes %q, %v", c.mode, p.MTP, p.Rollback, p.Notes, err)
		}
	}
}
