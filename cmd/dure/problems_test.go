package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// problems is how many docs/problems.md has at least.
const problems = 29

var (
	problemRow  = regexp.MustCompile(`(?m)^\| (\d+) \|.*$`)
	problemTest = regexp.MustCompile("`([a-z0-9/]+)\\.(Test[A-Za-z0-9]+)`")
)

// Each problem in docs/problems.md names two tests that there are.
func TestProblems(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "problems.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := problemRow.FindAllStringSubmatch(string(text), -1)
	if len(rows) < problems {
		t.Errorf("%d problems", len(rows))
	}
	there := map[string]string{} // the tests of a package, as text
	for i, row := range rows {
		named := problemTest.FindAllStringSubmatch(row[0], -1)
		if row[1] != strconv.Itoa(i+1) || len(named) < 2 || named[0][0] == named[1][0] {
			t.Errorf("a number or a second test is missing: %s", row[0])
		}
		for _, n := range named {
			dir := filepath.Join(root, filepath.FromSlash(n[1]))
			if _, ok := there[dir]; !ok {
				there[dir] = testsIn(t, dir)
			}
			if !strings.Contains(there[dir], "\nfunc "+n[2]+"(t *testing.T)") {
				t.Errorf("problem %s: there is no %s in %s", row[1], n[2], n[1])
			}
		}
	}
}

// testsIn is the text of all tests of a package.
func testsIn(t *testing.T, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// suiteTest names a part of the suite that every board passes.
var suiteTest = regexp.MustCompile("`boardtest\\.([A-Za-z]+)`")

// Each row in docs/rows.md names tests that there are.
func TestRows(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "rows.md"))
	if err != nil {
		t.Fatal(err)
	}
	suite, err := os.ReadFile(filepath.Join(root, "runtime", "board", "boardtest", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, n := range problemTest.FindAllStringSubmatch(string(text), -1) {
		named++
		if !strings.Contains(testsIn(t, filepath.Join(root, filepath.FromSlash(n[1]))), "\nfunc "+n[2]+"(t *testing.T)") {
			t.Errorf("there is no %s in %s", n[2], n[1])
		}
	}
	for _, n := range suiteTest.FindAllStringSubmatch(string(text), -1) {
		named++
		if !strings.Contains(string(suite), `"`+n[1]+`":`) {
			t.Errorf("there is no %s in the suite of boards", n[1])
		}
	}
	if named < 60 {
		t.Errorf("%d tests are named", named)
	}
}
