package tool_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dure/runtime/tool"
)

// every has a field of each sort.
var every = tool.Spec{Name: "read", Fields: []tool.Field{
	{Name: "path", Required: true, Also: []string{"file_path", "file"}},
	{Name: "from"},
	{Name: "kind", Enum: []string{"work", "plan"}},
	{Name: "passed", Enum: []string{"yes", "no"}},
	{Name: "after", Many: true},
	{Name: "deep_first", Type: tool.Boolean},
	{Name: "depth", Type: tool.Integer},
	{Name: "share", Type: tool.Number},
}}

// What small models write, and what it is taken as: the arguments in their order, or,
// behind "!", a part of what the model is told.
var written = []struct{ arguments, want string }{
	{`{"path":"a.go"}`, `{"path":"a.go"}`},
	// Numbers, booleans and lists where text is asked for.
	{`{"path":3.50,"from":7}`, `{"path":"3.50","from":"7"}`},
	{`{"path":true}`, `{"path":"true"}`},
	{`{"path":"a","after":["t1","t2"]}`, `{"path":"a","after":"t1, t2"}`},
	{`{"path":"a","after":[1, "t2"]}`, `{"path":"a","after":"1, t2"}`},
	{`{"path":"a","after":[["t1"]]}`, `!number 1 of its list must be text`},
	{`{"path":["a"]}`, `!must be text, not an object or a list: write it in quotes, as "[\"a\"]"`},
	{`{"path":{"name":"a"}}`, `!must be text`},
	// Left out in another way.
	{`{"path":"a","from":null,"kind":null}`, `{"path":"a"}`},
	{`{"path":null}`, `!must be text, not null`},
	// Texts where something else is asked for.
	{`{"path":"a","depth":"3"}`, `{"path":"a","depth":3}`},
	{`{"path":"a","depth":3.0}`, `{"path":"a","depth":3}`},
	{`{"path":"a","depth":"many"}`, `!"many"; it must be a whole number`},
	{`{"path":"a","depth":3.5}`, `!"3.5"; it must be a whole number`},
	{`{"path":"a","share":"0.5"}`, `{"path":"a","share":0.5}`},
	{`{"path":"a","share":"half"}`, `!"half"; it must be a number`},
	{`{"path":"a","deep_first":"Yes"}`, `{"path":"a","deep_first":true}`},
	{`{"path":"a","deep_first":"maybe"}`, `!"maybe"; it can be true or false`},
	// Names.
	{`{"Path":"a","From":2}`, `{"path":"a","from":"2"}`},
	{`{"PATH":"a","deepFirst":true}`, `{"path":"a","deep_first":true}`},
	{`{"file-path":"a"}`, `{"path":"a"}`},
	{`{"filePath":"a"}`, `{"path":"a"}`},
	{`{"pth":"a"}`, `!read has no argument "pth"; it takes path, from (may be left out)`},
	{`{"path":"a","Path":"b"}`, `!"path" is there twice`},
	{`{"path":"a","file":"b"}`, `!"path" is there twice`},
	{`{"path":"a","path":"a"}`, `!"path" is there twice`},
	{`{}`, `!read needs the argument "path"; it takes path, from`},
	// One of several values.
	{`{"path":"a","kind":"Plan"}`, `{"path":"a","kind":"plan"}`},
	{`{"path":"a","kind":"planning"}`, `!"planning"; it can be work, plan`},
	{`{"path":"a","passed":true}`, `{"path":"a","passed":"yes"}`},
	{`{"path":"a","passed":"False"}`, `{"path":"a","passed":"no"}`},
	{`{"path":"a","kind":true}`, `!"true"; it can be work, plan`},
	// Arguments within something.
	{`{"arguments":{"path":"a"}}`, `{"path":"a"}`},
	{`{"name":"read","arguments":{"path":"a"}}`, `{"path":"a"}`},
	{`{"type":"function","name":"read","parameters":{"path":"a"}}`, `{"path":"a"}`},
	{`{"arguments":"{\"path\":\"a\"}"}`, `{"path":"a"}`},
	{`{"arguments":{"arguments":{"path":"a"}}}`, `{"path":"a"}`},
	{`"{\"path\":\"a\"}"`, `{"path":"a"}`},
	{`{"arguments":{"path":"a"},"path":"b"}`, `!no argument "arguments"`},
	{`{"arguments":["a"]}`, `!no argument "arguments"`},
	{"```json\n{\"path\":\"a\"}\n```", `{"path":"a"}`},
	{"```\n{\"path\":\"a\"}```", "!not a JSON object but"},
	// JSON that is not quite that.
	{"{\"path\":\"a\nb\tc\"}", `{"path":"a\nb\tc"}`},
	{`{"path":"a",}`, `{"path":"a"}`},
	{`{"path":"a","after":["t1",],}`, `{"path":"a","after":"t1"}`},
	{`{"path":"a,}"}`, `{"path":"a,}"}`},
	{`{'path':'a'}`, `!not a JSON object: invalid character '\''`},
	{`{"path":"a"`, `!it ends too early, after "{\"path\":\"a\""`},
	{`{"path":"a`, `!it ends too early`},
	{`{"path": a.go}`, `!invalid character 'a' looking for beginning of value, after "{\"path\":"`},
	{`{"path":"a"} {"path":"b"}`, `!more than one JSON object`},
	{`a.go`, `!not a JSON object but "a.go"`},
	{`["a"]`, `!not a JSON object but`},
	{``, `!there are none: not a JSON object`},
	// What is written out is not guessed at.
	{`{"path":"a\\nb"}`, `{"path":"a\\nb"}`},
}

func TestWhatModelsWrite(t *testing.T) {
	for _, c := range written {
		args, err := every.Parse(c.arguments)
		told, wrong := strings.CutPrefix(c.want, "!")
		switch {
		case wrong && (err == nil || !strings.Contains(err.Error(), told)):
			t.Errorf("%s: %v %v, want the error %q", c.arguments, args, err, told)
		case !wrong && err != nil:
			t.Errorf("%s: %v", c.arguments, err)
		case !wrong && every.Format(args) != c.want:
			t.Errorf("%s was read as %s, want %s", c.arguments, every.Format(args), c.want)
		}
	}
}

func TestUnfence(t *testing.T) {
	for text, want := range map[string]string{
		"```go\npackage x\n```":          "package x\n",
		"```\na\n\nb\n```\n":             "a\n\nb\n",
		"```c++\r\nint x;\r\n```\r\n":    "int x;\r\n",
		"```\n```":                       "",
		"```go\npackage x\n":             "```go\npackage x\n",
		"```a\nx\n```\ny\n```":           "```a\nx\n```\ny\n```",
		"```two words\nx\n```":           "```two words\nx\n```",
		"x\n```\ny\n```":                 "x\n```\ny\n```",
		"```go\nx```":                    "```go\nx```",
		"":                               "",
		"```":                            "```",
		"```go\n```go\npackage x\n```\n": "```go\n```go\npackage x\n```\n",
	} {
		if got := tool.Unfence(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// What was read and written again is the same; whatever way it was asked for in, the
// schema that models see allows it.
func TestFormatAndParseAgree(t *testing.T) {
	names := []string{"path", "from", "kind", "passed", "after", "deep_first", "depth", "share"}
	values := map[string][]string{"kind": {"work", "plan"}, "passed": {"yes", "no"}, "deep_first": {"true", "false"}, "depth": {"0", "-7"}, "share": {"2.5", "-1e3"}}
	rapid.Check(t, func(t *rapid.T) {
		args := tool.Arguments{"path": rapid.String().Draw(t, "path")}
		for _, n := range names[1:] {
			if !rapid.Bool().Draw(t, n+" is there") {
				continue
			}
			args[n] = rapid.String().Draw(t, n)
			if values[n] != nil {
				args[n] = rapid.SampledFrom(values[n]).Draw(t, n)
			}
		}
		text := every.Format(args)
		got, err := every.Parse(text)
		if err != nil || !maps.Equal(got, args) {
			t.Fatalf("%s: %v %v, want %v", text, got, err, args)
		}
		wrapped, err := json.Marshal(map[string]string{"arguments": text})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := every.Parse("```json\n" + string(wrapped) + "\n```"); err != nil || !maps.Equal(again, args) {
			t.Fatalf("%s: %v %v, want %v", wrapped, again, err, args)
		}
	})
}

// Whatever is written, what it is read as says the same when it is read again, and
// JSON that needs no lenience is read as JSON.
func FuzzParse(f *testing.F) {
	for _, c := range written {
		f.Add(c.arguments)
	}
	f.Add(`{"command":"ls","command":"rm"}`)
	f.Add("{\"path\":\"\\ud800\"}")
	f.Add("{\"path\":\"\\\n\"}")
	f.Fuzz(func(t *testing.T, arguments string) {
		args, err := every.Parse(arguments)
		if err != nil {
			return
		}
		text := every.Format(args)
		again, err := every.Parse(text)
		if err != nil || !maps.Equal(again, args) {
			t.Fatalf("%q became %q and then %v %v", arguments, text, again, err)
		}
		var strict struct {
			Path *string `json:"path"`
		}
		if json.Unmarshal([]byte(arguments), &strict) == nil && strict.Path != nil && !strings.Contains(strings.ToLower(arguments), "file") && *strict.Path != args["path"] {
			t.Fatalf("%q: path is %q", arguments, args["path"])
		}
	})
}
