package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"dure/gguf/synth"
)

// execute runs one command in this process.
func execute(t *testing.T, cmd *cobra.Command, in string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// hubHome is a fresh DURE_HOME whose catalogue has the model tiny, and the hub
// that it comes from.
func hubHome(t *testing.T) (home, hub string, data []byte) {
	t.Helper()
	c := synth.SmolShape()
	c.Layers, c.Embedding, c.Heads, c.KVHeads, c.FeedForward, c.Vocabulary = 2, 64, 2, 1, 64, 300
	var b bytes.Buffer
	if err := synth.Llama(&b, c); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hf_test" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("X-Linked-Etag", `"`+hex.EncodeToString(sum[:])+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b.Bytes()))
	}))
	t.Cleanup(server.Close)
	home = t.TempDir()
	for name, value := range map[string]string{"HOME": t.TempDir(), envHome: home, envHubToken: "hf_test", envHub: server.URL, envHubHome: "", envHubCache: "", envCache: "", envOllama: "", envBudget: ""} {
		t.Setenv(name, value)
	}
	yaml := `models:
  - name: tiny
    source:
      huggingface: {repo: org/repo, file: tiny.gguf}
    licence: MIT
    rights: be kind
    roles: [test]
  - name: mine
    source:
      path: ` + filepath.Join(home, "mine.gguf") + `
    licence: MIT
    roles: [test]
  - name: cloud
    source:
      endpoint: {url: "https://api.example/v1", api: openai, model: large, context: 1000}
    licence: terms
    roles: [planner]
`
	for name, content := range map[string][]byte{"models.yaml": []byte(yaml), "mine.gguf": b.Bytes()} {
		if err := os.WriteFile(filepath.Join(home, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return home, server.URL, b.Bytes()
}

func contains(t *testing.T, out string, err error, wants ...string) {
	t.Helper()
	if err != nil {
		out += err.Error()
	}
	for _, want := range wants {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}

// The life of a model on the disk.
func TestPullListVerifyRemove(t *testing.T) {
	home, _, data := hubHome(t)
	out, err := execute(t, listCommand(), "")
	contains(t, out, err, "no: dure pull tiny", "not known yet", "(not dure's, used in place)", "on another server", "disk: "+home)
	if _, err := execute(t, verifyCommand(), "", "tiny"); err == nil {
		t.Error("verified a model that is not here")
	}
	out, err = execute(t, pullCommand(), "", "tiny", "--budget", "1kB")
	if contains(t, out, err, "the budget is"); err == nil {
		t.Error("no budget")
	}
	out, err = execute(t, pullCommand(), "", "tiny", "--budget", "10 GiB")
	contains(t, out, err, "model tiny is ready in "+home, "be kind")
	if err != nil {
		t.Fatal(err)
	}
	out, err = execute(t, listCommand(), "", "--json")
	var rows []modelRow
	if jsonErr := json.Unmarshal([]byte(out), &rows); err != nil || jsonErr != nil {
		t.Fatalf("%v, %v", err, jsonErr)
	}
	seen := false
	for _, r := range rows {
		if r.Name == "tiny" {
			seen = r.Path != "" && !r.InPlace && r.Disk >= int64(len(data))
		}
	}
	if !seen {
		t.Errorf("%s", out)
	}
	out, err = execute(t, verifyCommand(), "")
	contains(t, out, err, "tiny is whole", "mine is whole", "header only")
	if err != nil {
		t.Error(err)
	}
	file := filepath.Join(home, "models", "tiny", "tiny.gguf")
	if err := os.WriteFile(file, data[:len(data)-1], 0o644); err != nil { // another size: not here any more
		t.Fatal(err)
	}
	out, err = execute(t, listCommand(), "")
	contains(t, out, err, "no: dure pull tiny")
	if err := os.WriteFile(file, append(data[:len(data)-1:len(data)-1], data[len(data)-1]^1), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err = execute(t, verifyCommand(), "", "tiny")
	if contains(t, out, err, "tiny.gguf.damaged", "dure pull tiny"); err == nil {
		t.Error("a damaged file passed")
	}
	if out, err = execute(t, pullCommand(), "", "tiny"); err != nil {
		t.Fatal(err)
	}
	out, err = execute(t, rmCommand(), "", "tiny")
	contains(t, out, err, "removed model tiny")
	out, err = execute(t, listCommand(), "")
	contains(t, out, err, "no: dure pull tiny")
	for _, c := range []struct{ name, says string }{{"mine", "dure never removes it"}, {"cloud", "on another server"}, {"tinny", `did you mean "tiny"`}, {"../mine.gguf", "model file"}, {filepath.Join(home, "mine.gguf"), "dure never removes it"}} {
		out, err = execute(t, rmCommand(), "", c.name)
		if contains(t, out, err, c.says); err == nil {
			t.Errorf("%s was removed", c.name)
		}
	}
	if _, err := os.Stat(filepath.Join(home, "mine.gguf")); err != nil {
		t.Error(err)
	}
}

// What is left over is listed first, and goes only after a yes.
func TestRemoveLeftovers(t *testing.T) {
	home, _, _ := hubHome(t)
	out, err := execute(t, rmCommand(), "", "--leftovers")
	contains(t, out, err, "nothing is left over")
	part, engine, letter := filepath.Join(home, "downloads", "tiny+tiny.gguf.part"), filepath.Join(home, "engine", "cpu-0.0.1", "manifest.json"), filepath.Join(home, "engine", "notes.txt")
	for _, p := range []string{part, engine, letter} {
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err = execute(t, listCommand(), "")
	contains(t, out, err, "in part (")
	for _, answer := range []string{"", "n\n", "what\n"} {
		out, err = execute(t, rmCommand(), answer, "--leftovers")
		contains(t, out, err, part, filepath.Dir(engine), "nothing was removed")
	}
	out, err = execute(t, rmCommand(), "y\n", "--leftovers")
	if contains(t, out, err, "\nremove all of this", "removed "); err != nil {
		t.Error(err)
	}
	for p, want := range map[string]bool{part: false, engine: false, letter: true} {
		if _, err := os.Stat(p); (err == nil) != want {
			t.Errorf("%s: %v", p, err)
		}
	}
	for _, args := range [][]string{{}, {"tiny", "--leftovers"}} {
		if _, err := execute(t, rmCommand(), "", args...); err == nil {
			t.Errorf("rm %v worked", args)
		}
	}
}

// Another program's file is found, listed, and used where it lies.
func TestListFound(t *testing.T) {
	home, _, data := hubHome(t)
	out, err := execute(t, listCommand(), "", "--found")
	contains(t, out, err, "none")
	file := filepath.Join(os.Getenv("HOME"), ".lmstudio", "models", "org", "repo", "tiny.gguf")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o444); err != nil {
		t.Fatal(err)
	}
	out, err = execute(t, listCommand(), "", "--found")
	contains(t, out, err, "lmstudio", "dure pull tiny", file)
	out, err = execute(t, pullCommand(), "", "tiny")
	contains(t, out, err, "ready in "+file, "used in place")
	out, err = execute(t, listCommand(), "")
	contains(t, out, err, file+" (not dure's")
	out, err = execute(t, pullCommand(), "", "tiny", "--no-reuse") // it is here
	contains(t, out, err, file)
	out, err = execute(t, rmCommand(), "", "tiny")
	contains(t, out, err, "removed model tiny")
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	out, err = execute(t, pullCommand(), "", "tiny", "--no-reuse")
	contains(t, out, err, "ready in "+home)
}

func TestDiskBytes(t *testing.T) {
	for s, want := range map[string]int64{"1": 1, "10kB": 10_000, "1.5 GiB": 3 << 29, "2TB": 2e12, "7 b": 7, "3MIB": 3 << 20} {
		if got, err := diskBytes(s); err != nil || got != want {
			t.Errorf("%q is %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "GiB", "-1", "0", "1..2", "5 parsecs", "1e9", "99999999999TB", "0.1"} {
		if got, err := diskBytes(s); err == nil {
			t.Errorf("%q is %d", s, got)
		}
	}
}
