package chat

import (
	"encoding/json"
	"maps"
	"os"
	"testing"
	"time"

	"dure/inference/chat/jinja"
)

// testNow is the time that templates see in all tests.
var testNow = time.Date(2026, 3, 4, 15, 6, 7, 89_000_000, time.UTC)

// languageFile holds small templates, each for a corner of the language, and
// what Python's jinja2 makes of them. The oracle test writes and checks it.
type languageFile struct {
	Variables json.RawMessage `json:"variables"`
	Cases     []languageCase  `json:"cases"`
}

type languageCase struct {
	Template string  `json:"template"`
	Text     *string `json:"text,omitempty"`
	// Refused is Python's error. Only that there is one is compared: the words
	// are not the same.
	Refused string `json:"refused,omitempty"`
}

const languagePath = "testdata/language.json"

func readLanguage(t *testing.T) languageFile {
	t.Helper()
	data, err := os.ReadFile(languagePath)
	if err != nil {
		t.Fatal(err)
	}
	var file languageFile
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

// variablesOf reads an object of variables.
func variablesOf(t *testing.T, data []byte) map[string]jinja.Value {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	out := map[string]jinja.Value{}
	for k, raw := range fields {
		v, err := parseJSON(raw)
		if err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		out[k] = v
	}
	return out
}

func TestLanguageIsPythons(t *testing.T) {
	file := readLanguage(t)
	variables := variablesOf(t, file.Variables)
	for _, c := range file.Cases {
		var got string
		compiled, err := Compile(c.Template)
		if err == nil {
			got, err = compiled.render(maps.Clone(variables), testNow)
		}
		switch {
		case c.Text == nil && c.Refused == "":
			t.Errorf("%q has no result from Python", c.Template)
		case err != nil && c.Text != nil:
			t.Errorf("%q\n\trefused: %v\n\twant %q", c.Template, err, *c.Text)
		case err == nil && c.Text == nil:
			t.Errorf("%q\n\tgives %q\n\tPython refuses: %s", c.Template, got, c.Refused)
		case err == nil && got != *c.Text:
			t.Errorf("%q\n\tgives %q\n\twant  %q", c.Template, got, *c.Text)
		}
	}
	if len(file.Cases) < 300 {
		t.Errorf("only %d cases", len(file.Cases))
	}
}
