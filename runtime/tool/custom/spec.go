package custom

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"dure/runtime/tool"
	"dure/runtime/tool/builtin"
)

// A Spec describes a tool.
type Spec struct {
	Name        string     `yaml:"name"`
	Description string     `yaml:"description"`
	Command     string     `yaml:"command"`    // for sh -c, in the workspace
	Parameters  Parameters `yaml:"parameters"` // none: the command takes nothing
}

// Parameters are a JSON Schema of a flat object.
type Parameters struct {
	Type string `yaml:"type"` // object, or nothing
	// Properties keep their order: it is that of the prompt.
	Properties yaml.MapSlice `yaml:"properties"`
	Required   []string      `yaml:"required"`
	// AdditionalProperties may be there to be false, which it is.
	AdditionalProperties *bool `yaml:"additionalProperties"`
}

// property is the schema of one parameter.
type property struct {
	Type        tool.Type `yaml:"type"`
	Description string    `yaml:"description"`
	Enum        []any     `yaml:"enum"`
}

// Bounds of a description, so that no tool takes the room of the task in a prompt.
const (
	maxDescription = 2000
	maxProperties  = 12
	maxEnum        = 50
	maxCommand     = 16 << 10
)

var (
	goodTool  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	goodField = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
)

// Decode reads descriptions of tools: a YAML list. The error names the tool and what is
// wrong with it.
func Decode(data []byte) (specs []Spec, err error) {
	defer func() { // the reader of YAML has nil pointers on some malformed files
		if broken := recover(); broken != nil {
			specs, err = nil, fmt.Errorf("tools: not YAML that can be read: %v", broken)
		}
	}()
	dec := yaml.NewDecoder(strings.NewReader(string(data)), yaml.Strict())
	if err := dec.Decode(&specs); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("tools: %w", err)
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("tools: more than one YAML document: put all tools into one list")
	}
	for i, s := range specs {
		if _, err := s.spec(); err != nil {
			return nil, fmt.Errorf("tools: number %d (%s): %w", i+1, s.Name, err)
		}
		if slices.ContainsFunc(specs[:i], func(o Spec) bool { return tool.Same(o.Name, s.Name) }) {
			return nil, fmt.Errorf("tools: %s is there twice", s.Name)
		}
	}
	return specs, nil
}

// spec is what models are told, or why that cannot be.
func (s Spec) spec() (tool.Spec, error) {
	t := tool.Spec{Name: s.Name, Description: strings.TrimSpace(s.Description)}
	switch {
	case !goodTool.MatchString(s.Name):
		return t, fmt.Errorf("name %q: want a small letter, then small letters, digits and _, 40 at most", s.Name)
	case slices.ContainsFunc(builtin.Names(), func(n string) bool { return tool.Same(n, s.Name) }):
		return t, fmt.Errorf("name %q is that of a tool of dure's own; choose another", s.Name)
	case t.Description == "" || len(t.Description) > maxDescription:
		return t, fmt.Errorf("description has %d bytes; want 1 to %d: it is all that models know of the tool", len(t.Description), maxDescription)
	case strings.TrimSpace(s.Command) == "" || len(s.Command) > maxCommand || strings.ContainsRune(s.Command, 0):
		return t, fmt.Errorf("command has %d bytes; want 1 to %d, and no NUL: put a longer one into a script", len(s.Command), maxCommand)
	}
	fields, err := s.Parameters.fields()
	t.Fields = fields
	return t, err
}

func (p Parameters) fields() ([]tool.Field, error) {
	switch {
	case p.Type != "" && p.Type != "object":
		return nil, fmt.Errorf("parameters: type %q: want object", p.Type)
	case p.AdditionalProperties != nil && *p.AdditionalProperties:
		return nil, errors.New("parameters: additionalProperties can only be false: a tool takes what it names")
	case len(p.Properties) > maxProperties:
		return nil, fmt.Errorf("parameters: %d of them; %d at most", len(p.Properties), maxProperties)
	}
	var fields []tool.Field
	for _, item := range p.Properties {
		name, ok := item.Key.(string)
		if !ok || !goodField.MatchString(name) {
			return nil, fmt.Errorf("parameter %v: want a small letter, then small letters, digits and _, 40 at most", item.Key)
		}
		if slices.ContainsFunc(fields, func(f tool.Field) bool { return tool.Same(f.Name, name) }) {
			return nil, fmt.Errorf("parameter %s: there is another of nearly that name", name)
		}
		f, err := field(name, item.Value)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		f.Required = slices.Contains(p.Required, name)
		fields = append(fields, f)
	}
	for i, name := range p.Required {
		if !slices.ContainsFunc(fields, func(f tool.Field) bool { return f.Name == name }) || slices.Contains(p.Required[:i], name) {
			return nil, fmt.Errorf("parameters: required names %q, which is no property, or twice", name)
		}
	}
	return fields, nil
}

// field is one parameter. Keywords of JSON Schema that are not understood are errors: a
// limit that nobody keeps is worse than none.
func field(name string, schema any) (tool.Field, error) {
	f := tool.Field{Name: name}
	b, err := yaml.Marshal(schema)
	if err != nil {
		return f, err
	}
	var p property
	if err := yaml.UnmarshalWithOptions(b, &p, yaml.Strict()); err != nil {
		return f, fmt.Errorf("want type, description and enum, and nothing else: %w", err)
	}
	switch p.Type {
	case "":
		p.Type = tool.Text
	case tool.Text, tool.Number, tool.Integer, tool.Boolean:
	default:
		return f, fmt.Errorf("type %q: want string, number, integer or boolean", p.Type)
	}
	f.Type, f.Description = p.Type, strings.TrimSpace(p.Description)
	if len(f.Description) > maxDescription || len(p.Enum) > maxEnum {
		return f, fmt.Errorf("a description of %d bytes and %d values; %d and %d at most", len(f.Description), len(p.Enum), maxDescription, maxEnum)
	}
	for _, e := range p.Enum {
		value := fmt.Sprint(e)
		// What is not of the type, or not written as it is read, could never be given.
		args, err := (tool.Spec{Name: name, Fields: []tool.Field{{Name: name, Type: p.Type}}}).Parse(fmt.Sprintf("{%q:%s}", name, quoted(value)))
		if err != nil || args[name] != value || slices.Contains(f.Enum, value) {
			return f, fmt.Errorf("enum: %v is no %s, or there twice", e, p.Type)
		}
		f.Enum = append(f.Enum, value)
	}
	return f, nil
}
