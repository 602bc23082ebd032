package mcp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dure/runtime/tool"
)

// Bounds of what a server says of its tools. All of it is in the prompt of every turn.
const (
	maxTools       = 64
	maxDescription = 4 << 10  // bytes of a description, of a tool or in a schema
	maxSchema      = 16 << 10 // bytes of one schema
	maxSpecs       = 64 << 10 // bytes of all schemas and descriptions together
	maxDepth       = 16       // objects and lists within each other, in a schema
	maxKey         = 128      // bytes of a member's name, in a schema
)

// goodTool leaves room for the server's name before it: models and their servers take 64.
var goodTool = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// read checks what a server says of its tools and makes specs of it. names are what the
// server calls them, in the same order: sorted, so that the prompt is the same each time.
func read(server string, tools []*sdk.Tool) (specs []tool.Spec, names []string, err error) {
	if len(tools) == 0 || len(tools) > maxTools {
		return nil, nil, fmt.Errorf("%w: it has %d tools; 1 to %d are possible", ErrRefused, len(tools), maxTools)
	}
	if slices.Contains(tools, nil) {
		return nil, nil, fmt.Errorf("%w: a tool of it is null", ErrRefused)
	}
	tools = slices.Clone(tools)
	slices.SortFunc(tools, func(a, b *sdk.Tool) int { return strings.Compare(a.Name, b.Name) })
	total := 0
	for i, t := range tools {
		if i > 0 && t.Name == tools[i-1].Name {
			return nil, nil, fmt.Errorf("%w: it has two tools named %q", ErrRefused, t.Name)
		}
		spec, err := specOf(server, t)
		if err != nil {
			return nil, nil, err
		}
		if total += len(spec.Description) + len(spec.Schema); total > maxSpecs {
			return nil, nil, fmt.Errorf("%w: its tools take more than %d bytes to describe", ErrRefused, maxSpecs)
		}
		specs, names = append(specs, spec), append(names, t.Name)
	}
	return specs, names, nil
}

func specOf(server string, t *sdk.Tool) (tool.Spec, error) {
	if !goodTool.MatchString(t.Name) {
		return tool.Spec{}, fmt.Errorf("%w: the name %.100q of a tool is not 1 to 64 letters, digits, '-' or '_'", ErrRefused, t.Name)
	}
	refuse := func(format string, args ...any) (tool.Spec, error) {
		return tool.Spec{}, fmt.Errorf("%w: tool %s: %s", ErrRefused, t.Name, fmt.Sprintf(format, args...))
	}
	if len(t.Description) > maxDescription {
		return refuse("a description of %d bytes; %d are possible", len(t.Description), maxDescription)
	}
	object, ok := t.InputSchema.(map[string]any)
	if !ok || object["type"] != "object" {
		return refuse("its schema is not that of an object")
	}
	if err := checkSchema(object, maxDepth); err != nil {
		return refuse("its schema has %v", err)
	}
	schema, err := json.Marshal(object) // with sorted members
	if err != nil {
		return refuse("its schema: %v", err)
	}
	if len(schema) > maxSchema {
		return refuse("a schema of %d bytes; %d are possible", len(schema), maxSchema)
	}
	return tool.Spec{Name: server + "." + t.Name, Description: told(server, t.Description), Schema: schema}, nil
}

// told is a description as a model reads it: a stranger's, on one line, which cannot end
// what is around it.
func told(server, description string) string {
	words := strings.Join(strings.FieldsFunc(strings.ToValidUTF8(description, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if words == "" {
		return fmt.Sprintf("A tool of the tool server %s, which says nothing about it.", server)
	}
	return fmt.Sprintf("A tool of the tool server %s, which says of it: %q", server, words)
}

// checkSchema refuses what would cost, mislead or reach outside: a depth, names and texts
// without bounds, characters that only a display or a reader's eye is meant for, and
// references to anywhere but the schema itself.
func checkSchema(v any, depth int) error {
	if depth == 0 {
		return fmt.Errorf("more than %d levels", maxDepth)
	}
	switch v := v.(type) {
	case string:
		if len(v) > maxDescription {
			return fmt.Errorf("a text of %d bytes; %d are possible", len(v), maxDescription)
		}
		return plain(v)
	case []any:
		for _, e := range v {
			if err := checkSchema(e, depth-1); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, e := range v {
			if len(key) > maxKey {
				return fmt.Errorf("a name of %d bytes; %d are possible", len(key), maxKey)
			}
			if err := plain(key); err != nil {
				return err
			}
			if to, ok := e.(string); ok && strings.HasSuffix(strings.ToLower(key), "ref") && strings.HasPrefix(key, "$") && !strings.HasPrefix(to, "#") {
				return fmt.Errorf("a reference to %.100q, which is outside of it", to)
			}
			if err := checkSchema(e, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// plain refuses characters that hide or rearrange others.
func plain(s string) error {
	for _, r := range s {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' || unicode.Is(unicode.Cf, r) {
			return fmt.Errorf("the character %U, which nobody sees", r)
		}
	}
	return nil
}
