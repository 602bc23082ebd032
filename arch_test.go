package dure_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pkg is what `go list -json` says of a package.
type pkg struct {
	ImportPath string
	Name       string
	Doc        string
	Dir        string
	Imports    []string
	GoFiles    []string
	Standard   bool
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// within reports whether path is the package root or below it.
func within(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// A ban says that packages below From must not import packages below To.
var bans = []struct {
	From, To string
	Except   []string // importers that may
	Why      string
}{
	{"dure/inference", "dure/runtime", nil, "the server must be usable, and understandable, without the swarm"},
	{"dure/inference", "dure/audio", nil, "voice is a client of inference, not a part of it"},
	{"dure/runtime", "dure/audio", nil, "the swarm and voice meet only in cmd"},
	{"dure/audio", "dure/runtime", nil, "the swarm and voice meet only in cmd"},
	{"dure/runtime", "dure/inference/", nil, "the swarm knows models only by the vocabulary, so that remote ones serve as well"},
	{"dure/audio", "dure/inference/", []string{"dure/audio/haru"}, "voice knows models only by the vocabulary"},
	{"dure", "github.com/ncruces/go-sqlite3", []string{"dure/runtime/event/sqlite", "dure/runtime/board/sqlite"}, "a log's tables are its store's own"},
	{"dure", "github.com/jackc/pgx", []string{"dure/runtime/event/postgres", "dure/runtime/event/pgtest", "dure/runtime/board/postgres"}, "a log's tables are its store's own"},
	{"dure", "dure/runtime/event/journal", []string{"dure/runtime/event/sqlite", "dure/runtime/event/postgres"}, "group commit is a way to write a store, not to use one"},
	{"dure", "mvdan.cc/sh", []string{"dure/runtime/judge"}, "reading shell commands is the judge's alone"},
	{"dure", "dure/runtime/sandbox/cell", []string{"dure/runtime/sandbox"}, "what happens behind the walls is the sandbox's own"},
	{"dure", "github.com/modelcontextprotocol/go-sdk", []string{"dure/runtime/tool/mcp"}, "what another maker's server says is read in one place"},
	{"dure/runtime/tool", "dure/runtime/judge", nil, "the guard knows a judge as an interface; only cmd chooses one"},
	{"dure/gguf", "dure/inference", nil, "the file format is a leaf"},
	{"dure/gguf", "dure/kvcache", nil, "the file format is a leaf"},
	{"dure/kvcache", "dure/inference", nil, "the cache counts tokens and knows no engine"},
	{"dure/kvcache/codec", "dure/kvcache/store", nil, "a codec is bytes in, bytes out"},
	{"dure/kvcache", "dure/runtime", nil, "the cache counts tokens and knows no agents"},
	{"dure", "github.com/klauspost/compress", []string{"dure/kvcache/codec", "dure/kvcache/store", "dure/runtime/vcs/pack"}, "what is stored is coded by its store, which has to read it for ever"},
	{"dure", "github.com/hybridgroup/yzma", []string{"dure/inference/engine"}, "one package owns the C boundary and its traps"},
	{"dure", "github.com/ebitengine/purego", []string{"dure/inference/engine", "dure/inference/ggml", "dure/inference/device/nvml", "dure/audio/onnx", "dure/audio/stt/vosk"},
		"one package owns the C boundary of the engine and its traps; NVIDIA's library and those of speech are others, and go-nvml needs cgo, which the binary is built without"},
	{"dure", "dure/inference/device/nvml", []string{"dure/inference/device"}, "what a reading means is the device package's to say"},
	{"dure", "github.com/spf13/cobra", []string{"dure/cmd/dure"}, "the command line is cmd's"},
	{"dure/inference", "dure/inference/front", []string{"dure/inference/front", "dure/inference/front/fronttest",
		"dure/inference/openai", "dure/inference/anthropic", "dure/inference/ollama"}, "only HTTP surfaces stand on the front"},
	{"dure", "dure/inference/openai", []string{"dure/cmd/dure"}, "surfaces know nothing of each other; only cmd puts them together"},
	{"dure", "dure/inference/anthropic", []string{"dure/cmd/dure"}, "surfaces know nothing of each other; only cmd puts them together"},
	{"dure", "dure/inference/ollama", []string{"dure/cmd/dure"}, "surfaces know nothing of each other; only cmd puts them together"},
	{"dure", "dure/inference/openai/memory", []string{"dure/cmd/dure"}, "the surface knows its memory as an interface; only cmd chooses one"},
	{"dure/inference/openai/memory", "dure/inference", nil, "what is in a record is the surface's to say"},
	{"dure/inference/team", "dure/inference/", nil, "who runs what is counted in front of any model; it knows the vocabulary only"},
	{"dure/inference/pool", "dure/inference/runner", nil, "the pool is told how to start a runner, so that it is tested without processes"},
}

// knows lists packages that import nothing of ours but what is named.
var knows = map[string][]string{
	"dure/inference/front":        {"dure/inference", "dure/inference/front/strict"},
	"dure/inference/front/strict": {"dure/inference"},
	"dure/inference/openai":       {"dure/inference", "dure/inference/front", "dure/inference/front/strict"},
	"dure/inference/anthropic":    {"dure/inference", "dure/inference/front", "dure/inference/front/strict"},
	"dure/inference/ollama":       {"dure/inference", "dure/inference/front", "dure/inference/front/strict"},
	// A run is decided without knowing who carries it out.
	"dure/runtime/swarm": {"dure/runtime/event"},
}

// pure packages import nothing that acts: no engine, process, network or clock.
var pure = map[string][]string{
	"dure/inference":              {"dure/"},
	"dure/kvcache":                {"dure/", "os", "net", "io", "time", "context", "sync"},
	"dure/inference/front/strict": {"os", "net", "net/http", "time", "context", "sync"},
	"dure/inference/sched":        {"dure/", "os", "net", "time", "context", "sync"},
	"dure/runtime/spec":           {"dure/", "os", "net", "time", "context", "sync", "io"},
	"dure/audio":                  {"dure/", "os", "net", "context"},
	"dure/audio/clause":           {"dure/", "os", "net", "time", "context", "sync"},
	"dure/audio/pace":             {"dure/inference", "os", "net", "context", "sync"},
	"dure/audio/turn":             {"dure/audio/voice", "os", "net", "io", "context", "sync"},
	// What it imports is set up again in every box.
	"dure/runtime/sandbox/cell": {"net", "path/filepath", "github.com/", "log/slog"},
	"dure/inference/spec":       {"dure/inference/engine", "dure/inference/llm", "os", "net", "sync"},
	"dure/inference/chat":       {"dure/inference/engine", "dure/inference/llm", "os", "net", "sync"},
	"dure/inference/plan":       {"dure/inference/", "os", "net", "time", "context", "sync"},
	"dure/inference/sample":     {"dure/inference/engine", "os", "net", "time", "sync"},
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			for _, b := range bans {
				to := strings.TrimSuffix(b.To, "/")
				hit := within(imported, to) && (to == b.To || imported != to)
				if within(p.ImportPath, b.From) && hit && !slices.Contains(b.Except, p.ImportPath) {
					t.Errorf("%s imports %s: %s", p.ImportPath, imported, b.Why)
				}
			}
			if only, ok := knows[p.ImportPath]; ok && within(imported, "dure") && !slices.Contains(only, imported) {
				t.Errorf("%s imports %s: it may know %v only", p.ImportPath, imported, only)
			}
			for _, forbidden := range pure[p.ImportPath] {
				if imported == forbidden || strings.HasSuffix(forbidden, "/") && strings.HasPrefix(imported, forbidden) {
					t.Errorf("%s imports %s: the package is pure", p.ImportPath, imported)
				}
			}
			if imported == "dure" && p.ImportPath != "dure/cmd/dure" {
				t.Errorf("%s imports the root package: only cmd reads the built-in catalogue", p.ImportPath)
			}
			if testsOnly(imported) {
				t.Errorf("%s imports %s outside of tests", p.ImportPath, imported)
			}
		}
	}
}

func TestNamesAndDocs(t *testing.T) {
	empty := []string{"config", "utils", "util", "common", "types", "manager", "service", "helpers", "base", "misc"}
	for _, p := range packages(t) {
		if slices.Contains(empty, p.Name) {
			t.Errorf("%s: the name says nothing; name what the package owns", p.ImportPath)
		}
		if len(strings.Fields(p.Doc)) < 5 {
			t.Errorf("%s: no package comment that says what it owns", p.ImportPath)
		}
		if p.ImportPath == "dure/runtime" {
			t.Errorf("runtime/ holds a Go package: it would shadow the standard one")
		}
	}
}

// Only cmd reads the environment: elsewhere a value has a name and a type. The
// helper of the engine's tests is told where things are in the same way.
func TestEnvironmentIsReadInCmdOnly(t *testing.T) {
	for _, p := range packages(t) {
		if p.ImportPath == "dure/cmd/dure" || p.ImportPath == "dure/cmd/client" || strings.HasSuffix(p.ImportPath, "/enginetest") {
			continue
		}
		for _, name := range p.GoFiles {
			file := filepath.Join(p.Dir, name)
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if id, ok := sel.X.(*ast.Ident); ok && id.Name == "os" && (sel.Sel.Name == "Getenv" || sel.Sel.Name == "LookupEnv") {
					t.Errorf("%s reads the environment", file)
				}
				return true
			})
		}
	}
}

func TestModuleHasNoReplace(t *testing.T) {
	data, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(strings.TrimSpace(line), "replace") {
			t.Errorf("go.mod: %s", line)
		}
	}
}

// testsOnly: what helps tests is no part of the program.
func testsOnly(imported string) bool {
	helpers := []string{"/eventtest", "/pgtest", "/enginetest", "/fetchtest", "/fronttest", "/berttest", "/boardtest", "/disktest"}
	return slices.ContainsFunc(helpers, func(h string) bool { return strings.HasSuffix(imported, h) })
}

// What is built is not kept: no program and no other large file is under version
// control.
func TestNoBinaries(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("SKIPPED: not a checkout: %v", err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		info, err := os.Lstat(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 256<<10 {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
	}
}
