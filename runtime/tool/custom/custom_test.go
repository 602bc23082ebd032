package custom_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"dure/runtime/sandbox"
	"dure/runtime/tool"
	"dure/runtime/tool/custom"
)

const described = `
- name: run_test
  description: Run one test.
  command: |
    cat; printf '%s|' "$DURE_ARG_NAME" "$DURE_ARG_COUNT" "$DURE_ARG_RACE" "${DURE_ARG_MODE-unset}"; echo; pwd >&2
    exit "${DURE_ARG_COUNT:-0}"
  parameters:
    type: object
    properties:
      name: {type: string, description: the test}
      count: {type: integer}
      share: {type: number}
      race: {type: boolean, description: 'with the race detector'}
      mode: {enum: [fast, full, 3]}
    required: [name]
    additionalProperties: false
- {name: lint, description: Look for faults., command: 'echo clean'}
`

func TestSpecsOfTheTools(t *testing.T) {
	specs, err := custom.Decode([]byte(described))
	if err != nil {
		t.Fatal(err)
	}
	tools, err := custom.New(specs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`{"type":"object","properties":{"name":{"type":"string","description":"the test"},"count":{"type":"integer"},"share":{"type":"number"},` +
			`"race":{"type":"boolean","description":"with the race detector"},"mode":{"type":"string","enum":["fast","full","3"]}},"required":["name"],"additionalProperties":false}`,
		`{"type":"object","properties":{},"required":[],"additionalProperties":false}`,
	} {
		if got := string(tools[i].Spec().Tool().Parameters); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

func TestArgumentsReachTheCommandAsData(t *testing.T) {
	host, err := sandbox.Open(t.Context(), sandbox.Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if errors.Is(err, sandbox.ErrRefused) {
		t.Skip("SKIPPED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := host.Start(t.Context(), sandbox.Spec{Name: "custom", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(b.Close(), host.Close()); err != nil {
			t.Error(err)
		}
	}()
	specs, err := custom.Decode([]byte(described))
	if err != nil {
		t.Fatal(err)
	}
	tools, err := custom.New(specs, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool      int
		arguments string
		outcome   tool.Outcome
		output    string
	}{
		{0, `{"name":"A\"; rm -rf / #$(id)` + "`id`" + `","race":"yes"}`, tool.Done, `{"name":"A\"; rm -rf / #$(id)` + "`id`" + `","race":true}` + "\n" + `A"; rm -rf / #$(id)` + "`id`" + "||true|unset|\n/work\n"},
		{0, `{"name":"두\nレ","count":"3","mode":3}`, tool.Failed, "{\"name\":\"두\\nレ\",\"count\":3,\"mode\":\"3\"}\n두\nレ|3||3|\n/work\n\n[exit status 3]"},
		{0, `{"name":""}`, tool.Done, "{\"name\":\"\"}\n|||unset|\n/work\n"},
		{1, `{}`, tool.Done, "clean\n"},
	} {
		r, err := tools[c.tool].Run(t.Context(), tool.Call{Arguments: c.arguments})
		if err != nil || r.Outcome != c.outcome || r.Output != c.output {
			t.Errorf("%s: %s %q %v, want %s %q", c.arguments, r.Outcome, r.Output, err, c.outcome, c.output)
		}
	}
	for arguments, want := range map[string]string{
		`{"name":"x","count":"many"}`:                    "a whole number",
		`{"name":"x","mode":"slow"}`:                     "it can be fast, full, 3",
		`{"count":1}`:                                    `needs the argument "name"`,
		`{"name":"x","path":"y"}`:                        `no argument "path"`,
		`{"name":"a\u0000b"}`:                            "NUL",
		`{"name":"` + strings.Repeat("x", 70<<10) + `"}`: "write what is long to a file",
	} {
		r, err := tools[0].Run(t.Context(), tool.Call{Arguments: arguments})
		if err != nil || r.Outcome != tool.Invalid || !strings.Contains(r.Output, want) {
			t.Errorf("%.60s: %+v %v, want %q", arguments, r, err, want)
		}
	}
	// The largest that is taken gets through.
	long := `{"name":"` + strings.Repeat("x", 63<<10) + `"}`
	if r, err := tools[0].Run(t.Context(), tool.Call{Arguments: long}); err != nil || r.Outcome != tool.Done {
		t.Errorf("%d bytes: %s %.100q %v", len(long), r.Outcome, r.Output, err)
	}
}

func TestWrongDescriptions(t *testing.T) {
	properties := func(p string) string {
		return "- {name: x, description: x, command: x, parameters: {properties: {" + p + "}}}"
	}
	for text, want := range map[string]string{
		"- {name: shell, description: x, command: x}":                                         "a tool of dure's own",
		"- {name: reportfile, description: x, command: x}":                                    "a tool of dure's own",
		"- {name: Lint, description: x, command: x}":                                          "a small letter",
		"- {name: a b, description: x, command: x}":                                           "a small letter",
		"- {name: x, command: x}":                                                             "description has 0 bytes",
		"- {name: x, description: x}":                                                         "command has 0 bytes",
		"- {name: x, description: x, command: x, timeout: 3}":                                 "timeout",
		"- {name: x, description: x, command: x}\n- {name: x, description: x, command: x}":    "x is there twice",
		"- {name: a_b, description: x, command: x}\n- {name: ab, description: x, command: x}": "ab is there twice",
		"- {name: x, description: x, command: x, parameters: {type: array}}":                  "want object",
		"- {name: x, description: x, command: x, parameters: {required: [y]}}":                `required names "y"`,
		"- {name: x, description: x, command: x, parameters: {additionalProperties: true}}":   "can only be false",
		"- {name: x, description: x, command: x, parameters: {minProperties: 1}}":             "minProperties",
		properties("A: {}"):                            "a small letter",
		properties("a_b: {}, ab: {}"):                  "nearly that name",
		properties("a: {type: array}"):                 "want string, number, integer or boolean",
		properties("a: {type: object}"):                "want string",
		properties("a: {type: [string, integer]}"):     "parameter a",
		properties("a: {type: string, minLength: 3}"):  "minLength",
		properties("a: {type: string, default: x}"):    "default",
		properties("a: {type: integer, enum: [1, x]}"): "x is no integer",
		properties("a: {enum: [x, x]}"):                "there twice",
		"name: x":                                      "tools:",
		"- [":                                          "tools:",
		"[]\n---\n[]":                                  "more than one",
	} {
		if _, err := custom.Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if specs, err := custom.Decode(nil); err != nil || len(specs) != 0 {
		t.Errorf("nothing: %v %v", specs, err)
	}
}

// Whatever is in the file, it is read or refused, and what is read can be told to
// models.
func FuzzDecode(f *testing.F) {
	f.Add(described)
	f.Add("- {name: x, description: x, command: x, parameters: {properties: {a: {enum: [~, 1.0, '']}}}}")
	f.Add("- &a {name: x, description: x, command: *a}")
	f.Fuzz(func(t *testing.T, text string) {
		specs, err := custom.Decode([]byte(text))
		if err != nil {
			return
		}
		tools, err := custom.New(specs, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tl := range tools {
			tl.Spec().Tool()
		}
	})
}
