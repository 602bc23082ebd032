package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dure/gguf"
	benchcard "dure/inference/bench/card"
	"dure/inference/catalog"
	"dure/inference/fetch"
	"dure/inference/key"
	"dure/inference/library"
	"dure/inference/plan"
)

// formats are all files that dure writes below DURE_HOME, and where each says
// which form it has. docs/install.md has the same table; the container of stored
// states is tested in kvcache/store.
var formats = []struct{ file, version string }{
	{`engine/[^/]+/manifest\.json`, "field format"},
	{`engine/[^/]+/.*`, "the manifest lists it"},
	{`build/llama\.cpp-[^/]+-\d+/.*`, "in the name"},
	{`build/.*`, "work of a build; made anew"},
	{`models/[^/]+/[^/]+\.gguf(\.damaged)?`, "GGUF has its own"},
	{`models/[^/]+/[^/]+\.gguf\.sha256`, "text that sha256sum reads"},
	{`models/[^/]+/[^/]+\.gguf\.where`, "field format"},
	{`pins/[^/]+\.json`, "field format"},
	{`downloads/[^/]+\.part\.json`, "field format"},
	{`downloads/[^/]+`, "files as they came"},
	{`measured-\d+\.json`, "in the name"},
	{`pools-\d+\.json`, "in the name"},
	{`steps-\d+\.json`, "in the name"},
	{`kv-quality-\d+\.json`, "in the name"},
	{`kv-basis-\d+-[0-9a-f]{64}`, "in the name, and at its beginning"},
	{`copies-\d+\.json`, "in the name"},
	{`swarm/[^/]+/log\.db(-wal|-shm)?`, "in its schema"},
	{`swarm/.*`, "an agent's files, caches of dependencies, a socket"},
	{`(measured|pools|steps)[^/]*\.json\.unused`, "set aside"},
	{`keys-\d+(\.usage)?\.json`, "in the name, and field format"},
	{`keys-\d+\.usage\.json\.unused`, "set aside"},
	{`tls-\d+\.(pem|crt)`, "in the name"},
	{`responses-\d+/resp_[A-Z2-7]{26}\.json(-\d+\.part)?`, "in the name, and field format"},
	{`cache/[0-9a-f]{16}/[0-9a-f]{16}\.(kv|tmp)`, "in the header"},
	{`cache/[0-9a-f]{16}/refused/.*`, "set aside"},
	{`cache/[0-9a-f]{16}/answers-\d+`, "in the name"},
	{`cache/[0-9a-f]{16}/lock`, "a process id, for a message"},
	{`lock/[^/]+`, "a process id, for a message"},
	{`tmp/.*`, "unfinished work; removed"},
	{`history`, "lines of text"},
}

// unlisted are the files below home that the table does not know.
func unlisted(t *testing.T, home string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(home, path)
		if err != nil {
			return err
		}
		for _, f := range formats {
			if regexp.MustCompile("^(" + f.file + ")$").MatchString(filepath.ToSlash(rel)) {
				return nil
			}
		}
		all = append(all, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// theFile is the file of four bytes that the samples speak of.
const theFile = "test"

// kept is a sample of today's form.
func kept(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "formats", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func hubEntry() catalog.Entry {
	return catalog.Entry{Name: "m", Source: catalog.Source{HuggingFace: &catalog.HuggingFace{Repo: "maker/model", File: "m.gguf"}}}
}

// A versioned file: how a home with it is made, whether it is used, and what
// would write over it.
type versioned struct {
	name  string
	file  string // below home
	text  func(t *testing.T, home string) string
	uses  func(t *testing.T, home string) bool
	write func(t *testing.T, home string) error
}

func pullHub(t *testing.T, home string) error {
	// Nothing listens there: who gets as far as asking the hub fails otherwise.
	_, err := catalog.Pull(t.Context(), &fetch.Fetcher{Home: home}, hubEntry(), catalog.Options{Hub: "http://127.0.0.1:1"})
	return err
}

func usesHub(t *testing.T, home string) bool {
	_, ok := catalog.Local(home, hubEntry())
	return ok
}

var versionedFiles = []versioned{
	{
		name: "manifest", file: "engine/cpu-" + library.LlamaVersion + "/manifest.json",
		text: func(t *testing.T, home string) string {
			put(t, filepath.Join(home, "engine/cpu-"+library.LlamaVersion+"/lib/libllama.so"), theFile)
			return kept(t, "manifest-1.json")
		},
		uses: func(t *testing.T, home string) bool {
			_, err := library.Open(home, library.CPU)
			return err == nil
		},
		write: func(t *testing.T, home string) error {
			_, err := library.Install(t.Context(), library.Options{Home: home, Variant: library.CPU})
			return err
		},
	},
	{
		name: "part", file: "downloads/f.part.json",
		text: func(t *testing.T, home string) string {
			put(t, filepath.Join(home, "downloads/f.part"), "0123456789")
			return kept(t, "part-1.json")
		},
		uses: func(t *testing.T, home string) bool { return (&fetch.Fetcher{Home: home}).Fetched("f") == 5 },
		write: func(t *testing.T, home string) error {
			hash := fetch.MustParseHash("sha256:" + strings.Repeat("0", 64))
			_, err := (&fetch.Fetcher{Home: home}).Download(t.Context(), fetch.Link{File: "f", URL: "http://127.0.0.1:1", Bytes: 10, Hash: hash}, fetch.Remote{Bytes: 10, Ranges: true})
			return err
		},
	},
	{
		name: "pin", file: "pins/m.json",
		text: func(t *testing.T, home string) string {
			put(t, filepath.Join(home, "models/m/m.gguf"), theFile)
			put(t, filepath.Join(home, "models/m/m.gguf.sha256"), kept(t, "note.sha256"))
			return kept(t, "pin-1.json")
		},
		uses: usesHub, write: pullHub,
	},
	{
		name: "where", file: "models/m/m.gguf.where",
		text: func(t *testing.T, home string) string {
			elsewhere := filepath.Join(home, "elsewhere.gguf")
			put(t, elsewhere, theFile)
			put(t, filepath.Join(home, "pins/m.json"), kept(t, "pin-1.json"))
			info, err := os.Stat(elsewhere)
			if err != nil {
				t.Fatal(err)
			}
			return strings.NewReplacer("PLACE", elsewhere, "1700000000000000000", strconv.FormatInt(info.ModTime().UnixNano(), 10)).Replace(kept(t, "where-1.json"))
		},
		uses: usesHub, write: pullHub,
	},
	{
		name: "keys", file: key.FileName,
		text: func(t *testing.T, _ string) string { return kept(t, "keys-1.json") },
		uses: func(t *testing.T, home string) bool {
			keys, err := key.Read(filepath.Join(home, key.FileName))
			return err == nil && len(keys) == 1 && keys[0].RequestsPerMinute == 60
		},
		write: func(t *testing.T, home string) error {
			return key.Change(t.Context(), filepath.Join(home, key.FileName), nil, func([]key.Key) ([]key.Key, error) { return nil, nil })
		},
	},
	{
		name: "usage of keys", file: key.UsageFile(key.FileName),
		text: func(t *testing.T, home string) string {
			put(t, filepath.Join(home, key.FileName), kept(t, "keys-1.json"))
			return kept(t, "keys-1.usage.json")
		},
		uses: func(t *testing.T, home string) bool {
			usage, err := key.ReadUsage(filepath.Join(home, key.FileName))
			return err == nil && usage["9f86d081884c"].Total.Requests == 3
		},
		write: func(t *testing.T, home string) error {
			ring, err := key.Open(key.Options{File: filepath.Join(home, key.FileName)})
			if err == nil {
				err = ring.Close()
			}
			return err
		},
	},
}

var formatRE = regexp.MustCompile(`"format": ?1,\s*`)

// Today's form and the one before there were forms are read; a later one is
// neither read nor written over, and the error says what to do.
func TestFormatsOfFiles(t *testing.T) {
	for _, v := range versionedFiles {
		t.Run(v.name, func(t *testing.T) {
			for _, form := range []struct {
				name, with string
				used       bool
			}{{"today's", `"format":1,`, true}, {"without a form", "", true}, {"a later one", `"format":2,"new":[],`, false}} {
				home := t.TempDir()
				text := v.text(t, home)
				if !formatRE.MatchString(text) {
					t.Fatalf("the sample has no form: %s", text)
				}
				text = formatRE.ReplaceAllString(text, form.with)
				file := filepath.Join(home, v.file)
				put(t, file, text)
				if got := v.uses(t, home); got != form.used {
					t.Errorf("%s: used is %v", form.name, got)
				}
				if form.used {
					continue
				}
				err := v.write(t, home)
				var newer *fetch.NewerError
				if !errors.As(err, &newer) || newer.Path != file || !strings.Contains(err.Error(), "move the file away") {
					t.Errorf("%s: %v", form.name, err)
				}
				if data, err := os.ReadFile(file); err != nil || string(data) != text {
					t.Errorf("%s: it was touched: %v, %s", form.name, err, data)
				}
			}
		})
	}
}

// What cannot be read is never taken for nothing where that would be trusting
// whatever comes.
func TestUnreadablePinStopsThePull(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "pins/m.json")
	put(t, file, "{")
	if err := pullHub(t, home); err == nil || !strings.Contains(err.Error(), "--repin m") {
		t.Errorf("%v", err)
	}
	if data, _ := os.ReadFile(file); string(data) != "{" {
		t.Errorf("it was written over: %s", data)
	}
}

// A note of another form than sha256sum's does not vouch for a model: the file is
// read again.
func TestNoteOfAModel(t *testing.T) {
	home := t.TempDir()
	e := catalog.Entry{
		Name: "m", Source: catalog.Source{Manual: "by hand"}, Bytes: int64(len(theFile)),
		SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	}
	put(t, filepath.Join(home, "models/m/m.gguf"), theFile)
	note := filepath.Join(home, "models/m/m.gguf.sha256")
	put(t, note, kept(t, "note.sha256"))
	if _, ok := catalog.Local(home, e); !ok {
		t.Error("today's note is not read")
	}
	put(t, note, "dure-note 2\n")
	if _, ok := catalog.Local(home, e); ok {
		t.Error("a note of another form vouches for the file")
	}
	if _, err := catalog.Pull(t.Context(), &fetch.Fetcher{Home: home}, e, catalog.Options{}); err != nil {
		t.Error(err)
	}
	wantFile(t, note, kept(t, "note.sha256"))
}

func TestFormatOfMeasuredSizes(t *testing.T) {
	home := t.TempDir()
	sample := kept(t, "measured-1.json")
	at := func(name string) string { return filepath.Join(home, name) }
	put(t, at("measured-1.json"), sample)
	put(t, at("measured-2.json"), `{"later":true}`)
	model := plan.Model{Geometry: &gguf.Geometry{Architecture: "llama", Bytes: 7}}
	m, err := openMeasured(home, "cpu 1")
	if err != nil || len(m.shapes(model)) != 1 || m.shapes(model)[0].Compute["CPU"] != 21 {
		t.Fatalf("%+v, %v", m.rows, err)
	}
	if err := m.add(model, plan.Measurement{Shape: plan.Shape{Cells: 9}}); err != nil {
		t.Fatal(err)
	}
	wantFile(t, at("measured-2.json"), `{"later":true}`)

	put(t, at("measured.json"), sample)
	put(t, at("measured-1.json"), "[")
	m, err = openMeasured(home, "cpu 1")
	if err == nil || !strings.Contains(err.Error(), at("measured.json.unused")) {
		t.Errorf("%v", err)
	}
	wantFile(t, at("measured.json.unused"), sample)
	if m, err = openMeasured(home, "cpu 1"); err == nil {
		m, err = openMeasured(home, "cpu 1")
	}
	if err != nil || len(m.shapes(model)) != 0 {
		t.Errorf("said more than once: %v", err)
	}
	wantFile(t, at("measured-1.json.unused"), "[")
	if left := unlisted(t, home); len(left) != 0 {
		t.Errorf("not in the table: %q", left)
	}
}

func TestFormatOfMeasuredPools(t *testing.T) {
	home := t.TempDir()
	put(t, filepath.Join(home, "pools-1.json"), kept(t, "pools-1.json"))
	put(t, filepath.Join(home, "pools-2.json"), "later")
	model := plan.Model{Geometry: &gguf.Geometry{Architecture: "llama", Bytes: 7}}
	if got := measuredPool(home, "cpu 1", model); got != plan.Unified {
		t.Errorf("%q", got)
	}
	put(t, filepath.Join(home, "pools-1.json"), "[")
	row := poolRow{Engine: "cpu 1", Model: modelKey(model)}
	if err := rememberRow(poolFile(home), row); err == nil || !strings.Contains(err.Error(), "pools-1.json.unused") {
		t.Errorf("a file that cannot be read is replaced without a word: %v", err)
	}
	if rows, err := readRows[poolRow](poolFile(home)); err != nil || len(rows) != 1 || rows[0] != row {
		t.Errorf("%+v, %v", rows, err)
	}
	wantFile(t, filepath.Join(home, "pools-1.json.unused"), "[")
	wantFile(t, filepath.Join(home, "pools-2.json"), "later")
}

func TestFormatOfMeasuredSteps(t *testing.T) {
	home := t.TempDir()
	put(t, stepFile(home), kept(t, "steps-1.json"))
	put(t, filepath.Join(home, "steps-2.json"), "later")
	m, p, row := someSteps()
	if c, ok, err := measuredSteps(home, "cpu 1", m, p); !ok || err != nil || !reflect.DeepEqual(c, row.Costs) {
		t.Errorf("%+v, %v, %v", c, ok, err)
	}
	row.Costs = benchcard.Costs{Steps: []benchcard.StepCost{{Rows: 8, Context: 512, MS: 50}}}
	if err := rememberSteps(home, row); err != nil {
		t.Fatal(err)
	}
	if c, _, _ := measuredSteps(home, "cpu 1", m, p); len(c.Steps) != 4 || c.Steps[1].MS != 50 || len(c.Chunks) != 1 {
		t.Errorf("a short measurement took away what a long one knew: %+v", c)
	}
	put(t, stepFile(home), "[")
	if _, ok, err := measuredSteps(home, "cpu 1", m, p); ok || err == nil {
		t.Errorf("a file that cannot be read: %v, %v", ok, err)
	}
	if err := rememberSteps(home, row); err == nil || !strings.Contains(err.Error(), "steps-1.json.unused") {
		t.Errorf("a file that cannot be read is replaced without a word: %v", err)
	}
	if c, ok, err := measuredSteps(home, "cpu 1", m, p); !ok || err != nil || len(c.Steps) != 1 {
		t.Errorf("%+v, %v, %v", c, ok, err)
	}
	wantFile(t, stepFile(home)+".unused", "[")
	wantFile(t, filepath.Join(home, "steps-2.json"), "later")
	if left := unlisted(t, home); len(left) != 0 {
		t.Errorf("not in the table: %q", left)
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, []byte(want)) {
		t.Errorf("%s holds %q (%v), want %q", path, data, err, want)
	}
}
