package key

import (
	"crypto/sha256"
	"regexp"
	"strings"
	"testing"
	"time"

	"dure/inference"

	"pgregory.net/rapid"
)

func TestNew(t *testing.T) {
	a, hash := New()
	b, _ := New()
	if a == b || !strings.HasPrefix(a, "dure-") || len(a) != len("dure-")+43 {
		t.Errorf("%q, %q", a, b)
	}
	if hash != sha256.Sum256([]byte(a)) {
		t.Error("the hash is another key's")
	}
	text, _ := hash.MarshalText()
	var back Hash
	if err := back.UnmarshalText(text); err != nil || back != hash {
		t.Errorf("%s: %v", text, err)
	}
}

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"qwen3", "qwen3", true}, {"qwen3", "qwen3.8", false}, {"qwen*", "qwen3.8-27b", true}, {"*", "", true},
		{"*", "./dir/model.gguf", true}, {"*27b", "qwen3.8-27b", true}, {"*27b", "27b-x", false}, {"q?en", "qwen", true},
		{"q?en", "qen", false}, {"", "", true}, {"", "a", false}, {"Qwen", "qwen", false}, {"a*b*c", "aXbYbZc", true}, {"[a]", "a", false},
	} {
		if got := matches(tc.pattern, tc.name); got != tc.want {
			t.Errorf("%q on %q: %v", tc.pattern, tc.name, got)
		}
	}
}

// The same as a regular expression says.
func TestMatchesAsARegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("ab*?./")), 0, 12, -1).Draw(t, "pattern")
		name := rapid.StringOfN(rapid.RuneFrom([]rune("ab./")), 0, 12, -1).Draw(t, "name")
		re := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
		if want := regexp.MustCompile("^(?s:" + re + ")$").MatchString(name); matches(pattern, name) != want {
			t.Fatalf("%q on %q: want %v", pattern, name, want)
		}
	})
}

// A pattern made to be slow is not: the test would not end otherwise.
func TestMatchesInTime(t *testing.T) {
	if matches(strings.Repeat("*a", 100)+"b", strings.Repeat("a", 100_000)) {
		t.Error("it matches")
	}
}

func TestPriorities(t *testing.T) {
	for _, tc := range []struct {
		has, asked, want inference.Priority
		ok               bool
	}{
		{"", "", "", true},
		{"", "interactive", "interactive", true},
		{"worker", "", "worker", true},
		{"worker", "worker", "worker", true},
		{"worker", "background", "background", true},
		{"worker", "merge", "", false},
		{"planner", "interactive", "", false},
		{"interactive", "interactive", "interactive", true},
		{"background", "worker", "", false},
	} {
		got, ok := Key{Priority: tc.has}.grant(tc.asked)
		if ok != tc.ok || ok && got != tc.want {
			t.Errorf("%q asked of %q: %q, %v", tc.asked, tc.has, got, ok)
		}
	}
}

func TestState(t *testing.T) {
	for want, k := range map[string]Key{
		"active": {}, "disabled": {Disabled: true, Expires: start}, "expired": {Expires: start},
	} {
		if got := k.State(start); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := (Key{Expires: start.Add(time.Nanosecond)}).State(start); got != "active" {
		t.Error(got)
	}
}
