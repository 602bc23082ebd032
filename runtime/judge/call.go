package judge

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dure/runtime/tool"
)

// fields of tools that hold a command, a file's name, or text.
var commandFields = []string{"command", "cmd", "script", "check"}

var pathFields = []string{"path", "file", "file_path", "filename", "directory", "folder"}

// acts are what a call would do.
func (s *sources) acts(call tool.Call) ([]act, error) {
	var fields map[string]any
	if err := json.Unmarshal([]byte(call.Arguments), &fields); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	kind := kindOf(call.Tool, fields)
	a := act{program: "tool:" + kind, full: call.Tool, tool: kind}
	var all []act
	for _, name := range sortedKeys(fields) {
		text := flat(fields[name])
		switch {
		case slices.Contains(commandFields, name):
			script, err := s.readScript(call.Tool, text)
			if err != nil {
				return nil, err
			}
			all = append(all, script...)
			all = append(all, s.encodedWithin(call.Tool, text)...)
			if name == "check" && checksNothing.MatchString(text) {
				all = append(all, act{program: "hollow", tool: call.Tool, full: text})
			}
			// The words as they stand, comments and documents among them.
			all = append(all, act{program: "words", tool: call.Tool, text: text})
		case slices.Contains(pathFields, name):
			a.args = append(a.args, text)
			if kind == "write" || kind == "edit" {
				a.writes = append(a.writes, text)
			}
		default:
			a.text += text + "\n"
		}
	}
	if kind == "write" || kind == "edit" {
		written, err := s.written(kind, a, fields)
		if err != nil {
			return nil, err
		}
		all = append(all, written...)
	}
	return append(all, a), nil
}

// checksNothing is a check that whoever does nothing meets.
var checksNothing = regexp.MustCompile(`^\s*(?:/bin/)?(?:true|:|exit 0|echo\b[^|;&]*|test 1|\[ 1 \])?\s*$`)

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// flat is a value as text: all texts within it.
func flat(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, flat(e))
		}
		return strings.Join(all, "\n")
	case map[string]any:
		var all []string
		for _, k := range sortedKeys(v) {
			all = append(all, flat(v[k]))
		}
		return strings.Join(all, "\n")
	}
	return fmt.Sprint(v)
}
