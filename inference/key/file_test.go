package key

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/fetch"
)

// hashes are real ones of short texts.
const (
	hashA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	hashB = "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBrokenFiles(t *testing.T) {
	one := `{"name":"a","sha256":"` + hashA + `"`
	for _, tc := range []struct {
		name, text string
		line       int
		want       string
	}{
		{"empty", "", 1, "end of JSON"},
		{"no JSON", "{\n\"keys\": [\n}\n", 3, "invalid character"},
		{"cut", "{\n\"keys\": [\n", 2, "end of JSON"},
		{"two values", "{\"keys\":[]}\n{}", 2, "after top-level value"},
		{"a list", "\n[]", 2, "want an object with format and keys"},
		{"no keys", "{}", 1, "the field keys is missing"},
		{"keys of another type", "{\n\"keys\": {}}", 2, "want a list of keys"},
		{"key of another type", "{\"keys\": [\n1]}", 2, "want a key"},
		{"format of another type", "{\"format\":\"1\",\"keys\":[]}", 1, "format:"},
		{"format 0", "{\"format\":0,\"keys\":[]}", 1, "want 1"},
		{"unknown field", "{\"keys\":[],\n\"key\":[]}", 2, `unknown field "key"`},
		{"unknown field of a key", "{\"keys\":[\n" + one + ",\n\"model\":[\"x\"]}]}", 3, `unknown field "model" of a key`},
		{"capital letter", "{\"keys\":[\n" + one + ",\n\"Models\":[\"x\"]}]}", 3, `unknown field "Models"`},
		{"double field", "{\"keys\":[\n" + one + ",\n\"admin\":false,\n\"admin\":true}]}", 4, `"admin" is there twice`},
		{"null", "{\"keys\":[\n" + one + ",\n\"models\":null}]}", 3, "models is null"},
		{"no models", "{\"keys\":[\n" + one + ",\n\"models\":[]}]}", 3, "models is empty"},
		{"an empty model", "{\"keys\":[\n" + one + ",\n\"models\":[\"\"]}]}", 3, `models: ""`},
		{"number as text", "{\"keys\":[\n" + one + ",\n\"requests_per_minute\":\"60\"}]}", 3, "requests_per_minute"},
		{"half a request", "{\"keys\":[\n" + one + ",\n\"requests_per_minute\":0.5}]}", 3, "requests_per_minute"},
		{"negative", "{\"keys\":[\n" + one + ",\n\"tokens_per_day\":-1}]}", 3, "tokens_per_day -1"},
		{"priority", "{\"keys\":[\n" + one + ",\n\"priority\":\"high\"}]}", 3, `priority "high": want one of`},
		{"expires", "{\"keys\":[\n" + one + ",\n\"expires\":\"tomorrow\"}]}", 3, "expires"},
		{"hash", "{\"keys\":[\n{\"name\":\"a\",\n\"sha256\":\"abc\"}]}", 3, "64 hexadecimal digits"},
		{"no hash", "{\"keys\":[\n{\"name\":\"a\"}]}", 2, "sha256 is missing"},
		{"name", "{\"keys\":[\n{\"sha256\":\"" + hashA + "\",\n\"name\":\"a b\"}]}", 3, `name "a b"`},
		{"two of a name", "{\"keys\":[\n" + one + "},\n{\"name\":\"a\",\"sha256\":\"" + hashB + "\"}]}", 3, `two keys "a"`},
		{"two of a hash", "{\"keys\":[\n" + one + "},\n{\"name\":\"b\",\"sha256\":\"" + hashA + "\"}]}", 3, "same sha256"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "keys.json")
			write(t, path, tc.text)
			_, err := Read(path)
			var e *FileError
			if !errors.As(err, &e) || e.Line != tc.line || e.Path != path || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v; want line %d, %s", err, tc.line, tc.want)
			}
			changed := Change(t.Context(), path, nil, func([]Key) ([]Key, error) { return nil, nil })
			if changed == nil {
				t.Error("it was written over")
			}
			if data, _ := os.ReadFile(path); string(data) != tc.text {
				t.Errorf("it holds %q", data)
			}
		})
	}
}

func TestLaterFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	write(t, path, `{"format":2,"keys":{"a":1}}`)
	for what, err := range map[string]error{
		"read":   func() error { _, err := Read(path); return err }(),
		"change": Change(t.Context(), path, nil, func([]Key) ([]Key, error) { return nil, nil }),
		"open":   func() error { _, err := Open(Options{File: path}); return err }(),
	} {
		var newer *fetch.NewerError
		if !errors.As(err, &newer) || newer.Path != path || newer.Format != 2 {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func full() Key {
	k := Key{
		Name: "ci.main", Created: start.Truncate(time.Second), Expires: start.Add(time.Hour).Truncate(time.Second), Disabled: true, Admin: true,
		Models: []string{"qwen*", "smollm2-135m"}, Priority: inference.PriorityWorker, Limits: Limits{1, 2, 3, 4, 5},
	}
	_, k.Hash = New()
	return k
}

func TestWrittenAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", FileName)
	if keys, err := Read(path); keys != nil || err != nil {
		t.Errorf("no file: %v, %v", keys, err)
	}
	_, hash := New()
	want := []Key{full(), {Name: "plain", Hash: hash, Created: start.UTC()}}
	if err := Change(t.Context(), path, nil, func([]Key) ([]Key, error) { return want, nil }); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v\n%+v", err, got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if problem := Exposed(path); problem != "" {
		t.Error(problem)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if problem := Exposed(path); !strings.Contains(problem, "0640") || !strings.Contains(problem, "chmod 600 "+path) {
		t.Errorf("%q", problem)
	}
	// Every field is in the file under the name that is read, and the next write
	// makes it private again.
	if err := Change(t.Context(), path, nil, func(keys []Key) ([]Key, error) { return keys, nil }); err != nil {
		t.Fatal(err)
	}
	if problem := Exposed(path); problem != "" {
		t.Error(problem)
	}
	if left, err := os.ReadDir(filepath.Join(filepath.Dir(path), "tmp")); err != nil || len(left) != 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

func TestChangeThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	no := errors.New("no")
	for what, change := range map[string]func([]Key) ([]Key, error){
		"fails":         func([]Key) ([]Key, error) { return nil, no },
		"two of a kind": func([]Key) ([]Key, error) { k := full(); return []Key{k, k}, nil },
		"too many": func([]Key) ([]Key, error) {
			var all []Key
			for i := range MaxKeys + 1 {
				_, hash := New()
				all = append(all, Key{Name: fmt.Sprint("k", i), Hash: hash})
			}
			return all, nil
		},
	} {
		if err := Change(t.Context(), path, nil, change); err == nil {
			t.Errorf("%s: no error", what)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: it was written", what)
		}
	}
}

// Many writers at once lose nothing.
func TestChangesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	const writers, each = 8, 3
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				_, hash := New()
				err := Change(t.Context(), path, nil, func(keys []Key) ([]Key, error) {
					return append(keys, Key{Name: fmt.Sprintf("w%d-%d", w, i), Hash: hash}), nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	keys, err := Read(path)
	if err != nil || len(keys) != writers*each {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}

// Whoever cannot have the lock says so when the time is over, and writes nothing.
func TestChangeWaitsForTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	unlock, err := files(path, nil).Lock(t.Context(), lockKeys)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Change(ctx, path, nil, func(keys []Key) ([]Key, error) { return keys, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	unlock()
	if err := Change(t.Context(), path, nil, func(keys []Key) ([]Key, error) { return []Key{full()}, nil }); err != nil {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	whole, err := json.Marshal(fileForm{format, []Key{full()}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte("{\"keys\":[\n{\"name\":\"a\",\"sha256\":\"" + hashA + "\",\"models\":[\"*\"]}]}"))
	f.Add([]byte("{\"format\":1,\"keys\":[{\"name\":null}]}"))
	f.Add([]byte("[\n\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, fault := decode(data)
		if fault != nil {
			if lines := 1 + strings.Count(string(data), "\n"); fault.Line < 1 || fault.Line > lines {
				t.Fatalf("line %d of %d: %v", fault.Line, lines, fault)
			}
			return
		}
		again, err := json.Marshal(fileForm{format, keys})
		if err != nil {
			t.Fatal(err)
		}
		back, fault := decode(again)
		if fault != nil || !slices.EqualFunc(keys, back, same) {
			t.Fatalf("%v\n%+v\n%+v\n%s", fault, keys, back, again)
		}
	})
}

func same(a, b Key) bool {
	return a.Created.Equal(b.Created) && a.Expires.Equal(b.Expires) && a.Name == b.Name && a.Hash == b.Hash && a.Disabled == b.Disabled &&
		a.Admin == b.Admin && slices.Equal(a.Models, b.Models) && a.Priority == b.Priority && a.Limits == b.Limits
}
