package fetch

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What was noted is read back, and nothing is taken for the state of another
// file.
func TestPart(t *testing.T) {
	dir := t.TempDir()
	state, file := filepath.Join(dir, "f.part.json"), filepath.Join(dir, "f.part")
	h := sha256Of(nil)
	r := Remote{Bytes: 10, ETag: `"a"`, Ranges: true}
	p := newPart(r, h, 4)
	if len(p.Done) != 3 {
		t.Fatalf("%+v", p)
	}
	p.Done[0], p.Done[2] = 4, 1
	if err := p.write(state); err != nil {
		t.Fatal(err)
	}
	if _, ok := readPart(state, file); ok {
		t.Error("a state without a file was taken")
	}
	writeFile(t, file, make([]byte, 9))
	if _, ok := readPart(state, file); ok {
		t.Error("the state of a shorter file was taken")
	}
	writeFile(t, file, make([]byte, 10))
	got, ok := readPart(state, file)
	if !ok || got.done() != 5 || !got.continues(r, h) {
		t.Errorf("%+v, %v", got, ok)
	}
	for name, other := range map[string]Remote{"size": {Bytes: 11, ETag: `"a"`, Ranges: true}, "etag": {Bytes: 10, ETag: `"b"`, Ranges: true}, "no ranges": {Bytes: 10, ETag: `"a"`}} {
		if got.continues(other, h) {
			t.Errorf("%s: taken", name)
		}
	}
	if !got.continues(Remote{Bytes: 10, ETag: `"b"`, Hash: h, Ranges: true}, h) || got.continues(r, sha256Of([]byte("x"))) {
		t.Error("the hash does not decide")
	}
}

func FuzzPart(f *testing.F) {
	f.Add([]byte(`{"bytes":10,"hash":"h","segment":4,"done":[4,4,2]}`))
	f.Add([]byte(`{"bytes":10,"segment":4,"done":[4,4,3]}`))
	f.Add([]byte(`{"bytes":9223372036854775807,"segment":9223372036854775807,"done":[-1]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p part
		if json.Unmarshal(data, &p) != nil || !p.sound() {
			return
		}
		var end int64
		for i := range p.Done {
			from, to := p.span(i)
			if from != end || to <= from {
				t.Fatalf("segment %d of %s is %d to %d", i, data, from, to)
			}
			end = to
		}
		if end != p.Bytes || p.done() > p.Bytes {
			t.Fatalf("%s ends at %d", data, end)
		}
	})
}

func FuzzContentRange(f *testing.F) {
	for _, s := range []string{"bytes 0-0/1", "bytes 5-9/*", "bytes 9-5/10", "bytes 0-10/10", "bytes */10", "bytes -5-9/10", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		from, to, total, err := contentRange(s)
		if err == nil && (from < 0 || to <= from || total != 0 && to > total) {
			t.Fatalf("%q is %d, %d, %d", s, from, to, total)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Fatalf("%q: %v", s, err)
		}
	})
}

// The waits are never longer than the longest and a half, and keep the wish.
func TestBackoff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100).Draw(t, "n")
		wish := time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "wish"))
		if got := backoff(n, wish) - wish; got < time.Second/2 || got > 45*time.Second {
			t.Fatalf("backoff(%d, %s) adds %s", n, wish, got)
		}
	})
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for s, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "Wed, 02 Jan 2030 03:05:05 GMT": time.Minute, "Tue, 01 Jan 2030 03:05:05 GMT": 0} {
		if got := retryAfter(s, now); got != want {
			t.Errorf("%q is %s, want %s", s, got, want)
		}
	}
}
