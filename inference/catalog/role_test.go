package catalog

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dure/inference"
)

// goodRoles goes behind a whole catalogue; each fault changes one line of it.
const goodRoles = `models:
  - {name: one, source: {path: /models/one.gguf}, licence: MIT, roles: [worker]}
  - {name: far, source: {endpoint: {url: 'https://far.example/v1', api: anthropic, model: m, key_file: /k, context: 9, price: {input: 1, cached: 0.1, output: 5}}}, licence: MIT, roles: [planner]}
roles:
  lead:
    model: far
    max_tokens: 100
    thinking: high
  planner:
    endpoint: https://planner.example/v1
    api: openai
    model: large
    key_env: KEY
    context: 200000
    price:
      input: 3
      cached_input: 0.3
      output: 15
      currency: USD
    max_tokens: 16000
    thinking: 8000
  worker:
    endpoint: http://127.0.0.1:8484/v1
    api: openai
    model: small
    context: 4096
  judge:
    model: one
default: one
`

func openRoles(text string) (*Catalog, error) {
	c, err := Decode("models.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	return Merge(c, nil)
}

func TestRoles(t *testing.T) {
	c, err := openRoles(goodRoles)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := c.Find("one")
	far, _ := c.Find("far")
	want := map[string]Assigned{
		"lead": {Role: "lead", Given: true, Entry: far, Endpoint: far.Source.Endpoint, Rates: Rates{Input: 1e6, Cached: 1e5, Output: 5e6}, MaxTokens: 100, Reasoning: inference.Reasoning{Effort: inference.EffortHigh}},
		"planner": {Role: "planner", Given: true, Endpoint: &Endpoint{URL: "https://planner.example/v1", API: "openai", Model: "large", KeyEnv: "KEY", Context: 200000},
			Rates: Rates{Input: 3e6, Cached: 3e5, Output: 15e6}, MaxTokens: 16000, Reasoning: inference.Reasoning{Budget: 8000}},
		"worker": {Role: "worker", Given: true, Endpoint: &Endpoint{URL: "http://127.0.0.1:8484/v1", API: "openai", Model: "small", Context: 4096}},
		"judge":  {Role: "judge", Given: true, Entry: one},
		"merger": {Role: "merger", Entry: one},
	}
	for role, want := range want {
		got, err := c.Assigned(role)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", role, d)
		}
		if local := role != "lead" && role != "planner"; got.Local() != local {
			t.Errorf("%s: local is %v", role, got.Local())
		}
	}
	if _, err := c.Assigned("boss"); err == nil || !strings.Contains(err.Error(), "merger") {
		t.Errorf("%v", err)
	}
}

func TestRolesRefuse(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		line           int
		says           string
	}{
		{"unknown role", "  judge:", "  juge:", 27, `unknown key "juge" (did you mean "judge"?)`},
		{"unknown key", "    max_tokens: 100", "    max_token: 100", 7, `unknown key "max_token" (did you mean "max_tokens"?)`},
		{"role twice", "  judge:", "  lead:", 27, "roles.lead is there twice, first in line 5"},
		{"unknown model", "    model: one", "    model: onne", 27, `roles.judge.model: there is no model "onne" (did you mean "one"?)`},
		{"no model", "    model: small\n", "", 22, "roles.worker.model is missing"},
		{"key in place of its name", "key_env: KEY", "key_env: sk-12345", 13, "never the key itself"},
		{"two keys", "key_env: KEY", "key_env: KEY\n    key_file: /k", 14, "and then no key_env"},
		{"relative key file", "key_env: KEY", "key_file: k", 13, "absolute path"},
		{"endpoint over http", "https://planner", "http://planner", 10, "roles.planner.endpoint: want"},
		{"key in the address", "https://planner", "https://u:p@planner", 10, "roles.planner.endpoint: want"},
		{"unknown api", "api: openai\n    model: large", "api: opnai\n    model: large", 11, "one of openai, anthropic"},
		{"api without endpoint", "    model: one", "    model: one\n    api: openai", 29, "the role names none"},
		{"local without endpoint", "    model: one", "    model: one\n    local: true", 29, "the role names none"},
		{"no context", "    context: 4096\n", "", 22, "roles.worker.context is missing"},
		{"no price", "    price:\n      input: 3\n      cached_input: 0.3\n      output: 15\n      currency: USD\n", "", 9, "roles.planner.price is missing"},
		{"price of an own server that is said not to be", "model: small", "model: small\n    local: false", 22, "roles.worker.price is missing"},
		{"other money", "currency: USD", "currency: EUR", 19, "USD, the only one"},
		{"negative price", "input: 3", "input: -3", 16, "roles.planner.price.input: want"},
		{"price too fine", "cached_input: 0.3", "cached_input: 0.0000003", 17, "six decimals"},
		{"price of a fortune", "output: 15", "output: 1000000", 18, "roles.planner.price.output"},
		{"price in words", "output: 15", "output: much", 18, "cannot"},
		{"thinking in other words", "thinking: high", "thinking: hard", 8, "roles.lead.thinking: want one of none"},
		{"negative thinking", "thinking: 8000", "thinking: -8000", 21, "roles.planner.thinking"},
		{"negative answer", "max_tokens: 16000", "max_tokens: -1", 20, "roles.planner.max_tokens"},
		{"anthropic without a limit", "    max_tokens: 100\n", "", 5, "roles.lead.max_tokens is missing"},
		{"anthropic endpoint without a limit", "api: openai\n    model: small", "api: anthropic\n    model: small", 22, "roles.worker.max_tokens is missing"},
		{"entry without a price", ", price: {input: 1, cached: 0.1, output: 5}", "", 5, "roles.lead.price is missing"},
		{"role as text", "    model: one", "    one", 28, "roles.judge: want keys"},
		{"roles as a list", "  judge:\n    model: one", "  - judge", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(goodRoles, c.old) {
				t.Fatalf("the good file has no %q", c.old)
			}
			_, err := openRoles(strings.Replace(goodRoles, c.old, c.new, 1))
			var first *FileError
			if !errors.As(err, &first) {
				t.Fatalf("error is %T: %v", err, err)
			}
			if c.line != 0 && first.Line != c.line || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %q, want line %d and %q", err, c.line, c.says)
			}
			if strings.Contains(err.Error(), "sk-12345") {
				t.Errorf("shows the key: %v", err)
			}
		})
	}
}

// A user's file changes the roles that it names, and may name the built-in models.
func TestMergeRoles(t *testing.T) {
	base, err := Decode("base", []byte(goodRoles))
	if err != nil {
		t.Fatal(err)
	}
	own, err := Decode("own", []byte("roles: {judge: {model: far, max_tokens: 5}, merger: {model: one, thinking: none}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Merge(base, own)
	if err != nil {
		t.Fatal(err)
	}
	if c.Roles.Judge.Model != "far" || c.Roles.Merger.Thinking != "none" || c.Roles.Worker.Model != "small" || base.Roles.Judge.Model != "one" {
		t.Errorf("%+v", c.Roles)
	}
	if own, err = Decode("own", []byte("models: []\nroles:\n  judge: {model: gone}\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(base, own); err == nil || !strings.HasPrefix(err.Error(), "own:3: roles.judge.model") {
		t.Errorf("%v", err)
	}
}

// The example in the built-in file is right once its marks go, and until then nothing.
func TestRolesExample(t *testing.T) {
	data, err := os.ReadFile("../../models.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.TempDir(), data)
	if err != nil || c.Roles != (Team{}) {
		t.Fatalf("%+v, %v", c, err)
	}
	text := string(data)
	at := strings.Index(text, "\n# roles:\n")
	if at < 0 {
		t.Fatal("no example of roles")
	}
	own, err := Decode("own", []byte(strings.ReplaceAll(text[at:], "\n# ", "\n")))
	if err != nil {
		t.Fatal(err)
	}
	if c, err = Merge(c, own); err != nil {
		t.Fatal(err)
	}
	for _, role := range TeamRoles {
		a, err := c.Assigned(role)
		if err != nil || !a.Given || a.Local() != (role != "planner") {
			t.Errorf("%s: %+v, %v", role, a, err)
		}
	}
}

// A price is the number that was written, however many tokens it is multiplied by.
func TestPricesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64Range(0, 1e12-1).Draw(t, "micro")
		if p := float64(want) / 1e6; !exact(p) || micro(p) != want {
			t.Fatalf("%d is %g, %d", want, p, micro(p))
		}
	})
}
