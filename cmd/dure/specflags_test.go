package main

import (
	"testing"

	"dure/gguf"
	"dure/inference/catalog"
)

func TestSpecFlags(t *testing.T) {
	for _, c := range []struct {
		o  specOptions
		ok bool
	}{
		{specOptions{mode: "auto"}, true},
		{specOptions{mode: "ngram", depth: 63}, true},
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
