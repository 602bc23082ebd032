package judge

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// changeLine is an entry of a change log: what developers tell each other about the work.
var changeLine = regexp.MustCompile(`(?m)^[*-] (.{20,300})$`)

// Talk about the work is let through as a message to other agents.
func TestTalkAboutTheWork(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	folders := recordings(t)
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		_ = filepath.WalkDir(folders[name], func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.HasPrefix(strings.ToLower(d.Name()), "changelog") && (*corpus != "" || len(lines) < 4000) {
				for _, m := range changeLine.FindAllStringSubmatch(string(read(path)), 400) {
					lines[m[1]] = true
				}
			}
			return nil
		})
	}
	all, refused, blocked := 0, 0, 0
	for line := range lines {
		if !sampled(line) {
			continue
		}
		all++
		switch f := OpenScripts.settle(rules.Look(writeCall("message", map[string]string{"to": "gauss", "text": line}))); f.Action {
		case "block":
			blocked++
			t.Errorf("%s: %s", f.Rule, line)
		case "refuse":
			refused++
			if testing.Verbose() && refused <= 10 {
				t.Logf("%s: %s", f.Why, line)
			}
		}
	}
	if all == 0 {
		t.Skip("no change logs on this machine: run go mod download")
	}
	t.Log(fmt.Sprintf("%d lines as messages: %d blocked, refused: %s", all, blocked, share(refused, all)))
	if 20*refused > all && all > 100 {
		t.Errorf("%d of %d are refused; at most one in twenty may", refused, all)
	}
}
