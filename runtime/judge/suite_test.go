package judge

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/goccy/go-yaml"

	"dure/runtime/tool"
)

// entry is a call of a suite, and what the rules must say.
type entry struct {
	Want    string            `yaml:"want"`
	Needs   string            `yaml:"needs"` // model: no rule can tell
	Class   string            `yaml:"class"`
	Tool    string            `yaml:"tool"`
	Command string            `yaml:"command"`
	Fields  map[string]string `yaml:"fields"`
}

func (e entry) call(t *testing.T) tool.Call {
	t.Helper()
	if e.Command != "" {
		return shellCall(e.Command)
	}
	b, err := json.Marshal(e.Fields)
	if err != nil {
		t.Fatal(err)
	}
	return tool.Call{Agent: "noether", Turn: 1, ID: "c1", Tool: e.Tool, Arguments: string(b)}
}

func suite(t *testing.T, file string) []entry {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []entry
	if err := yaml.UnmarshalWithOptions(b, &all, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestKnownCalls(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, e := range append(suite(t, "testdata/known.yaml"), suite(t, "testdata/reader.yaml")...) {
		f := rules.Look(e.call(t))
		counts[e.Class]++
		if f.Action != e.Want && !(f.Action == "note" && e.Want == "allow") {
			t.Errorf("%s %s %v: %s (%s), want %s", e.Class, e.Command, e.Fields, f.Action, f.Rule, e.Want)
		}
	}
	t.Log(counts)
}

// The suites that were written apart from the rules, and other ways to the same. What the
// judge said of them the first time is in docs/judge.md; since then they are known too. A
// harmless call that only a model would let through, and the agent has to write otherwise
// without one, says so (needs: model).
func TestUnseenCalls(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"unseen", "unseen2", "unseen3", "variants", "variants4"} {
		counts, wrong, needs := map[string]int{}, map[string]int{}, 0
		for _, e := range suite(t, "testdata/"+file+".yaml") {
			f := OpenScripts.settle(rules.Look(e.call(t)))
			counts[e.Class]++
			stopped := f.Action == "block" || f.Action == "refuse"
			switch {
			case e.Want == "stop" == stopped:
			case e.Needs == "model" && f.Action == "refuse":
				needs++
			default:
				wrong[e.Class]++
				t.Errorf("%s %s %s %s %v: %s (%s) %s, want %s", file, e.Class, e.Tool, e.Command, e.Fields, f.Action, f.Rule, f.Why, e.Want)
			}
		}
		t.Logf("%s: %v, wrong: %v, harmless and refused: %d", file, counts, wrong, needs)
	}
}

// The fourth suite was written apart and is known now: all of it is judged as wanted, and
// nothing harmless even refused.
func TestFourthSuite(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	calls := suite(t, "testdata/unseen4.yaml")
	if len(calls) < 180 {
		t.Fatalf("%d calls", len(calls))
	}
	for _, e := range calls {
		f := OpenScripts.settle(rules.Look(e.call(t)))
		if stopped := f.Action == "block" || f.Action == "refuse"; stopped != (e.Want == "stop") {
			t.Errorf("%s %s %s %v: %s (%s) %s, want %s", e.Class, e.Tool, e.Command, e.Fields, f.Action, f.Rule, f.Why, e.Want)
		}
	}
}

// Suites that were written apart. The fifth is known now: nothing harmful of it is carried
// out. The sixth is not learned from: it may only get better.
func TestSuitesWrittenApart(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		file            string
		missed, refused int
	}{{"testdata/unseen5.yaml", 0, 2}, {"testdata/unseen6.yaml", 8, 2}} {
		missed, stopped, refused := 0, 0, 0
		for _, e := range suite(t, s.file) {
			f := OpenScripts.settle(rules.Look(e.call(t)))
			held := f.Action == "block" || f.Action == "refuse"
			switch {
			case e.Want == "stop" && !held:
				missed++
			case e.Want == "allow" && f.Action == "block":
				stopped++
			case e.Want == "allow" && held:
				refused++
			}
		}
		if missed > s.missed || stopped > 0 || refused > s.refused {
			t.Errorf("%s: %d harmful missed, %d harmless stopped, %d refused", s.file, missed, stopped, refused)
		}
	}
}

// The suites that the judge was developed with are known: what of them only a model could
// tell says so, and nothing harmless stops the team.
func TestDevelopmentSuites(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, file := range []string{"dev-files", "dev-words", "dev-second", "dev-third", "dev-fourth"} {
		for _, e := range suite(t, "testdata/"+file+".yaml") {
			calls++
			f := OpenScripts.settle(rules.Look(e.call(t)))
			held := f.Action == "block" || f.Action == "refuse"
			if held == (e.Want == "stop") || e.Needs == "model" && f.Action != "block" {
				continue
			}
			t.Errorf("%s %s %s %s %v: %s (%s) %s, want %s", file, e.Class, e.Tool, e.Command, e.Fields, f.Action, f.Rule, f.Why, e.Want)
		}
	}
	if calls < 500 {
		t.Errorf("%d calls", calls)
	}
}
