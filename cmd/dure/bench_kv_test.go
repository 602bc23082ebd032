package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	benchkv "dure/inference/bench/kv"
)

// A journal goes on where it was left, also where its last line was cut short; that of
// another measurement is not touched.
func TestKVJournal(t *testing.T) {
	name := filepath.Join(t.TempDir(), "kv.jsonl")
	head := kvHead{Schema: 1, Subject: benchkv.Subject{Model: "m"}, Lengths: []int{64}}
	parts := []benchkv.Done{
		{Unit: "prose 1, 64 tokens", Samples: []benchkv.Sample{{Setting: "q8_0", Divergence: []float32{0, 0.25}, Rows: 2}}},
		{Unit: "needles 1, 64 tokens", Replies: []benchkv.Reply{{Setting: "q8_0", Found: 1}}},
	}
	for i, want := range []int{0, 1} {
		j, err := openKVJournal(name, head)
		if err != nil || len(j.past) != want {
			t.Fatalf("%v, %d parts", err, len(j.past))
		}
		if err := j.keep(parts[i]); err != nil {
			t.Fatal(err)
		}
		j.close()
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	put(t, name, string(data)+`{"unit":"code 1, 64 tok`)
	j, err := openKVJournal(name, head)
	if err != nil || !reflect.DeepEqual(j.past, parts) {
		t.Fatalf("%v, %+v", err, j)
	}
	j.close()
	wantFile(t, name, string(data))
	head.Follow++
	if _, err := openKVJournal(name, head); err == nil || !strings.Contains(err.Error(), "another measurement") {
		t.Errorf("another measurement: %v", err)
	}
	put(t, name, strings.Replace(string(data), `"unit"`, `unit`, 1))
	head.Follow--
	if _, err := openKVJournal(name, head); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a broken line: %v", err)
	}
	if j, err := openKVJournal("", head); err != nil || j.keep(parts[0]) != nil || j.past != nil {
		t.Errorf("without a file: %v", err)
	}
}
