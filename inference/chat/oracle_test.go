//go:build oracle

package chat

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	templatesDir = flag.String("templates", "", "directory of chat templates (*.jinja) to compare")
	python       = flag.String("python", "python3", "Python with jinja2")
	update       = flag.Bool("update", false, "write Python's results to the files in testdata")
)

// TestTemplatesRenderAsInPython renders every template with every conversation
// here and in Python, and compares: the same bytes, or both refuse.
//
//	go test -tags oracle ./inference/chat -args -templates DIR
func TestTemplatesRenderAsInPython(t *testing.T) {
	if *templatesDir == "" {
		t.Fatal("-templates is not set: this test compares the templates of a directory, for example models/templates of llama.cpp's source")
	}
	files, err := filepath.Glob(filepath.Join(*templatesDir, "*.jinja"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates in %s: %v", *templatesDir, err)
	}
	conversations := readConversations(t)
	var cases []oracleCase
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range conversations {
			cases = append(cases, oracleCase{filepath.Base(file), c.Name, string(source), c.Variables})
		}
	}
	results := askPython(t, cases)
	failed := map[string]int{}
	for i, c := range cases {
		if difference := compare(t, c, results[i]); difference != "" {
			failed[c.file]++
			t.Errorf("%s, %s: %s", c.file, c.conversation, difference)
		}
	}
	total := 0
	for file, n := range failed {
		total += n
		t.Logf("%s: %d of %d differ", file, n, len(conversations))
	}
	t.Logf("%d templates x %d conversations: %d of %d equal", len(files), len(conversations), len(cases)-total, len(cases))
}

type oracleCase struct {
	file, conversation string
	Template           string          `json:"template"`
	Variables          json.RawMessage `json:"variables"`
}

type oracleResult struct {
	Text    *string `json:"text"`
	Refused string  `json:"refused"`
}

func askPython(t *testing.T, cases []oracleCase) []oracleResult {
	in, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(*python, "testdata/oracle.py", testNow.Format("2006-01-02T15:04:05.000"))
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s testdata/oracle.py: %v (it needs the package jinja2)", *python, err)
	}
	var results []oracleResult
	if err := json.Unmarshal(out, &results); err != nil || len(results) != len(cases) {
		t.Fatalf("%d results for %d cases: %v", len(results), len(cases), err)
	}
	return results
}

// compare returns how we differ from Python, or nothing.
func compare(t *testing.T, c oracleCase, want oracleResult) string {
	got, err := renderCase(t, c)
	switch {
	case err != nil && want.Text == nil:
		return ""
	case err != nil:
		return "refused here: " + err.Error()
	case want.Text == nil:
		return "refused in Python: " + want.Refused
	case got == *want.Text:
		return ""
	}
	i := 0
	for i < len(got) && i < len(*want.Text) && got[i] == (*want.Text)[i] {
		i++
	}
	around := func(s string) string { return s[max(0, i-60):min(len(s), i+60)] }
	return strings.Join([]string{"differs", "got  " + quote(around(got)), "want " + quote(around(*want.Text))}, "\n\t")
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(b)
}

func renderCase(t *testing.T, c oracleCase) (string, error) {
	compiled, err := Compile(c.Template)
	if err != nil {
		return "", err
	}
	return compiled.render(variablesOf(t, c.Variables), testNow)
}

// TestLanguageFileHoldsPythonsResults runs the small templates in Python again.
// With -update it writes the results instead of comparing them.
func TestLanguageFileHoldsPythonsResults(t *testing.T) {
	file := readLanguage(t)
	cases := make([]oracleCase, len(file.Cases))
	for i, c := range file.Cases {
		cases[i] = oracleCase{Template: c.Template, Variables: file.Variables}
	}
	for i, r := range askPython(t, cases) {
		c := &file.Cases[i]
		same := r.Refused == c.Refused && (r.Text == nil) == (c.Text == nil) && (r.Text == nil || *r.Text == *c.Text)
		if !same && !*update {
			t.Errorf("%q: Python's result is not the file's", c.Template)
		}
		c.Text, c.Refused = r.Text, r.Refused
	}
	if *update {
		writeJSON(t, languagePath, file)
	}
}

// TestRenderedFileHoldsPythonsResults renders the templates of testdata with
// the conversations in Python again. With -update it writes the results.
func TestRenderedFileHoldsPythonsResults(t *testing.T) {
	conversations := readConversations(t)
	var cases []oracleCase
	names := ownTemplates(t)
	for _, name := range names {
		source := readFile(t, name)
		for _, c := range conversations {
			cases = append(cases, oracleCase{name, c.Name, source, c.Variables})
		}
	}
	python := map[string]map[string]rendering{}
	for i, r := range askPython(t, cases) {
		c := cases[i]
		if python[c.file] == nil {
			python[c.file] = map[string]rendering{}
		}
		python[c.file][c.conversation] = rendering{r.Text, r.Refused}
	}
	if *update {
		writeJSON(t, renderedPath, python)
		return
	}
	if diff := cmp.Diff(python, readRendered(t)); diff != "" {
		t.Errorf("%s is not what Python gives (-Python +file):\n%s", renderedPath, diff)
	}
}

func writeJSON(t *testing.T, path string, v any) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
