package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/key"
)

// keyRun runs `dure key` in this process.
func keyRun(t *testing.T, args ...string) (out, errs string, err error) {
	t.Helper()
	cmd := keyCommand()
	var o, e bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

func TestKeyCommand(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	t.Setenv(envHome, home)
	file := filepath.Join(home, key.FileName)
	run := func(args ...string) (out, errs string) {
		t.Helper()
		out, errs, err := keyRun(t, args...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return out, errs
	}
	if out, _ := run("list"); !strings.Contains(out, "no keys in "+file) {
		t.Errorf("%s", out)
	}
	secret, said := run("add", "ci", "--model", "qwen*,smol", "--model", "x", "--priority", "worker", "--rpm", "1", "--rpd", "2", "--tpm", "3",
		"--tpd", "4", "--concurrency", "5", "--expires", "90d", "--admin")
	if !strings.Contains(said, "only time that the key is shown") || !strings.Contains(said, "from now on") || strings.Contains(said, secret) {
		t.Errorf("%s", said)
	}
	keys, err := key.Read(file)
	if err != nil || len(keys) != 1 {
		t.Fatalf("%+v, %v", keys, err)
	}
	k := keys[0]
	if k.Hash != sha256.Sum256([]byte(strings.TrimSuffix(secret, "\n"))) || strings.Join(k.Models, " ") != "qwen* smol x" || !k.Admin ||
		k.Priority != inference.PriorityWorker || k.Limits != (key.Limits{RequestsPerMinute: 1, RequestsPerDay: 2, TokensPerMinute: 3, TokensPerDay: 4, Concurrency: 5}) {
		t.Errorf("%q: %+v", secret, k)
	}
	if _, said := run("add", "two"); strings.Contains(said, "from now on") {
		t.Errorf("%s", said)
	}
	for _, step := range []struct{ args, want string }{
		{"list", "ci    until 2"},
		{"list", "qwen*, smol, x; worker at most; admin  1 req/min, 2 req/day, 3 tok/min, 4 tok/day, 5 at once"},
		{"list", "two   active"},
		{"disable two", `disabled the key "two"`},
		{"disable two", "was disabled already"},
		{"list", "two   disabled"},
		{"enable two", `enabled the key "two"`},
		{"list", "two   active"},
		{"remove two", `removed the key "two"`},
		{"rm ci", "none is left"},
		{"list", "no keys"},
	} {
		if out, _ := run(strings.Fields(step.args)...); !strings.Contains(out, step.want) {
			t.Errorf("%s: %s", step.args, out)
		}
	}
}

func TestKeyCommandRefuses(t *testing.T) {
	t.Setenv(envHome, t.TempDir())
	if _, _, err := keyRun(t, "add", "a"); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ args, want string }{
		{"add a", `there is a key "a" already`},
		{"add a/b", "letters, digits"},
		{"add", "accepts 1 arg"},
		{"add b --rpm -1", "requests_per_minute -1"},
		{"add b --priority high", "want one of"},
		{"add b --expires tomorrow", "write for example 90d"},
		{"add b --expires 2020-01-01", "that is past"},
		{"add b --expires 0d", "that is past"},
		{"add b --expires 99999999999999999999d", "write for example"},
		{"add b --model=", "--model is empty"},
		{"add b --priority=", "--priority is empty"},
		{"add b --expires=", "--expires is empty"},
		{"add b --model a,,b", "models"},
		{"add b --tpd 1e6", "invalid argument"},
		{"remove b", `there is no key "b"; there are a`},
		{"disable b", `there is no key "b"`},
		{"list b", "unknown command"},
	} {
		if out, _, err := keyRun(t, strings.Fields(tc.args)...); err == nil || !strings.Contains(err.Error(), tc.want) || out != "" {
			t.Errorf("%s: %v, %s", tc.args, err, out)
		}
	}
	file := filepath.Join(os.Getenv(envHome), key.FileName)
	keys, err := key.Read(file)
	if err != nil || len(keys) != 1 {
		t.Errorf("%+v, %v", keys, err)
	}
	put(t, file, "{\n]")
	for _, args := range []string{"add b", "list", "remove a"} {
		if _, _, err := keyRun(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), file+", line 2") {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 5, 1, 10, 0, 0, 0, time.FixedZone("east", 9*3600))
	for text, want := range map[string]time.Time{
		"": {}, "2d": now.AddDate(0, 0, 2), "90m": now.Add(90 * time.Minute),
		"2026-05-01": time.Date(2026, 5, 2, 0, 0, 0, 0, now.Location()), "2026-05-01T10:00:01+09:00": now.Add(time.Second),
	} {
		if got, err := expiry(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}

// What a server counted is listed.
func TestKeyListShowsUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "team.json")
	secret, _, err := keyRun(t, "add", "ci", "--keys", file, "--rpd", "1")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := key.Open(key.Options{File: file, Given: true})
	if err != nil {
		t.Fatal(err)
	}
	k, err := ring.Identify(strings.TrimSpace(secret))
	if err != nil {
		t.Fatal(err)
	}
	visit, err := ring.Admit(k, key.Ask{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ring.Admit(k, key.Ask{Model: "m"}); err == nil {
		t.Error("a limit does not hold")
	}
	visit.Settle(inference.Usage{PromptTokens: 20, CachedTokens: 15, CompletionTokens: 3})
	if err := ring.Close(); err != nil {
		t.Fatal(err)
	}
	out, _, err := keyRun(t, "list", "--keys", file)
	if err != nil || strings.Count(out, "1 req, 23 tok, 1 refused") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	out, errs, err := keyRun(t, "list", "--keys", file, "--json")
	var rows []keyRow
	if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	if r := rows[0]; err != nil || r.Total != (key.Counts{Requests: 1, PromptTokens: 20, CachedTokens: 15, CompletionTokens: 3, Refused: 1}) || r.Today != r.Total || r.State != "active" {
		t.Errorf("%v\n%+v", err, r)
	}
	if !strings.Contains(errs, "chmod 600 "+file) {
		t.Errorf("%q", errs)
	}
}

// Two writers at once lose nothing: here six processes.
func TestKeyAddAtOnce(t *testing.T) {
	home := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const writers = 6
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			cmd := exec.Command(self, "key", "add", fmt.Sprint("k", i))
			cmd.Env = append(os.Environ(), envBeDure+"=1", envHome+"="+home)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "dure-") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	keys, err := key.Read(filepath.Join(home, key.FileName))
	if err != nil || len(keys) != writers {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	if left := unlisted(t, home); len(left) != 0 {
		t.Errorf("not in the table of formats: %q", left)
	}
}
