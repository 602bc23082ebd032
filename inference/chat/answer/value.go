package answer

import (
	"encoding/json"
	"slices"
	"strings"

	"dure/inference"
)

// tool is what the parser needs of a tool: how its arguments are typed.
type tool struct {
	properties map[string]*schema
	required   []string
	root       *schema
}

// schema is the part of a JSON Schema that says what kinds of values there are.
type schema struct {
	Type       json.RawMessage    `json:"type"`
	Enum       []json.RawMessage  `json:"enum"`
	Const      json.RawMessage    `json:"const"`
	AnyOf      []*schema          `json:"anyOf"`
	OneOf      []*schema          `json:"oneOf"`
	AllOf      []*schema          `json:"allOf"`
	Ref        string             `json:"$ref"`
	Defs       map[string]*schema `json:"$defs"`
	Old        map[string]*schema `json:"definitions"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
}

// readTool reads a tool's schema. One that cannot be read as a schema says
// nothing about kinds; whether it is valid is for the surfaces to check.
func readTool(t inference.Tool) *tool {
	out := &tool{root: &schema{}}
	if len(t.Parameters) == 0 || json.Unmarshal(t.Parameters, out.root) != nil {
		return out
	}
	root := out.root.follow(out.root, maxRefs)
	out.properties, out.required = root.Properties, root.Required
	return out
}

// maxRefs is how many references are followed to find what kinds a value has.
const maxRefs = 16

func (s *schema) follow(root *schema, left int) *schema {
	name, ok := strings.CutPrefix(s.Ref, "#/$defs/")
	defs := root.Defs
	if !ok {
		name, ok = strings.CutPrefix(s.Ref, "#/definitions/")
		defs = root.Old
	}
	if target := defs[name]; ok && target != nil && left > 0 {
		return target.follow(root, left-1)
	}
	return s
}

// kinds adds the names of the kinds of values that a schema speaks of.
func (s *schema) kinds(root *schema, left int, out []string) []string {
	if s == nil || left == 0 {
		return out
	}
	s = s.follow(root, left)
	var one string
	var many []string
	if json.Unmarshal(s.Type, &one) == nil {
		out = append(out, one)
	} else if json.Unmarshal(s.Type, &many) == nil {
		out = append(out, many...)
	}
	if len(s.Type) == 0 {
		for _, v := range append(slices.Clip(s.Enum), s.Const) {
			out = append(out, kindOf(v)...)
		}
	}
	for _, list := range [][]*schema{s.AnyOf, s.OneOf, s.AllOf} {
		for _, sub := range list {
			out = sub.kinds(root, left-1, out)
		}
	}
	return out
}

func kindOf(v json.RawMessage) []string {
	text := strings.TrimSpace(string(v))
	if text == "" {
		return nil
	}
	switch text[0] {
	case '"':
		return []string{"string"}
	case '{':
		return []string{"object"}
	case '[':
		return []string{"array"}
	case 't', 'f':
		return []string{"boolean"}
	case 'n':
		return []string{"null"}
	}
	return []string{"number"}
}

// text says that a value of this name is text and nothing else, so that it can
// go out while it is written.
func (t *tool) text(key string) bool {
	kinds := t.properties[key].kinds(t.root, maxRefs, nil)
	return len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k string) bool { return k != "string" })
}

// value makes JSON of what stands between the tags of a parameter: text where the
// schema allows text and the value is of none of the other kinds, JSON where it is
// some, text otherwise.
func (t *tool) value(key, raw string) string {
	kinds := t.properties[key].kinds(t.root, maxRefs, nil)
	out, ok := mend(raw)
	if !ok || out[0] == '"' && slices.Contains(kinds, "string") {
		return jsonString(raw)
	}
	if slices.Contains(kinds, "string") && !slices.ContainsFunc(kinds, func(k string) bool { return matches(k, out) }) {
		return jsonString(raw)
	}
	return out
}

// matches says that JSON is of a kind other than text.
func matches(kind, value string) bool {
	is := kindOf(json.RawMessage(value))[0]
	return is == kind || is == "number" && kind == "integer"
}

// single is the name of a tool's only parameter, where there is one plain choice.
func (t *tool) single() (string, bool) {
	if len(t.required) == 1 {
		return t.required[0], true
	}
	if len(t.properties) == 1 {
		for name := range t.properties {
			return name, true
		}
	}
	return "", false
}
