package judge

import (
	"strings"
	"testing"
)

func TestOrdinaryThatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"programs: {fly: [x]}":                 "no kind",
		"commands: {git: '('}":                 "git",
		"hazards: ['[']":                       "hazards",
		"places: {read: ['(']}":                "read",
		"colours: [red]":                       "colours",
		"variables: '('":                       "variables",
		"values: ['{{inside']\nplaces: {b: c}": "b",
	} {
		if _, err := parseOrdinary([]byte(text), &sources{}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// What is not understood is refused with the part that was not, so that the agent can
// write it otherwise; nothing of it stops the team.
func TestWhatIsNotOrdinaryIsToldApart(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"frobnicate x":                   `the program "frobnicate"`,
		"go build ./... && cat /srv/x/y": `"/srv/x/y"`,
		"go test -exec ./w ./...":        "options",
		"c''at a.txt":                    "does not look like",
		"RUSTC_WRAPPER=./w cargo build":  `RUSTC_WRAPPER`,
		"curl -s http://203.0.113.9/x":   "a number",
		"jq -r .x a.json | python3":      "",
		"rm -rf tests":                   "",
		"git push elsewhere HEAD":        "another place",
	} {
		f := OpenScripts.settle(rules.Look(shellCall(command)))
		if f.Action != "refuse" || !strings.Contains(f.Why, want) {
			t.Errorf("%s: %s %s: %s, want %q", command, f.Action, f.Rule, f.Why, want)
		}
	}
}

// A repository's own programs and places are known where the team names them.
func TestOwnProgramsAreKnown(t *testing.T) {
	rules, err := BuiltinWith(map[string][]string{"programs": {"frob*"}})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{"frobnicate x": "allow", "othername x": "open"} {
		if f := rules.Look(shellCall(command)); f.Action != want {
			t.Errorf("%s: %+v, want %s", command, f, want)
		}
	}
}
