package answer

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"dure/inference"
)

var update = flag.Bool("update", false, "write what comes out to the files of the corpus")

// example is one output of the corpus. A file holds a line with the family,
// then for each example a line "=== name flags", the output, a line "---", and a
// line for each thing that comes out.
//
// Flags: think (the prompt opens thinking), cut (a limit ended it), none, single,
// required, only=TOOL, stop=TEXT, and nl (the output ends with a line break).
type example struct {
	file, name string
	flags      []string
	family     Family
	input      string
	want       string
}

func (e example) has(flag string) bool { return slices.Contains(e.flags, flag) }

func (e example) options(t testing.TB) Options {
	o := Options{Family: e.family, Tools: testTools(t), Thinking: e.has("think")}
	o.Choice.Single = e.has("single")
	switch {
	case e.has("none"):
		o.Choice.Mode = inference.ToolNone
	case e.has("required"):
		o.Choice.Mode = inference.ToolRequired
	}
	for _, f := range e.flags {
		if name, ok := strings.CutPrefix(f, "only="); ok {
			o.Choice = inference.ToolChoice{Mode: inference.ToolRequired, Name: name}
		}
		if stop, ok := strings.CutPrefix(f, "stop="); ok {
			o.Stop = append(o.Stop, strings.ReplaceAll(stop, "_", " "))
		}
	}
	return o
}

func testTools(t testing.TB) []inference.Tool {
	t.Helper()
	data, err := os.ReadFile("testdata/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	var tools []inference.Tool
	if err := json.Unmarshal(data, &tools); err != nil {
		t.Fatal(err)
	}
	return tools
}

var (
	thinkTags   = Thinking{Open: "<think>", Close: "</think>", After: "\n\n"}
	testThinker = map[string]Thinking{
		"think":   thinkTags,
		"THINK":   {Open: "[THINK]", Close: "[/THINK]"},
		"gemma4":  {Open: "<|channel>thought", Close: "<channel|>"},
		"harmony": {Open: "<|channel|>analysis<|message|>", Close: "<|end|>", After: "<|start|>assistant<|channel|>final<|message|>"},
	}
)

func readCorpus(t testing.TB) []example {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var out []example
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		header, rest, _ := strings.Cut(string(data), "\n")
		syntax, think, _ := strings.Cut(header, " ")
		for _, part := range strings.Split(rest, "\n=== ")[1:] {
			head, body, _ := strings.Cut(part, "\n")
			input, want, _ := strings.Cut(body+"\n", "\n---\n")
			words := strings.Fields(head)
			e := example{file: file, name: words[0], flags: words[1:], input: input, want: strings.TrimRight(want, "\n") + "\n",
				family: Family{Syntax: Syntax(syntax), Think: testThinker[think]}}
			if e.has("nl") {
				e.input += "\n"
			}
			out = append(out, e)
		}
	}
	return out
}

// parse reads an answer, cut into pieces at places.
func parse(t testing.TB, o Options, input string, cut bool, places ...int) string {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var pieces []Piece
	from := 0
	for _, at := range append(places, len(input)) {
		pieces = append(pieces, p.Feed(input[from:at])...)
		from = at
	}
	last, warnings := p.Finish(cut)
	return summary(t, p, input, append(pieces, last...), warnings)
}

func summary(t testing.TB, p *Parser, input string, pieces []Piece, warnings []inference.Warning) string {
	t.Helper()
	type part struct {
		kind inference.EventKind
		text strings.Builder
		call *inference.ToolCallDelta
	}
	var parts []*part
	checkRanges(t, input, pieces)
	for _, e := range pieces {
		if utf8.ValidString(input) && (!utf8.ValidString(e.Text) || e.Call != nil && !utf8.ValidString(e.Call.Arguments)) {
			t.Errorf("%q: %+v cuts a character", input, e)
		}
		switch c := e.Call; {
		case c != nil && c.Name != "":
			parts = append(parts, &part{kind: e.Kind, call: c})
		case c != nil:
			last := parts[len(parts)-1]
			if last.call == nil || last.call.Index != c.Index {
				t.Fatalf("arguments of call %d stand behind %v", c.Index, last)
			}
			last.text.WriteString(c.Arguments)
		default:
			if n := len(parts); n == 0 || parts[n-1].kind != e.Kind {
				parts = append(parts, &part{kind: e.Kind})
			}
			parts[len(parts)-1].text.WriteString(e.Text)
		}
	}
	var out strings.Builder
	for _, part := range parts {
		text := part.text.String()
		switch {
		case part.call == nil:
			word := "content"
			if part.kind == inference.EventReasoning {
				word = "reasoning"
			}
			fmt.Fprintf(&out, "%s %s\n", word, jsonString(text))
		case slices.Contains(p.Broken(), part.call.Index):
			fmt.Fprintf(&out, "broken %s %s\n", part.call.Name, text)
		default:
			var object map[string]any
			if err := json.Unmarshal([]byte(text), &object); err != nil {
				t.Errorf("%q: the arguments %q are no JSON object: %v", input, text, err)
			}
			fmt.Fprintf(&out, "call %s %s\n", part.call.Name, text)
		}
	}
	for _, w := range warnings {
		fmt.Fprintf(&out, "warning %s: %s\n", w.Code, w.Message)
	}
	if stop, ok := p.Stopped(); ok {
		fmt.Fprintf(&out, "stopped %s\n", jsonString(stop))
	}
	return out.String()
}

// checkRanges holds pieces to the bytes that they say they are.
func checkRanges(t testing.TB, input string, pieces []Piece) {
	t.Helper()
	at := 0
	for _, e := range pieces {
		if e.From < 0 || e.To > len(input) || e.From > e.To {
			t.Fatalf("%q: bytes %d to %d of %d", input, e.From, e.To, len(input))
		}
		if e.Call == nil && input[e.From:e.To] != e.Text {
			t.Errorf("%q: text %q says that it is %q", input, e.Text, input[e.From:e.To])
		}
		if e.From < at && e.Kind == inference.EventToolCall {
			t.Errorf("%q: call at byte %d behind byte %d", input, e.From, at)
		}
		at = e.To
	}
}

func TestCorpus(t *testing.T) {
	corpus := readCorpus(t)
	got := map[string][]string{}
	for _, e := range corpus {
		out := parse(t, e.options(t), e.input, e.has("cut"))
		got[e.file] = append(got[e.file], out)
		if !strings.Contains(out, "stopped") {
			checkNothingLost(t, e.options(t), e.input, e.has("cut"))
		}
		if diff := cmp.Diff(e.want, out); diff != "" && !*update {
			t.Errorf("%s, %s (-want +got):\n%s", e.file, e.name, diff)
		}
	}
	if len(corpus) < 150 {
		t.Errorf("the corpus has only %d outputs", len(corpus))
	}
	if *update {
		writeCorpus(t, got)
	}
}

func writeCorpus(t *testing.T, got map[string][]string) {
	for file, results := range got {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(string(data), "\n=== ")
		for i, out := range results {
			input, _, _ := strings.Cut(strings.TrimRight(parts[i+1], "\n")+"\n", "\n---\n")
			parts[i+1] = strings.TrimSuffix(input, "\n") + "\n---\n" + strings.TrimSuffix(out, "\n")
			if out == "" {
				parts[i+1] = strings.TrimSuffix(parts[i+1], "\n")
			}
		}
		if err := os.WriteFile(file, []byte(strings.Join(parts, "\n=== ")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCutsDoNotMatter cuts every output at every byte, and into single bytes.
func TestCutsDoNotMatter(t *testing.T) {
	for _, e := range readCorpus(t) {
		o := e.options(t)
		want := parse(t, o, e.input, e.has("cut"))
		var all []int
		for at := range len(e.input) {
			all = append(all, at)
			if got := parse(t, o, e.input, e.has("cut"), at); got != want {
				t.Fatalf("%s, %s, cut at byte %d:\n%s\nwhole:\n%s", e.file, e.name, at, got, want)
			}
		}
		if got := parse(t, o, e.input, e.has("cut"), all...); got != want {
			t.Errorf("%s, %s, byte by byte:\n%s\nwhole:\n%s", e.file, e.name, got, want)
		}
	}
}
