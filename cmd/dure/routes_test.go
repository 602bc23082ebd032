package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"dure/inference/front"
)

// Where README's table of routes begins and ends.
const (
	routesBegin = "<!-- routes: `go test ./cmd/dure -run TestRoutesInReadme -update` writes this table -->\n"
	routesEnd   = "<!-- end of routes -->\n"
)

// README's table of routes is the route table.
func TestRoutesInReadme(t *testing.T) {
	_, routes := besieged(t, nil)
	routes = append(routes, newVoiceHost("", "", "info", slog.New(slog.DiscardHandler), nil).surface(nil).Routes...)
	want := routeTable(routes)
	const name = "../../README.md"
	readme, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := bytes.Cut(readme, []byte(routesBegin))
	got, after, ended := bytes.Cut(rest, []byte(routesEnd))
	if !begun || !ended {
		t.Fatalf("README.md has no %q followed by %q", routesBegin, routesEnd)
	}
	if string(got) == want {
		return
	}
	if !*update {
		t.Fatalf("README.md tells other routes than there are: run `go test ./cmd/dure -run TestRoutesInReadme -update`\ngot\n%s\nwant\n%s", got, want)
	}
	all := bytes.Join([][]byte{before, []byte(routesBegin), []byte(want), []byte(routesEnd), after}, nil)
	if err := os.WriteFile(name, all, 0o644); err != nil {
		t.Fatal(err)
	}
}

// routeTable is the route table for people.
func routeTable(routes []front.Route) string {
	var b strings.Builder
	b.WriteString("| route | key | what it does |\n|---|---|---|\n")
	for _, r := range routes {
		key, with := "any", ""
		switch {
		case r.Open:
			key = "none"
		case r.Admin:
			key = "admin"
		}
		if r.Header != "" {
			with = ", with the header `" + r.Header + "`"
		}
		fmt.Fprintf(&b, "| `%s %s`%s | %s | %s |\n", r.Method, r.Path, with, key, strings.ReplaceAll(r.Doc, "|", `\|`))
	}
	return b.String()
}

// GET /openapi.json has every route of all surfaces, to people without a key too.
func TestRoutesInDocument(t *testing.T) {
	url, routes := besieged(t, nil)
	resp, err := http.Get(url + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var doc struct {
		Paths map[string]map[string]struct{ Summary string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v", resp.StatusCode, err)
	}
	for _, r := range routes {
		if doc.Paths[r.Path][strings.ToLower(r.Method)].Summary == "" {
			t.Errorf("%s %s is missing", r.Method, r.Path)
		}
	}
}
