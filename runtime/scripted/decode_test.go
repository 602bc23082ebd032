package scripted_test

import (
	"reflect"
	"strings"
	"testing"

	"dure/runtime/scripted"
)

const head = "parts:\n  - name: a\n    role: lead\n    turns:\n"

func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":          "empty",
		"# nothing": "empty",
		"parts: []": "no parts",
		"- x":       "script s.yaml",
		"parts: [":  "script s.yaml",
		"colour: red\n" + head + "      - text: x\n":                              "colour",
		head + "      - text: x\n        txet: y\n":                               "txet",
		head + "      - text: x\n        text: y\n":                               "text",
		head + "      - text: x\n---\n" + head:                                    "2 YAML documents",
		head + "      - name: x\n":                                                "says nothing",
		head + "      - {text: x, next: [{if: '(', go: a}]}\n":                    "if:",
		head + "      - {text: x, next: [{go: b}]}\n":                             `no turn "b"`,
		head + "      - {text: x, name: b, next: [{go: b}, {go: b}]}":             "never looked at",
		head + "      - {text: x, name: b}\n      - {text: x, name: b}":           `a turn "b" already`,
		head + "      - {text: x, latency: 200}":                                  "write it with a unit",
		head + "      - {text: x, latency: -1s}":                                  "less than no time",
		head + "      - {calls: [{arguments: {a: b}}]}":                           "needs a tool",
		head + "      - {calls: [{tool: a, raw: x, arguments: {a: b}}]}":          "not both",
		head + "      - {garbage: x, calls: [{tool: a}]}":                         "calls and garbage",
		head + "      - {text: x, fault: {kind: fire}}":                           "stall, error, busy or cut",
		head + "      - {text: x, fault: {kind: cut, status: 500}}":               "takes no status",
		head + "      - {text: x, fault: {kind: error, status: 200}}":             "status 200",
		head + "      - {text: x, fault: {kind: busy, retry_after: 10ms}}":        "whole seconds",
		"parts: [{name: a, turns: [{text: x}]}]":                                  "fits every agent",
		"parts: [{role: lead, turns: [{text: x}]}]":                               "empty or there twice",
		"parts: [{name: a, role: boss, turns: [{text: x}]}]":                      "lead, planner",
		"parts: [{name: a, role: lead}]":                                          "no turns",
		"parts: [{name: a, match: '[', turns: [{text: x}]}]":                      "match:",
		"parts: [{name: a, role: lead, fill: true, turns: [{text: '{{b}}'}]}]":    "{{b}}",
		"parts: [{name: a, role: lead, asides: [{text: x}], turns: [{text: x}]}]": "aside 1",
		"queue: 1\nparts: [{name: a, role: lead, turns: [{text: x}]}]":            "queue without sequences",
		"cache: {bytes: 1}\nparts: [{name: a, role: lead, turns: [{text: x}]}]":   "needs a slot",
	} {
		if _, err := scripted.Decode("s.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "script s.yaml: ") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestEncodeIsRead(t *testing.T) {
	s, err := scripted.Decode("s.yaml", []byte(work))
	if err != nil {
		t.Fatal(err)
	}
	text, err := scripted.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := scripted.Decode("again.yaml", text)
	if err != nil || !reflect.DeepEqual(s, again) {
		t.Errorf("%v\n%+v\nwant\n%+v\nfrom\n%s", err, again, s, text)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(work))
	f.Add([]byte(head + "      - {text: x, fault: {kind: stall, for: 1s}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := scripted.Decode("s.yaml", data)
		if err != nil {
			return
		}
		if _, err := scripted.New(s, scripted.Options{}); err != nil {
			t.Fatalf("decoded, but refused: %v", err)
		}
	})
}
