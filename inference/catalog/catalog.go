package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dure/inference"
)

// Catalog is a list of models.
type Catalog struct {
	// DefaultName is the model that is used where none is named; may be empty.
	DefaultName string  `yaml:"default"`
	Entries     []Entry `yaml:"models"`
	// Roles are the models of a swarm's roles.
	Roles Team `yaml:"roles"`

	defaultAt position
	rolesAt   map[string]position
}

// Entry is one model.
type Entry struct {
	Name   string `yaml:"name"`
	Source Source `yaml:"source"`
	// SHA256 is that of the GGUF file in hexadecimal, Bytes its size. Both may be
	// empty for a path, a file put here by hand and a hub's file, whose hash the
	// hub tells and a pin keeps; they are empty for shards and endpoints.
	SHA256  string `yaml:"sha256"`
	Bytes   int64  `yaml:"bytes"`
	Licence string `yaml:"licence"`
	// Rights says what else its makers ask for; may be empty.
	Rights string   `yaml:"rights"`
	Roles  []string `yaml:"roles"`
	// Architecture is what the file must say of itself; empty is anything.
	Architecture string `yaml:"architecture"`
	// Memory is what it takes on a card once it is loaded, in bytes, as its makers
	// say, for models whose file does not tell; 0 where the file does.
	Memory int64 `yaml:"memory"`
	// KeepAlive is how long it stays loaded without a request, such as 10m; empty is
	// the server's time, -1 for ever.
	KeepAlive string `yaml:"keep_alive"`
	// Pinned models are never unloaded to make room for others.
	Pinned bool `yaml:"pinned"`
	// Turns are groups of whose members one is loaded at a time; Together groups whose
	// members are loaded together and never make room for each other.
	Turns    []string `yaml:"turns"`
	Together []string `yaml:"together"`
	// Draft names a smaller model of the same vocabulary that guesses tokens for this
	// one; empty for none.
	Draft    string   `yaml:"draft"`
	Defaults Defaults `yaml:"defaults"`
	// Embedding is what a model for embeddings is known for and its file does not tell.
	Embedding Embedding `yaml:"embedding"`
}

// Embedding says how a model makes vectors.
type Embedding struct {
	// Shortest is the fewest numbers that a vector may be shortened to, as the model's
	// makers trained it; 0 is that it may not.
	Shortest int `yaml:"shortest"`
	// Pooling is for files that do not tell it: mean, cls or last.
	Pooling string `yaml:"pooling"`
}

// Defaults is what a request gets that does not say otherwise.
type Defaults struct {
	Context     int      `yaml:"context"`     // tokens; 0 derives it
	Sequences   int      `yaml:"sequences"`   // 0 derives it
	Temperature *float32 `yaml:"temperature"` // nil is inference's default, as below
	TopP        *float32 `yaml:"top_p"`
	TopK        *int     `yaml:"top_k"`
	MinP        *float32 `yaml:"min_p"`
}

// Params are the sampling parameters that these defaults make.
func (d Defaults) Params() inference.Params {
	p := inference.DefaultParams()
	set(&p.Temperature, d.Temperature)
	set(&p.TopP, d.TopP)
	set(&p.TopK, d.TopK)
	set(&p.MinP, d.MinP)
	return p
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// maxFile is far more than a catalog needs.
const maxFile = 4 << 20

// Load decodes the catalog file at path: a regular file of at most 4 MiB, since
// others can hang or fill the memory.
func Load(path string) (*Catalog, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, &FileError{File: path, Message: fmt.Sprintf("want a regular file of at most %d bytes, this is %s of %d", maxFile, info.Mode().Type(), info.Size())}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return Decode(path, data)
}

// UserFile is the path of the user's own catalog.
func UserFile(home string) string { return filepath.Join(home, "models.yaml") }

// Open decodes the built-in catalog and merges the user's own file of the home
// folder into it where there is one.
func Open(home string, builtin []byte) (*Catalog, error) {
	base, err := Decode("built-in models.yaml", builtin)
	if err != nil {
		return nil, err
	}
	own, err := Load(UserFile(home))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return Merge(base, own)
}

// Merge returns the entries of base with those of over added; an entry of over
// replaces the one of its name, its default that of base, and a role's model the one
// of that role. over may be nil. It is an error if the resulting default, or a role's
// model, names no entry.
func Merge(base, over *Catalog) (*Catalog, error) {
	merged := &Catalog{DefaultName: base.DefaultName, defaultAt: base.defaultAt, Entries: slices.Clone(base.Entries)}
	if over != nil {
		if over.DefaultName != "" {
			merged.DefaultName, merged.defaultAt = over.DefaultName, over.defaultAt
		}
		for _, e := range over.Entries {
			if i := slices.IndexFunc(merged.Entries, func(m Entry) bool { return m.Name == e.Name }); i >= 0 {
				merged.Entries[i] = e
			} else {
				merged.Entries = append(merged.Entries, e)
			}
		}
	}
	if _, ok := merged.Find(merged.DefaultName); merged.DefaultName != "" && !ok {
		return nil, merged.defaultAt.errorf("default: there is no model %q%s; there are %s", merged.DefaultName,
			DidYouMean(merged.DefaultName, merged.Names()), strings.Join(merged.Names(), ", "))
	}
	if err := merged.mergeRoles(base, over); err != nil {
		return nil, err
	}
	return merged, nil
}

// Find returns the entry of this name.
func (c *Catalog) Find(name string) (Entry, bool) {
	for _, e := range c.Entries {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}

// Names are the names of all entries, in the file's order.
func (c *Catalog) Names() []string {
	var names []string
	for _, e := range c.Entries {
		names = append(names, e.Name)
	}
	return names
}

// Resolve returns the entry that a user means: one of this name, the default for
// "", or a made-up entry for the path of a GGUF file (anything with a slash or
// the ending .gguf). Errors are *inference.Error with CodeModelNotFound.
func (c *Catalog) Resolve(nameOrPath string) (Entry, error) {
	name := nameOrPath
	if name == "" {
		if name = c.DefaultName; name == "" {
			return Entry{}, inference.Errorf(inference.CodeModelNotFound, "no model is named and models.yaml has no default; there are %s", strings.Join(c.Names(), ", "))
		}
	}
	if e, ok := c.Find(name); ok {
		return e, nil
	}
	if strings.Contains(name, "/") || strings.HasSuffix(name, ".gguf") {
		return c.resolvePath(name)
	}
	return Entry{}, inference.Errorf(inference.CodeModelNotFound, "there is no model %q%s; there are %s; the path of a GGUF file works too",
		name, DidYouMean(name, c.Names()), strings.Join(c.Names(), ", "))
}

func (c *Catalog) resolvePath(path string) (Entry, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		err = checkGGUF(abs)
	}
	if err != nil {
		hint := ""
		if name := strings.TrimSuffix(path, ".gguf"); !strings.Contains(name, "/") { // it may be the name of an entry
			hint = DidYouMean(name, c.Names())
		}
		return Entry{}, inference.Errorf(inference.CodeModelNotFound, "model file %s: %v%s", path, err, hint)
	}
	return Entry{Name: strings.TrimSuffix(filepath.Base(abs), ".gguf"), Source: Source{Path: abs}}, nil
}
