package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/front"
)

// two models, of which the one that is opened is noted.
type twoModels struct{ opened *string }

func (m twoModels) Open(_ context.Context, name string, _ time.Duration) (inference.Model, func(), error) {
	*m.opened = name
	return nil, func() {}, nil
}

func (twoModels) List() []front.Listing {
	return []front.Listing{{Name: "small", Default: true, Context: 512}, {Name: "big"}}
}

func TestCopies(t *testing.T) {
	home := t.TempDir()
	known := func() []string { return []string{"small", "big"} }
	c, err := openCopies(home, known)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		from, to string
		want     error
		says     string
	}{
		{"none", "x", inference.ErrModelNotFound, "not in the catalogue"},
		{"small", "big", inference.ErrInvalidRequest, "has a model of that name"},
		{"small", "../x", inference.ErrInvalidRequest, "a name has letters"},
		{"small", "a b", inference.ErrInvalidRequest, "a name has letters"},
		{"small", strings.Repeat("x", 101), inference.ErrInvalidRequest, "a name has letters"},
	} {
		if err := c.add(bad.from, bad.to); !errors.Is(err, bad.want) || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%s as %s: %v", bad.from, bad.to, err)
		}
	}
	for _, to := range []string{"mine", "library/mine:v2"} {
		if err := c.add("small", to); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.add("mine", "of-a-copy"); err != nil || c.model("of-a-copy") != "small" {
		t.Errorf("a copy of a copy is one of the model: %s %v", c.model("of-a-copy"), err)
	}
	if c, err = openCopies(home, known); err != nil { // after a restart
		t.Fatal(err)
	}
	var opened string
	m := copied{twoModels{&opened}, c}
	var names []string
	for _, row := range m.List() {
		names = append(names, row.Name)
		if row.Name == "mine" && (row.Context != 512 || row.Default) {
			t.Errorf("%+v", row)
		}
	}
	if !slices.Equal(names, []string{"small", "big", "library/mine:v2", "mine", "of-a-copy"}) {
		t.Errorf("listed: %v", names)
	}
	if _, _, err := m.Open(t.Context(), "mine", 0); err != nil || opened != "small" {
		t.Errorf("opened %s: %v", opened, err)
	}
	if was, err := c.remove("mine"); !was || err != nil || c.model("mine") != "mine" {
		t.Errorf("removed: %v %v", was, err)
	}
	if was, err := c.remove("small"); was || err != nil {
		t.Errorf("the model itself is no copy: %v %v", was, err)
	}
	if err := os.WriteFile(copiesFile(home), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openCopies(home, known); err == nil || !strings.Contains(err.Error(), "mend or delete") {
		t.Errorf("a broken file: %v", err)
	}
}
