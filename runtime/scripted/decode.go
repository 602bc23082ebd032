package scripted

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Decode reads a script and checks it. name is that of the file, for messages.
func Decode(name string, data []byte) (s *Script, err error) {
	defer func() { // the reader of YAML has nil pointers on some malformed files
		if broken := recover(); broken != nil {
			s, err = nil, fmt.Errorf("script %s: not YAML that can be read: %v", name, broken)
		}
	}()
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	var bodies []ast.Node
	for _, d := range file.Docs {
		if d.Body != nil {
			bodies = append(bodies, d.Body)
		}
	}
	if len(file.Docs) > 1 {
		return nil, fmt.Errorf("script %s: it has %d YAML documents, of which one would be read: put all into one", name, len(file.Docs))
	}
	if len(bodies) == 0 || bodies[0].Type() == ast.NullType {
		return nil, fmt.Errorf("script %s: it is empty: write the key parts and a list", name)
	}
	s = &Script{}
	if err := yaml.UnmarshalWithOptions(data, s, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	if _, err := compile(s); err != nil {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	return s, nil
}

// Encode writes a script that Decode reads.
func Encode(s *Script) ([]byte, error) {
	b, err := yaml.MarshalWithOptions(s, yaml.OmitEmpty(), yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		return nil, fmt.Errorf("write script: %w", err)
	}
	return b, nil
}

// roles are those that the swarm has.
var roles = []string{"lead", "planner", "worker", "judge", "merger"}

// unknownFill is the first {{word}} of a text that is not among known.
func unknownFill(text string, known []string) string {
	for _, m := range blank.FindAllStringSubmatch(text, -1) {
		found := false
		for _, k := range known {
			found = found || k == m[1]
		}
		if !found {
			return strings.Trim(m[0], "{}")
		}
	}
	return ""
}
