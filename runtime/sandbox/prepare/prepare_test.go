package prepare

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/runtime/sandbox"
)

// project is a small real repository with a dependency, and its tests.
type project struct {
	tool  string
	files map[string]string
	test  []string
	says  string
	long  bool // takes too long for every run
}

var projects = map[string]project{
	"go": {tool: "go", test: []string{"go", "run", "."}, says: "works", files: map[string]string{
		"go.mod": "module example.org/small\n\ngo 1.24\n\nrequire github.com/tidwall/match v1.1.1\n",
		"go.sum": "github.com/tidwall/match v1.1.1 h1:+Ho715JplO36QYgwN9PGYNhgZvoUSc9X2c80KVTi+GA=\ngithub.com/tidwall/match v1.1.1/go.mod h1:eRSPERbgtNPcGhD8UCthc6PmLEQXEWd3PRB5JTxsfmM=\n",
		"main.go": `package main

import "github.com/tidwall/match"

func main() {
	if !match.Match("small", "s*l") {
		panic("no match")
	}
	println("works")
}
`}},
	// Its tests need half of the standard library, which every box compiles anew.
	"go test": {tool: "go", long: true, test: []string{"go", "test", "./..."}, says: "ok", files: map[string]string{
		"go.mod": "module example.org/small\n\ngo 1.24\n\nrequire github.com/google/go-cmp v0.7.0\n",
		"go.sum": "github.com/google/go-cmp v0.7.0 h1:wk8382ETsv4JYUZwIsn6YpYiWiBsYLSJiTsyBybVuN8=\ngithub.com/google/go-cmp v0.7.0/go.mod h1:pXiqmnSA92OHEEa9HXL2W4E7lf9JzCmGVUdgjX3N/iU=\n",
		"small_test.go": `package small

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSmall(t *testing.T) {
	if d := cmp.Diff(1, 1); d != "" {
		t.Error(d)
	}
	if _, err := net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Error(err)
	}
}
`}},
	"npm": {tool: "npm", test: []string{"npm", "test"}, says: "works", files: map[string]string{
		"package.json": `{"name": "small", "version": "1.0.0", "scripts": {"test": "node test.js"}, "dependencies": {"left-pad": "1.3.0"}}`,
		"package-lock.json": `{"name": "small", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
  "": {"name": "small", "version": "1.0.0", "dependencies": {"left-pad": "1.3.0"}},
  "node_modules/left-pad": {"version": "1.3.0", "integrity": "sha512-XI5MPzVNApjAyhQzphX8BkmKsKUxD4LdyK24iZeQGinBN9yTQT3bFlCBy/aVx2HrNcqQGsdot8ghrjyrvMCoEA=="}}}`,
		"test.js": `if (require("left-pad")("x", 3) !== "  x") process.exit(1); console.log("works")`,
	}},
	"pip": {tool: "python3", long: true, test: []string{"python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"}, says: "1 passed", files: map[string]string{
		"requirements.txt": "pytest==8.4.2\n",
		"test_small.py":    "def test_small():\n    assert 1 + 1 == 2\n",
	}},
	"cargo": {tool: "cargo", long: true, test: []string{"cargo", "test", "--quiet"}, says: "1 passed", files: map[string]string{
		"Cargo.toml": "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nitoa = \"=1.0.15\"\n",
		"Cargo.lock": "version = 3\n\n[[package]]\nname = \"itoa\"\nversion = \"1.0.15\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"4a5f13b858c8d314ee3e8f639011f7ccefe71f97f96e50151fb991f267928e2c\"\n\n[[package]]\nname = \"small\"\nversion = \"0.1.0\"\ndependencies = [\n \"itoa\",\n]\n",
		"src/lib.rs": "#[test]\nfn works() { assert_eq!(itoa::Buffer::new().format(7), \"7\"); }\n",
	}},
}

var all = flag.Bool("clients", false, "prepare for all that takes longer as well: pip, cargo, tests in Go")

// What was prepared with a network is enough without one.
func TestOffline(t *testing.T) {
	for name, p := range projects {
		t.Run(name, func(t *testing.T) {
			if p.long && !*all {
				t.Skip("SKIPPED: it takes half a minute; -args -clients has it run, as make test-long does")
			}
			offline(t, p)
		})
	}
}

func offline(t *testing.T, p project) {
	if _, err := exec.LookPath(p.tool); err != nil {
		t.Skipf("SKIPPED: no %s here", p.tool)
	}
	dir := open(t)
	repo, ctx := filepath.Join(dir, "repo"), context.Background()
	for file, content := range p.files {
		path := filepath.Join(repo, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	r, err := Fill(ctx, repo, Options{Cache: filepath.Join(dir, "cache"), Env: os.Environ(), Output: &said})
	if err != nil {
		t.Skipf("SKIPPED: the dependencies cannot be fetched here: %v\n%s", err, said.String())
	}
	host, err := sandbox.Open(ctx, sandbox.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Only: sandbox.Full})
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	defer host.Close()
	mounts, env := toolchain(t, p.tool)
	run := func(spec sandbox.Spec) (sandbox.Result, string) {
		spec.Dir, spec.Lower = filepath.Join(dir, spec.Name), repo
		box, err := host.Start(ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		defer box.Close()
		var out bytes.Buffer
		res, err := box.Run(ctx, sandbox.Cmd{Args: p.test, Stdout: &out, Stderr: &out, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return res, out.String()
	}
	limits := sandbox.Limits{CPU: 2}
	if res, out := run(sandbox.Spec{Name: "prepared", Mounts: append(mounts, r.Mounts...), Env: append(env, r.Env...), Limits: limits}); res.Code != 0 || !strings.Contains(out, p.says) {
		t.Errorf("%+v\n%s", res, out)
	}
	// Without what was prepared it cannot work, or the test proves nothing.
	if res, out := run(sandbox.Spec{Name: "bare", Mounts: mounts, Env: env, Limits: limits}); res.Code == 0 {
		t.Errorf("it works without the caches:\n%s", out)
	}
	// What is there is not fetched again: no client is asked.
	if _, err := Fill(ctx, repo, Options{Cache: filepath.Join(dir, "cache"), Env: []string{"PATH=" + os.Getenv("PATH")}, Output: &said}); err != nil {
		t.Error(err)
	}
}

// toolchain is what a box needs beside the system's programs.
func toolchain(t *testing.T, tool string) (mounts []sandbox.Mount, env []string) {
	t.Helper()
	if tool != "cargo" {
		return nil, nil
	}
	out, err := exec.Command("rustc", "--print", "sysroot").Output()
	if err != nil {
		return nil, nil
	}
	root := strings.TrimSpace(string(out))
	return []sandbox.Mount{{From: root}}, []string{"PATH=" + root + "/bin:/usr/bin:/bin"}
}

// open is a folder that other users may pass.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "prepare-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestNothingToPrepare(t *testing.T) {
	if _, err := Fill(context.Background(), t.TempDir(), Options{Cache: t.TempDir()}); !errors.Is(err, ErrNothing) {
		t.Errorf("%v", err)
	}
	if _, err := Fill(context.Background(), "relative", Options{Cache: "/c"}); err == nil {
		t.Error("a relative path was taken")
	}
	if _, err := Fill(context.Background(), "/there/is/none", Options{Cache: t.TempDir()}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such folder: %v", err)
	}
	repo := t.TempDir()
	if err := os.WriteFile(filepath.Join(repo, "package.json"), []byte(`{"dependencies":{"x":"1"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Fill(context.Background(), repo, Options{Cache: t.TempDir()}); !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "npm install --package-lock-only") {
		t.Errorf("no lock file: %v", err)
	}
}

// A client that fails leaves no cache that looks complete.
func TestFailedFetch(t *testing.T) {
	dir := t.TempDir()
	f := &filler{dir: filepath.Join(dir, "kind", "key"), result: &Result{}}
	failed := errors.New("no network")
	if err := f.once(func(part string) error {
		_ = os.WriteFile(filepath.Join(part, "half"), nil, 0o644)
		return failed
	}); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	if all, err := os.ReadDir(filepath.Join(dir, "kind")); err != nil || len(all) != 0 {
		t.Errorf("%v %v", all, err)
	}
	if err := f.once(func(string) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := f.once(func(string) error { return failed }); err != nil {
		t.Errorf("fetched again: %v", err)
	}
}
