package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// FileError is something wrong in a catalog file.
type FileError struct {
	File    string
	Line    int // from 1; 0 where it is the whole file
	Message string
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// position is a place in a file.
type position struct {
	file string
	line int
}

func (p position) errorf(format string, args ...any) error {
	return &FileError{File: p.file, Line: p.line, Message: fmt.Sprintf(format, args...)}
}

// Decode reads a catalog. name is its file name, for messages. Every fault of
// the form and of the values is a *FileError, all of them joined in the order of
// their lines. Whether the default names an entry is for Merge to say: it may be
// in another file.
func Decode(name string, data []byte) (*Catalog, error) {
	// The parser would name a key that is there twice without its entry.
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, yamlError(name, err)
	}
	body, err := onlyDocument(name, file)
	if err != nil {
		return nil, err
	}
	w := &walker{file: name, lines: map[string]int{}}
	w.walk(body, reflect.TypeFor[Catalog](), "")
	if err := w.err(); err != nil {
		return nil, err
	}
	c := &Catalog{}
	if err := yaml.NodeToValue(body, c, yaml.Strict()); err != nil {
		return nil, yamlError(name, err)
	}
	c.defaultAt = position{name, w.line("default")}
	w.validate(c)
	if err := w.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// onlyDocument is the body of the file.
func onlyDocument(name string, file *ast.File) (ast.Node, error) {
	if len(file.Docs) > 1 {
		line := 0
		switch second := file.Docs[1]; {
		case second.Start != nil:
			line = second.Start.Position.Line
		case second.Body != nil:
			line = second.Body.GetToken().Position.Line
		}
		return nil, position{name, line}.errorf("a second YAML document begins here and would not be read: put all entries into one, under one key models")
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil || file.Docs[0].Body.Type() == ast.NullType {
		return nil, position{name, 1}.errorf("the file is empty, or begins with an empty YAML document: write one with the key models and a list of entries (models: [] for none), or remove the file")
	}
	return file.Docs[0].Body, nil
}

func yamlError(name string, err error) error {
	var known yaml.Error
	if !errors.As(err, &known) {
		return position{file: name}.errorf("%v", err)
	}
	line := 0
	if t := known.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	if m := known.GetMessage(); strings.Contains(m, "\t") || strings.Contains(m, "tab character") {
		return position{name, line}.errorf("there is a tab where YAML has none: use spaces")
	}
	return position{name, line}.errorf("%s", known.GetMessage())
}

// walker goes through the syntax tree beside the type it will be decoded into:
// it notes the line of every value and complains about what has no place there.
type walker struct {
	file  string
	lines map[string]int // by path, for example "models[0].sha256"
	errs  []*FileError
}

func (w *walker) complain(line int, format string, args ...any) {
	w.errs = append(w.errs, &FileError{File: w.file, Line: line, Message: fmt.Sprintf(format, args...)})
}

func (w *walker) err() error {
	slices.SortStableFunc(w.errs, func(a, b *FileError) int { return cmp.Compare(a.Line, b.Line) })
	var all []error
	for _, e := range w.errs {
		all = append(all, e)
	}
	return errors.Join(all...)
}

// line is that of the value at path, or of the nearest thing around it.
func (w *walker) line(path string) int {
	for {
		if line, ok := w.lines[path]; ok {
			return line
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			return w.lines[""]
		}
		path = path[:cut]
	}
}

func (w *walker) walk(node ast.Node, t reflect.Type, path string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if _, ok := w.lines[path]; !ok {
		w.lines[path] = node.GetToken().Position.Line
	}
	line := node.GetToken().Position.Line
	switch n := node.(type) {
	case *ast.MappingNode:
		w.walkMapping(n, t, path)
	case *ast.SequenceNode:
		if t.Kind() != reflect.Slice {
			w.complain(line, "%s: want %s, found a list", where(path), kindName(t))
			return
		}
		for i, v := range n.Values {
			w.walk(v, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		w.complain(line, "%s: anchors, aliases and tags are not used in this file; write the value out", where(path))
	case *ast.NullNode:
		w.complain(line, "%s: the value is missing", where(path))
	default:
		if t.Kind() == reflect.Struct || t.Kind() == reflect.Slice {
			w.complain(line, "%s: want %s, found %s", where(path), kindName(t), node.String())
		}
	}
}

func (w *walker) walkMapping(n *ast.MappingNode, t reflect.Type, path string) {
	if t.Kind() != reflect.Struct {
		w.complain(n.GetToken().Position.Line, "%s: want %s, found keys", where(path), kindName(t))
		return
	}
	known, seen := fields(t), map[string]int{}
	for _, v := range n.Values {
		key := v.Key.GetToken()
		field, ok := known[key.Value]
		if _, scalar := v.Key.(*ast.StringNode); !scalar || !ok {
			names := make([]string, 0, len(known))
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			w.complain(key.Position.Line, "%s: unknown key %q%s; known are %s", where(path), key.Value, DidYouMean(key.Value, names), strings.Join(names, ", "))
			continue
		}
		below := key.Value
		if path != "" {
			below = path + "." + key.Value
		}
		if first, twice := seen[key.Value]; twice {
			w.complain(key.Position.Line, "%s is there twice, first in line %d", below, first)
			continue
		}
		seen[key.Value] = key.Position.Line
		w.lines[below] = key.Position.Line
		w.walk(v.Value, field, below)
	}
}

// fields are the keys that a struct is decoded from.
func fields(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" {
			all[name] = t.Field(i).Type
		}
	}
	return all
}

func where(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		return "keys"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "text"
	}
	return "a number"
}
