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
		if f.Action != e.Want {
			t.Errorf("%s %s %v: %s (%s), want %s", e.Class, e.Command, e.Fields, f.Action, f.Rule, e.Want)
		}
	}
	t.Log(counts)
}

// The half that was written apart from the rules. What they said of it the first time is
// in docs/judge.md; since then it is known too.
func TestUnseenCalls(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	counts, wrong := map[string]int{}, map[string]int{}
	for _, e := range suite(t, "testdata/unseen.yaml") {
		f := rules.Look(e.call(t))
		counts[e.Class]++
		stopped := f.Action == "block" || f.Action == "refuse"
		if e.Want == "stop" != stopped {
			wrong[e.Class]++
			t.Errorf("%s %s %s %v: %s (%s), want %s", e.Class, e.Tool, e.Command, e.Fields, f.Action, f.Rule, e.Want)
		}
	}
	t.Logf("%v, wrong: %v", counts, wrong)
}
