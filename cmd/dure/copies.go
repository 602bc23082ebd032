package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"dure/inference"
	"dure/inference/front"
)

// copies are further names of models that a client gave them (POST /api/copy of
// Ollama's API). A copy is a name and nothing else: the file, the entry in models.yaml
// and what is loaded are those of the model.
type copies struct {
	file  string
	names func() []string // of the catalogue

	mu sync.Mutex
	of map[string]string // model by copy
}

// copiesFile is where they are kept.
func copiesFile(home string) string { return filepath.Join(home, "copies-1.json") }

const maxCopies = 1000

// openCopies reads what was kept. A file that cannot be read is an error: writing it
// anew would lose names.
func openCopies(home string, names func() []string) (*copies, error) {
	c := &copies{file: copiesFile(home), names: names, of: map[string]string{}}
	data, err := os.ReadFile(c.file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &c.of)
	}
	if err != nil {
		return nil, fmt.Errorf("copies of models: %s: %w; mend or delete the file", c.file, err)
	}
	return c, nil
}

// copyName is what a copy may be called.
var copyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$`)

// model is the model that a name stands for: itself, unless it is a copy's.
func (c *copies) model(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, ok := c.of[name]; ok {
		return m
	}
	return name
}

// add gives a model a further name.
func (c *copies) add(model, name string) error {
	known := c.names()
	model = c.model(model)
	switch {
	case !slices.Contains(known, model):
		return inference.Errorf(inference.CodeModelNotFound, "it is not in the catalogue; dure list shows what is")
	case !copyName.MatchString(name):
		return inference.Errorf(inference.CodeInvalidRequest, "destination %.100q: a name has letters, digits and . _ : / - and begins with one of the first two", name)
	case slices.Contains(known, name):
		return inference.Errorf(inference.CodeInvalidRequest, "destination %q: models.yaml has a model of that name", name)
	}
	return c.change(func(of map[string]string) error {
		if of[name] = model; len(of) > maxCopies {
			return inference.Errorf(inference.CodeInvalidRequest, "there are %d copies already; delete some", maxCopies)
		}
		return nil
	})
}

// remove takes a name away; false where it is none of a copy.
func (c *copies) remove(name string) (bool, error) {
	if c.model(name) == name {
		return false, nil
	}
	return true, c.change(func(of map[string]string) error { delete(of, name); return nil })
}

// change keeps the file and the names in step.
func (c *copies) change(do func(of map[string]string) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := maps.Clone(c.of)
	if err := do(next); err != nil {
		return err
	}
	if err := writeJSON(c.file, next); err != nil {
		return fmt.Errorf("copies of models: %w", err)
	}
	c.of = next
	return nil
}

// names of the copies of a model, in order; of all where it is empty.
func (c *copies) list(model string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for name, m := range c.of {
		if model == "" || m == model {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// copied are models under all their names.
type copied struct {
	front.Models
	copies *copies
}

// Open implements front.Models.
func (m copied) Open(ctx context.Context, name string, keep time.Duration) (inference.Model, func(), error) {
	return m.Models.Open(ctx, m.copies.model(name), keep)
}

// List implements front.Models. Copies stand behind the models.
func (m copied) List() []front.Listing {
	list := m.Models.List()
	rows := map[string]front.Listing{}
	for _, row := range list {
		rows[row.Name] = row
	}
	for _, name := range m.copies.list("") {
		if row, ok := rows[m.copies.model(name)]; ok {
			row.Name, row.Default = name, false
			list = append(list, row)
		}
	}
	return list
}
