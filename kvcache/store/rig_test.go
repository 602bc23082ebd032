package store

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/gguf"
	"dure/kvcache"
	"dure/kvcache/blob"
)

var (
	crashes   = flag.Int("crashes", 20, "how often the writing process is killed")
	childName = flag.String("child", "", "run as the other process of a test")
	childDir  = flag.String("dir", "", "the folder it uses")
	models    = flag.Bool("models", false, "measure the codec on real states; needs engine and models")
)

// identity is that of a small made-up model: two layers of 32 wide f16 rows.
func testIdentity() Identity {
	rows := []blob.Row{{Type: gguf.F16, Width: 32}, {Type: gguf.F16, Width: 32}}
	return Identity{
		Model: []byte("hash and size"), Architecture: "llama", Engine: "0.5.0", Keys: gguf.F16, Values: gguf.F16,
		Rope: gguf.Rope{Dims: 32, Base: 10000, Scaling: "none", Factor: 1}, Layers: "aa",
		Layout: blob.Layout{Pools: []blob.Pool{{Streams: 1, Keys: rows, Values: rows}}},
	}
}

func testConfig(dir string) Config {
	return Config{Dir: dir, Identity: testIdentity(), Budget: 64 << 20, Codec: Planes}
}

// rows makes the bytes of n cells as the engine lays them out, of values whose
// exponents repeat as real ones do.
func rows(l blob.Layout, n int, rng *rand.Rand) []byte {
	put := func(b []byte, v ...uint32) []byte {
		for _, x := range v {
			b = append(b, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
		}
		return b
	}
	b := put(nil, 0xAF143CD8, 0)
	for _, p := range l.Pools {
		b = put(b, 1, uint32(n))
		for i := range n {
			b = put(b, uint32(i), 1)
			b = put(b, make([]uint32, p.Extra)...)
			b = put(b, 0)
		}
		b = put(b, 0, uint32(len(p.Keys)))
		for _, list := range [][]blob.Row{p.Keys, p.Values} {
			for _, r := range list {
				b = put(b, uint32(r.Type), uint32(r.Bytes()), 0)
				for range n * r.Bytes() / 2 {
					b = append(b, byte(rng.Uint32()), 0x30+byte(rng.IntN(6)))
				}
			}
		}
	}
	return b
}

func noise(n int, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func tokens(n int, seed int) []kvcache.Token {
	out := make([]kvcache.Token, n)
	for i := range out {
		out[i] = kvcache.Token(1000*seed + i)
	}
	return out
}

// begin opens a folder and adopts all that is there, ids from 1.
func begin(t testing.TB, cfg Config) (*Store, []kvcache.Stored) {
	t.Helper()
	s, found, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ids := make([]kvcache.ObjectID, len(found))
	for i := range ids {
		ids[i] = kvcache.ObjectID(i + 1)
	}
	if err := s.Start(ids); err != nil {
		t.Fatal(err)
	}
	return s, found
}

// do submits a job and waits for it.
func do(t testing.TB, s *Store, j Job) Completion {
	t.Helper()
	if !s.Submit(j) {
		t.Fatalf("%v of object %d was not taken", j.Kind, j.Object)
	}
	select {
	case c := <-s.Done():
		if c.Kind != j.Kind || c.Object != j.Object || c.Tag != j.Tag {
			t.Fatalf("completion %+v of job %+v", c, j)
		}
		return c
	case <-time.After(time.Minute):
		t.Fatalf("%v of object %d does not end", j.Kind, j.Object)
	}
	return Completion{}
}

func write(t testing.TB, s *Store, id kvcache.ObjectID, path []kvcache.Token, from int, data []byte) Completion {
	t.Helper()
	c := do(t, s, Job{Kind: Write, Object: id, Path: path, From: from, Data: data, Last: 7})
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	return c
}

func wantRead(t testing.TB, s *Store, id kvcache.ObjectID, data []byte) {
	t.Helper()
	c := do(t, s, Job{Kind: Read, Object: id})
	if c.Err != nil || !bytes.Equal(c.Data, data) {
		t.Fatalf("object %d: %d bytes, want %d; %v", id, len(c.Data), len(data), c.Err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

// files of a folder with this suffix.
func files(t testing.TB, dir, suffix string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

func sizes(t testing.TB, paths []string) (sum int64) {
	t.Helper()
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}
