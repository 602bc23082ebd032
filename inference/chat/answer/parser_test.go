package answer

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"dure/inference"
)

// FuzzParser holds any output in any family to: the same however it is cut,
// arguments that are JSON, no text lost, and little held back.
func FuzzParser(f *testing.F) {
	for i, e := range readCorpus(f) {
		f.Add(uint8(i), e.has("think"), e.has("cut"), "", e.input, uint16(len(e.input)/2))
	}
	f.Fuzz(func(t *testing.T, family uint8, think, cut bool, stop, input string, at uint16) {
		if !utf8.ValidString(input) || !utf8.ValidString(stop) {
			return
		}
		families := allFamilies()
		o := Options{Family: families[int(family)%len(families)], Tools: testTools(t), Thinking: think}
		if stop != "" {
			o.Stop = []string{stop}
		}
		want := parse(t, o, input, cut)
		if got := parse(t, o, input, cut, int(at)%(len(input)+1)); got != want {
			t.Errorf("cut at byte %d:\n%s\nwhole:\n%s", int(at)%(len(input)+1), got, want)
		}
		if got := parse(t, o, input, cut, everyByte(input)...); got != want {
			t.Errorf("byte by byte:\n%s\nwhole:\n%s", got, want)
		}
		if stop == "" {
			checkNothingLost(t, o, input, cut)
		}
	})
}

func everyByte(input string) []int {
	out := make([]int, len(input))
	for i := range out {
		out[i] = i
	}
	return out
}

func allFamilies() []Family {
	return []Family{
		{SyntaxXML, thinkTags}, {SyntaxHermes, thinkTags}, {SyntaxLlama, Thinking{}}, {SyntaxMistral, testThinker["THINK"]},
		{SyntaxMistralArgs, testThinker["THINK"]}, {SyntaxGemma, Thinking{}}, {SyntaxGemma4, testThinker["gemma4"]},
		{SyntaxHarmony, testThinker["harmony"]}, {SyntaxJSON, thinkTags}, {SyntaxJSON, Thinking{}},
		{SyntaxGLM, thinkTags}, {SyntaxKimi, thinkTags}, {SyntaxDeepseek, thinkTags}, {SyntaxDSML, thinkTags},
		{SyntaxMinimax, thinkTags}, {SyntaxLFM, Thinking{}},
	}
}

// markup are the texts that may be left out between pieces: markers, and what
// belongs to a call behind its arguments.
var markup = regexp.MustCompile(`^(\s|</?think>|</?tool_calls?>|</function>|</parameter>|\[/?THINK\]|<\|channel>thought|<channel\|>|` +
	`<\|start\|>assistant|<\|channel\|>(analysis|final|commentary)<\|message\|>|<\|end\|>|<\|return\|>|<\|call\|>|<tool_call\|>|[\]},;)]|` +
	`<\|tool_calls_section_(begin|end)\|>|<\|tool_call_end\|>|<｜tool▁calls▁(begin|end)｜>|<｜tool▁call▁end｜>|</?｜DSML｜(function_calls|tool_calls|invoke)>|</?minimax:tool_call>|</invoke>|</?arg_value>|` + "```" + `|` +
	`,\s*["']?(id|type|call_id|index|name|tool|tool_name|function|thought)["']?\s*:\s*("[^"]*"|'[^']*'|[\w.]+))*(</?[a-z_|]*|` + "`*" + `)$`)

// checkNothingLost: what no piece stands for is markup.
func checkNothingLost(t interface{ Errorf(string, ...any) }, o Options, input string, cut bool) {
	p, err := New(o)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	pieces := p.Feed(input)
	last, _ := p.Finish(cut)
	at := 0
	for _, e := range append(pieces, last...) {
		if gap := input[min(at, e.From):e.From]; !markup.MatchString(gap) {
			t.Errorf("%s %q: %q is lost", o.Family.Syntax, input, gap)
		}
		at = max(at, e.To)
	}
	if rest := input[at:]; !markup.MatchString(rest) {
		t.Errorf("%s %q: %q is lost at the end", o.Family.Syntax, input, rest)
	}
}

// TestAnyMixture puts parts of outputs together at random.
func TestAnyMixture(t *testing.T) {
	corpus := readCorpus(t)
	scraps := []string{"<tool_call>", "</tool_call>", "<function=get_time>", "</function>", "<parameter=city>", "</parameter>", "\n", " ", "{", "}", `"`, "'",
		"[TOOL_CALLS]", "[ARGS]", "```json\n", "```tool_code\n", "```", "<think>", "</think>", `{"name": "get_time", "arguments": {`, "서", "<|python_tag|>", "x"}
	families := allFamilies()
	rapid.Check(t, func(rt *rapid.T) {
		var input strings.Builder
		for range rapid.IntRange(1, 6).Draw(rt, "parts") {
			if rapid.Bool().Draw(rt, "scrap") {
				input.WriteString(rapid.SampledFrom(scraps).Draw(rt, "text"))
				continue
			}
			text := rapid.SampledFrom(corpus).Draw(rt, "example").input
			from := rapid.IntRange(0, len(text)).Draw(rt, "from")
			to := rapid.IntRange(from, len(text)).Draw(rt, "to")
			input.WriteString(strings.ToValidUTF8(text[from:to], "?"))
		}
		o := Options{Family: rapid.SampledFrom(families).Draw(rt, "family"), Tools: testTools(t), Thinking: rapid.Bool().Draw(rt, "think")}
		if rapid.IntRange(0, 3).Draw(rt, "stops") == 0 {
			o.Stop = []string{rapid.SampledFrom([]string{"call", "}", "\n\n", "x", "name"}).Draw(rt, "stop")}
		}
		cut := rapid.Bool().Draw(rt, "cut")
		want := parse(t, o, input.String(), cut)
		if got := parse(t, o, input.String(), cut, everyByte(input.String())...); got != want {
			rt.Fatalf("%q byte by byte:\n%s\nwhole:\n%s", input.String(), got, want)
		}
		if o.Stop == nil {
			checkNothingLost(rt, o, input.String(), cut)
		}
	})
}

// TestTextComesOutAtOnce: nothing is held back that is certain.
func TestTextComesOutAtOnce(t *testing.T) {
	for _, c := range []struct {
		family   Family
		thinking bool
		feed     []string
		want     []string // what comes out with each
	}{
		{Family{SyntaxXML, thinkTags}, true, []string{"I ", "think", ".\n</th", "ink>\n", "\nAn", "swer <", "b> <tool", "_x"},
			[]string{"I", " think", ".", "", "An", "swer", " <b>", " <tool_x"}},
		{Family{SyntaxXML, thinkTags}, false, []string{"<tool_call>\n<function=write_file>\n<parameter=path>\n", "ab", "c\n", "</para", "meter>\n", "</function>", "\n</tool_call>"},
			[]string{`write_file{"path": "`, "ab", "c", "", "", `"}`, ""}},
		{Family{SyntaxHermes, thinkTags}, false, []string{`<tool_call>{"name": "write_file",`, ` "arguments": {"pa`, `th": "a b`, ` c"`, `, "content": "x`, `"}}`},
			[]string{"", `write_file{"pa`, `th": "a b`, ` c`, `", "content": "x`, `"}`}},
		{Family{SyntaxMistralArgs, Thinking{}}, false, []string{"[TOOL_CALLS]write", "_file[ARGS]", `{"path"`, `: "a`}, []string{"", "", `write_file{"path`, `": "a`}},
	} {
		p, err := New(Options{Family: c.family, Thinking: c.thinking, Tools: testTools(t)})
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range c.feed {
			got := ""
			for _, e := range p.Feed(text) {
				got += e.Text
				if e.Call != nil {
					got += e.Call.Name + e.Call.Arguments
				}
			}
			if got != c.want[i] {
				t.Errorf("%s: %q brings %q, want %q", c.family.Syntax, text, got, c.want[i])
			}
		}
	}
}

func TestCallsAreNumberedAndNamed(t *testing.T) {
	ids := []string{"a", "b"}
	p, err := New(Options{Family: Family{Syntax: SyntaxHermes}, Tools: testTools(t), NewID: func() string {
		id := ids[0]
		ids = ids[1:]
		return id
	}})
	if err != nil {
		t.Fatal(err)
	}
	const call = `<tool_call>{"name": "get_time", "arguments": {}}</tool_call>`
	var got []inference.ToolCallDelta
	for _, e := range p.Feed(call + "\n" + call) {
		if e.Kind != inference.EventToolCall {
			t.Fatalf("%+v", e)
		}
		got = append(got, *e.Call)
	}
	want := []inference.ToolCallDelta{{ID: "a", Name: "get_time"}, {Arguments: "{}"}, {Index: 1, ID: "b", Name: "get_time"}, {Index: 1, Arguments: "{}"}}
	if !slices.Equal(got, want) || p.Calls() != 2 || len(p.Broken()) != 0 {
		t.Errorf("%+v, %d calls, broken %v", got, p.Calls(), p.Broken())
	}
}

func TestStopStringsAreChecked(t *testing.T) {
	_, err := New(Options{Stop: []string{""}})
	var e *inference.Error
	if !errors.As(err, &e) || e.Param != "stop" {
		t.Errorf("%v", err)
	}
}

// TestWarningsAreFew: an answer that breaks over and over does not fill memory with
// warnings.
func TestWarningsAreFew(t *testing.T) {
	p, err := New(Options{Family: Family{Syntax: SyntaxHermes}, Tools: testTools(t)})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("<tool_call>no call</tool_call>", 1000)
	var out strings.Builder
	for _, e := range p.Feed(text) {
		out.WriteString(e.Text)
	}
	if _, warnings := p.Finish(false); len(warnings) != maxWarnings || out.String() != text {
		t.Errorf("%d warnings, %d bytes of %d", len(warnings), out.Len(), len(text))
	}
}

// TestHeldBackIsLittle: a long answer is not kept.
func TestHeldBackIsLittle(t *testing.T) {
	for _, family := range allFamilies() {
		p, err := New(Options{Family: family, Tools: testTools(t)})
		if err != nil {
			t.Fatal(err)
		}
		for range 2000 {
			p.Feed("some text, a [ and a { and a < in the line\n\n\n")
			p.Feed(strings.Repeat(" ", 50))
		}
		if held := len(p.text.held) + cap(p.text.space) + cap(p.call.raw) + cap(p.build); held > 4<<10 {
			t.Errorf("%s holds %d bytes", family.Syntax, held)
		}
	}
}

// TestFormsAreRead: what a grammar is told to write is a call for the parser.
func TestFormsAreRead(t *testing.T) {
	for _, family := range allFamilies() {
		form := family.Call("write_file")
		arguments := `{"path": "a", "content": "b"}`
		if form.Parameters {
			arguments = ""
			for _, kv := range [][2]string{{"path", "a"}, {"content", "b"}} {
				open, close := family.Parameter(kv[0])
				arguments += open + kv[1] + close
			}
		}
		got := parse(t, Options{Family: family, Tools: testTools(t)}, form.Open+arguments+form.Close, false)
		if want := "call write_file {\"path\": \"a\", \"content\": \"b\"}\n"; got != want {
			t.Errorf("%s: %q, want %q", family.Syntax, got, want)
		}
	}
}

func TestMarkersAreNoBeginningsOfEachOther(t *testing.T) {
	for _, family := range allFamilies() {
		for _, set := range markersOf(family, true) {
			for i, a := range set.markers {
				for j, b := range set.markers {
					if i != j && strings.HasPrefix(b.text, a.text) {
						t.Errorf("%s: %q begins %q", family.Syntax, a.text, b.text)
					}
				}
			}
		}
	}
}

// TestValidJSONIsKept: the mender changes nothing but white space in valid JSON.
func TestValidJSONIsKept(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := jsonValue(3).Draw(rt, "value")
		text, err := json.Marshal(value)
		if err != nil {
			rt.Fatal(err)
		}
		got, ok := mend(string(text))
		if !ok {
			rt.Fatalf("%s cannot be read", text)
		}
		var back any
		if err := json.Unmarshal([]byte(got), &back); err != nil {
			rt.Fatalf("%s became %s: %v", text, got, err)
		}
		if again, _ := json.Marshal(back); string(again) != string(text) {
			rt.Errorf("%s became %s", text, again)
		}
	})
}

func jsonValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(rt *rapid.T) any {
		kinds := 5
		if depth == 0 {
			kinds = 3
		}
		switch rapid.IntRange(0, kinds).Draw(rt, "kind") {
		case 0:
			return rapid.String().Draw(rt, "string")
		case 1:
			return float64(rapid.IntRange(-1000, 1000).Draw(rt, "number")) / 8
		case 2:
			return rapid.Bool().Draw(rt, "bool")
		case 3:
			return nil
		case 4:
			return rapid.SliceOfN(jsonValue(depth-1), 0, 3).Draw(rt, "array")
		}
		return rapid.MapOfN(rapid.String(), jsonValue(depth-1), 0, 3).Draw(rt, "object")
	})
}

func BenchmarkParser(b *testing.B) {
	text := "<think>\n" + strings.Repeat("some thought of several words. ", 20) + "\n</think>\n\n" + strings.Repeat("an answer, with <tags> and `code`. ", 20) +
		"<tool_call>\n<function=write_file>\n<parameter=path>\na.txt\n</parameter>\n<parameter=content>\n" + strings.Repeat("a line of <b>text</b>\n", 60) + "</parameter>\n</function>\n</tool_call>"
	o := Options{Family: Family{SyntaxXML, thinkTags}, Tools: testTools(b), Stop: []string{"\nUser:"}}
	b.ReportAllocs()
	for b.Loop() {
		p, err := New(o)
		if err != nil {
			b.Fatal(err)
		}
		for at := 0; at < len(text); at += 4 {
			p.Feed(text[at:min(at+4, len(text))])
		}
		p.Finish(false)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(len(text)+3)/4), "ns/token")
}
