package judge

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"dure/inference"
	"dure/runtime/tool"
)

// script is a model that answers with a text, and keeps what it was asked.
type script struct {
	answer string
	err    error
	asked  []*inference.Request
}

func (s *script) Info() inference.Info { return inference.Info{Name: "small"} }

func (s *script) Generate(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	s.asked = append(s.asked, req)
	return func(yield func(inference.Event, error) bool) {
		if s.err != nil {
			yield(inference.Event{}, s.err)
			return
		}
		for _, piece := range strings.SplitAfter(s.answer, " ") {
			if !yield(inference.Event{Kind: inference.EventText, Text: piece}, nil) {
				return
			}
		}
		yield(inference.Event{Kind: inference.EventDone}, nil)
	}
}

func TestTheModelIsAskedOnlyWhereTheRulesAreOpen(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	m := &script{answer: `{"verdict": "block", "reason": "hides"}`}
	j := &Judge{Rules: rules, Model: m, Work: "a parser"}
	for command, want := range map[string]tool.Verdict{
		"ls":            {Decision: tool.Allow, By: "rules"},
		`"$TOOL" --run`: {Decision: tool.Block, By: "small", Reason: "hides"},
	} {
		if v, err := j.Judge(t.Context(), shellCall(command)); err != nil || v != want {
			t.Errorf("%s: %+v %v, want %+v", command, v, err, want)
		}
	}
	if v, _ := j.Judge(t.Context(), shellCall("rm -rf /")); v.Decision != tool.Block || v.By != "rules" {
		t.Errorf("%+v", v)
	}
	if len(m.asked) != 1 {
		t.Fatalf("asked %d times", len(m.asked))
	}
	// What an agent wrote is data in a user's turn, never a part of the rules.
	for _, msg := range m.asked[0].Messages {
		if msg.Role == inference.RoleSystem && strings.Contains(msg.Content, "TOOL") {
			t.Error("the call is in the system's words")
		}
	}
	j.All = true
	if v, _ := j.Judge(t.Context(), shellCall("ls")); v.By != "small" {
		t.Errorf("all: %+v", v)
	}
}

func TestAnAnswerThatIsNoVerdict(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*script{{answer: "Sure! allow"}, {answer: `{"verdict":"maybe","reason":""}`}, {answer: ""}, {err: errors.New("gone")}} {
		j := &Judge{Rules: rules, Model: m}
		if v, err := j.Judge(t.Context(), shellCall(`"$TOOL"`)); err == nil {
			t.Errorf("%q: %+v", m.answer, v)
		}
	}
}

func TestRulesThatAreWrong(t *testing.T) {
	good := "rules:\n- {name: a, class: c, action: block, why: w, match: [{program: [x]}]}\n"
	if _, err := Parse([]byte(good), nil); err != nil {
		t.Fatal(err)
	}
	for bad, want := range map[string]string{
		strings.Replace(good, "block", "stop", 1):             "block or refuse",
		strings.Replace(good, "why: w", "why: ''", 1):         "needs a name",
		good + strings.TrimPrefix(good, "rules:\n"):           "a name of its own",
		strings.Replace(good, "program: [x]", "line: '('", 1): "line",
		strings.Replace(good, "[x]", "['$none']", 1):          `no set "none"`,
		strings.Replace(good, "program", "progam", 1):         "progam",
	} {
		if _, err := Parse([]byte(bad), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	}
}

func TestWhatIsOpenWithoutAModel(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	script, program := "jq -r .cmd task.json | sh", `"$TOOL" --run`
	for open, want := range map[Open][2]tool.Decision{
		OpenScripts: {tool.Refuse, tool.Allow}, OpenRefuse: {tool.Refuse, tool.Refuse}, OpenAllow: {tool.Allow, tool.Allow},
	} {
		j := &Judge{Rules: rules, Open: open}
		for i, command := range []string{script, program} {
			if v, err := j.Judge(t.Context(), shellCall(command)); err != nil || v.Decision != want[i] {
				t.Errorf("%q: %s: %+v %v, want %s", open, command, v, err, want[i])
			}
		}
	}
	if v, _ := rules.Judge(t.Context(), shellCall(script)); v.Decision != tool.Refuse {
		t.Errorf("by the rules alone: %+v", v)
	}
	if _, err := (&Judge{Rules: rules, Open: "ask"}).Judge(t.Context(), shellCall("ls")); err == nil {
		t.Error("a word that is none was taken")
	}
}

func TestATeamNamesItsOwnPlaces(t *testing.T) {
	rules, err := BuiltinWith(map[string][]string{"check": {"tools/gate/**"}})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"echo 'exit 0' > tools/gate/run": "block", "echo 'exit 0' > .ci/check": "allow", "echo 'exit 0' > src/run": "allow",
	} {
		if f := rules.Look(shellCall(command)); f.Action != want {
			t.Errorf("%s: %+v, want %s", command, f, want)
		}
	}
	if _, err := BuiltinWith(map[string][]string{"chek": {"x"}}); err == nil || !strings.Contains(err.Error(), "check") {
		t.Errorf("a place that is none: %v", err)
	}
}

// Texts of other languages are what they come to, however they are put together.
func TestFold(t *testing.T) {
	for code, want := range map[string]string{
		`os.system('r'+'m -rf ' + "/")`:                   "rm -rf /",
		`a="su"; b="do"; system(a b " id")`:               "sudo id",
		`"".join(map(chr,[115,117]))`:                     "su",
		`Buffer.from("c3Vkbw==","base64").toString()`:     "sudo",
		`strrev("di odus")`:                               "sudo id",
		`codecs.decode("fhqb","rot13")`:                   "sudo",
		`String.fromCharCode(0x73,117)`:                   "su",
		`["s","u"].join("")`:                              "su",
		`%w[s u].join`:                                    "su",
		`"\x73\u0075"`:                                    "su",
		`"abc".replace("b","-")`:                          "a-c",
		`"%s %s" % ("a", "b")`:                            "a b",
		`["c3Vkbw=="].pack("x"); "c3Vkbw==".unpack1("m")`: "sudo",
		`x = "rm "; x += "-rf"; f(x)`:                     "rm -rf",
		`$a="s"; $b="u"; system($a.$b)`:                   "su",
	} {
		if f := fold(code); !slices.Contains(f.texts, want) {
			t.Errorf("%s: %q, want %q", code, f.texts, want)
		}
	}
}

// However a command is written, reading it ends, and the same text has the same verdict.
func FuzzLook(f *testing.F) {
	rules, err := Builtin()
	if err != nil {
		f.Fatal(err)
	}
	f.Add("a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s|t|u|v|w|x|y|z|a|b|c|d|e|f|g|h|i|j")
	f.Add("echo $(echo $(echo $(echo $(echo $(echo $(echo $(echo $(echo x))))))))")
	f.Add("{1..1000000}{1..1000000}")
	f.Add("f() { f; f; }; f")
	f.Add(": ${X#$'\\xff'}")
	f.Add("X=a; : ${X#$'\\xff'}")
	f.Add("a=0123456789" + strings.Repeat("; a=$a$a", 40))
	f.Add("a=0123456789; b=$a$a$a; " + strings.Repeat("${a//?/$b}", 1000))
	f.Add("$(printf '" + strings.Repeat("%1000000d", 1000) + "')")
	f.Add(strings.Repeat("a&&", 30000) + "a")
	f.Add("eval eval eval eval 'rm -rf /'")
	f.Add("f() { f \"$@\" x; }; f a; alias a='a a'; a")
	f.Add("python3 -c \"x='a'; x+=x; x='%s%s' % (x, x); y=x; x=y\"")
	f.Add("echo 'echo x > a; sh a' > a; sh a")
	f.Add("if a; then X=/; fi; if b; then X=c; fi; rm $X")
	f.Add("cat <<A <<B\nx\nA\ny\nB\n")
	f.Add("for i in {1..100000}; do for j in a b c; do sh -c \"$i\"; done; done")
	f.Fuzz(func(t *testing.T, command string) {
		first := rules.Look(shellCall(command))
		if again := rules.Look(shellCall(command)); again != first {
			t.Errorf("%+v, then %+v", first, again)
		}
	})
}

func BenchmarkLook(b *testing.B) {
	rules, err := Builtin()
	if err != nil {
		b.Fatal(err)
	}
	call := shellCall("cd src && go build ./... && go test -run TestParser ./parser 2>&1 | tail -40")
	for b.Loop() {
		rules.Look(call)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}
