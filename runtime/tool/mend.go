package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// object reads the arguments of a call, from around which everything is taken that
// cannot be a part of them.
func (s Spec) object(arguments string) ([]member, error) {
	members, err := lenient(arguments)
	// Objects within objects within texts: there is no fourth.
	for range 3 {
		if err != nil {
			return nil, err
		}
		inner, ok := s.inner(members)
		if !ok {
			return members, nil
		}
		members, err = lenient(inner)
	}
	return members, err
}

// meant is the text of the arguments as they are meant. Those of a tool with a Schema
// keep the model's names and values: what they mean is for the tool to say.
func (s Spec) meant(arguments string) (string, error) {
	if s.Schema == nil {
		args, err := s.Parse(arguments)
		return s.Format(args), err
	}
	members, err := lenient(arguments)
	if err != nil {
		return "", fmt.Errorf("arguments of %s: %w", s.Name, err)
	}
	b := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, encode(m.name)...), ':'), m.value...)
	}
	return string(append(b, '}')), nil
}

// lenient reads an object in a text that may have a fence around it, be a JSON string
// itself, or have raw line breaks in its strings.
func lenient(text string) ([]member, error) {
	text = Unfence(strings.TrimSpace(text))
	if text == "" {
		return nil, errors.New("there are none: not a JSON object but an empty text")
	}
	var within string
	if text[0] == '"' && json.Unmarshal([]byte(text), &within) == nil {
		text = Unfence(strings.TrimSpace(within))
	}
	members, err := object(text)
	if err == nil {
		return members, nil
	}
	if mended := mend(text); mended != text {
		if members, second := object(mended); second == nil {
			return members, nil
		}
	}
	return nil, err
}

// wrappings are what models call the arguments, and what they write beside them.
var (
	wrappings = []string{"arguments", "parameters", "params", "args", "input", "tool_input", "kwargs"}
	besides   = []string{"name", "tool", "tool_name", "function", "type", "id"}
)

// inner is the text of the arguments that lie within arguments, where nothing else can
// be meant: the tool has no such field, and what is beside them only names it.
func (s Spec) inner(members []member) (text string, ok bool) {
	for _, m := range members {
		switch {
		case s.field(m.name) >= 0:
			return "", false
		case slices.Contains(wrappings, m.name) && !ok && (m.value[0] == '{' || m.value[0] == '"'):
			text, ok = string(m.value), true
		case !slices.Contains(besides, m.name) || m.value[0] != '"':
			return "", false
		}
	}
	return text, ok
}

// Unfence takes Markdown's fence from around a text: a first line of ``` and perhaps a
// language, and a last line of ```. A text without both, or with such lines within, is
// returned as it is.
func Unfence(text string) string {
	first, rest, ok := strings.Cut(text, "\n")
	language, fenced := strings.CutPrefix(strings.TrimRight(first, " \t\r"), "```")
	if !ok || !fenced || strings.ContainsAny(language, "` \t") {
		return text
	}
	trimmed := strings.TrimRight(rest, " \t\r\n")
	body, fenced := strings.CutSuffix(trimmed, "```")
	if !fenced || body != "" && !strings.HasSuffix(body, "\n") || strings.HasPrefix(body, "```") || strings.Contains(body, "\n```") {
		return text
	}
	return body
}

// mend writes what models leave raw in JSON: control characters in strings, and commas
// before a closing bracket. It changes nothing in a text that is JSON.
func mend(text string) string {
	var b strings.Builder
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inString && c == '\\' && i+1 < len(text):
			b.WriteByte(c)
			i++
			c = text[i]
		case c == '"':
			inString = !inString
		case inString && c < ' ':
			b.Write(encode(string(c))[1 : len(encode(string(c)))-1])
			continue
		case !inString && c == ',' && closes(text[i+1:]):
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func closes(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	return rest != "" && (rest[0] == '}' || rest[0] == ']')
}
