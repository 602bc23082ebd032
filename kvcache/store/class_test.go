package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"dure/gguf"
	"dure/kvcache"
	"dure/kvcache/blob"
	"dure/kvcache/codec"
)

var operations = flag.Int("operations", 1500, "parked, restored and changed states in the random test of classes")

// classForm is the form of a small made-up model: two layers of one head.
func classForm() codec.Form {
	rows := []blob.Row{{Type: gguf.F16, Width: 32}, {Type: gguf.F16, Width: 32}}
	k := codec.Heads{Count: 1, Dim: 32, Rotary: codec.Rotary{Dims: 32, Base: 10000, Scale: 1}}
	v := codec.Heads{Count: 1, Dim: 32}
	return codec.Form{
		Layout: blob.Layout{Pools: []blob.Pool{{Streams: 1, Extra: 3, Keys: rows, Values: rows}}},
		Keys:   [][]codec.Heads{{k, k}}, Values: [][]codec.Heads{{v, v}},
	}
}

// numbers makes the state of n cells: numbers about 0 of deviation 1, and tokens
// that no other state has.
func numbers(f codec.Form, n int, rng *rand.Rand) []byte {
	l := f.Layout
	b := rows(l, n, rng)
	at := 16
	for i := range n {
		for e, v := range []uint32{uint32(i), uint32(i), rng.Uint32() >> 1} {
			binary.LittleEndian.PutUint32(b[at+24*i+8+4*e:], v)
		}
	}
	at += 24*n + 8
	for range 4 {
		at += 12
		for range n * 32 {
			binary.LittleEndian.PutUint16(b[at:], gguf.Float16(float32(rng.NormFloat64())))
			at += 2
		}
	}
	return b
}

// off is how far numbers are off, as a part of their deviation of 1; NaN if
// anything else differs.
func off(n int, want, got []byte) float64 {
	if len(want) != len(got) || !bytes.Equal(want[:16+24*n+8], got[:16+24*n+8]) {
		return math.NaN()
	}
	number := func(b []byte) float64 {
		u := binary.LittleEndian.Uint16(b)
		f := math.Ldexp(float64(u&0x3ff|0x400), int(u>>10&31)-25)
		if u>>10&31 == 0 {
			f = math.Ldexp(float64(u&0x3ff), -24)
		}
		if u>>15 == 1 {
			return -f
		}
		return f
	}
	sum, at := 0.0, 16+24*n+8
	for range 4 {
		at += 12
		for range n * 32 {
			d := number(want[at:]) - number(got[at:])
			sum += d * d
			at += 2
		}
	}
	return math.Sqrt(sum / float64(n*32*4))
}

// mostOff of a class: a step is at most the deviation, an error a third of it.
var mostOff = map[codec.Class]float64{codec.Exact: 0, codec.Near: 0.05, codec.NearSmall: 0.1, codec.Small: 0.25, codec.Calibrated: 0.4}

func classConfig(t testing.TB, dir string) Config {
	t.Helper()
	f := classForm()
	cfg := testConfig(dir)
	cfg.Identity.Layout, cfg.Form, cfg.Class = f.Layout, &f, codec.Exact
	basis, err := codec.Calibrate(f, numbers(f, 400, rand.New(rand.NewPCG(9, 9))))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Basis = basis
	return cfg
}

// A class is what is written, read, told, counted and found again.
func TestClasses(t *testing.T) {
	cfg := classConfig(t, t.TempDir())
	s, _ := begin(t, cfg)
	data := numbers(*cfg.Form, 600, rand.New(rand.NewPCG(1, 1)))
	for i, class := range codec.Classes() {
		id := kvcache.ObjectID(i + 1)
		c := do(t, s, Job{Kind: Write, Object: id, Path: tokens(600, i), Data: data, Class: class})
		if c.Err != nil || c.Class != class || c.Bytes >= int64(len(data)) {
			t.Fatalf("%v: %d bytes of %d, %v: %v", class, c.Bytes, len(data), c.Class, c.Err)
		}
		checkClass(t, s, id, class, 600, data)
	}
	held := s.Stats().Classes
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, found := begin(t, cfg)
	if len(found) != len(codec.Classes()) || s.Stats().Classes != held {
		t.Fatalf("%d found, %+v of %+v", len(found), s.Stats().Classes, held)
	}
	for i := range found {
		class := codec.Class(found[i].Path[0]/1000 + 1)
		checkClass(t, s, kvcache.ObjectID(i+1), class, 600, data)
	}
}

func checkClass(t testing.TB, s *Store, id kvcache.ObjectID, class codec.Class, n int, want []byte) {
	t.Helper()
	c := do(t, s, Job{Kind: Read, Object: id})
	if c.Err != nil || c.Class != class {
		t.Fatalf("object %d: %v, want %v: %v", id, c.Class, class, c.Err)
	}
	if d := off(n, want, c.Data); !(d <= mostOff[class]) || class > codec.Exact && d == 0 {
		t.Fatalf("object %d, %v: off by %v", id, class, d)
	}
}

// Classes only ever go one way; what would not get smaller stays.
func TestChange(t *testing.T) {
	cfg := classConfig(t, t.TempDir())
	s, _ := begin(t, cfg)
	data := numbers(*cfg.Form, 600, rand.New(rand.NewPCG(1, 1)))
	write(t, s, 1, tokens(600, 1), 0, data)
	for _, step := range []struct{ to, then codec.Class }{
		{codec.Exact, codec.Exact}, {codec.Near, codec.Near}, {codec.Exact, codec.Near}, {codec.Small, codec.Small}, {codec.NearSmall, codec.Small},
	} {
		before := s.Stats()
		c := do(t, s, Job{Kind: Change, Object: 1, Class: step.to})
		if c.Err != nil || c.Class != step.then {
			t.Fatalf("to %v: %v: %v", step.to, c.Class, c.Err)
		}
		after := s.Stats()
		if moved := step.then == step.to && step.to > codec.Exact; moved != (after.Used < before.Used) || after.Objects != 1 {
			t.Fatalf("to %v: %d bytes after %d", step.to, after.Used, before.Used)
		}
	}
	if got := files(t, cfg.Dir, fileSuffix); len(got) != 1 || sizes(t, got) != s.Stats().Used {
		t.Fatalf("files %v, used %d", got, s.Stats().Used)
	}
	wantErr(t, do(t, s, Job{Kind: Change, Object: 5, Class: codec.Small}).Err, ErrBad)
	if c := do(t, s, Job{Kind: Change, Object: 1, Class: 77}); c.Err == nil {
		t.Error("changed to a class that is none")
	}
	path := files(t, cfg.Dir, fileSuffix)[0]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-9]++
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	wantErr(t, do(t, s, Job{Kind: Change, Object: 1, Class: codec.Calibrated}).Err, ErrBad)
	if st := s.Stats(); st.Objects != 0 || st.Used != 0 || st.Classes != [codec.Calibrated + 1]Held{} {
		t.Errorf("a bad object is still counted: %+v", st)
	}
}

// Bytes that are no state are kept as they are in any class, and it is told.
func TestClassOfOtherBytes(t *testing.T) {
	cfg := classConfig(t, t.TempDir())
	s, _ := begin(t, cfg)
	data := payload(5000)
	c := do(t, s, Job{Kind: Write, Object: 1, Path: tokens(5, 1), Data: data, Class: codec.Small})
	if c.Err != nil || c.Class != codec.Exact {
		t.Fatalf("%v: %v", c.Class, c.Err)
	}
	wantRead(t, s, 1, data)
	if c := do(t, s, Job{Kind: Change, Object: 1, Class: codec.Small}); c.Err != nil || c.Class != codec.Exact {
		t.Fatalf("changed to %v: %v", c.Class, c.Err)
	}
	wantRead(t, s, 1, data)
}

// Without what they were coded with, files are foreign, and nothing else is.
func TestClassNeedsItsBasis(t *testing.T) {
	dir := t.TempDir()
	cfg := classConfig(t, dir)
	s, _ := begin(t, cfg)
	data := numbers(*cfg.Form, 300, rand.New(rand.NewPCG(1, 1)))
	for i, class := range []codec.Class{codec.Calibrated, codec.Small, codec.Exact} {
		if c := do(t, s, Job{Kind: Write, Object: kvcache.ObjectID(i + 1), Path: tokens(300, i), Data: data, Class: class}); c.Err != nil {
			t.Fatal(c.Err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Basis = nil
	s, found := begin(t, cfg)
	if len(found) != 2 || s.Stats().Refused[Foreign] != 1 {
		t.Fatalf("%d found, refused %v", len(found), s.Stats().Refused)
	}
	if c := do(t, s, Job{Kind: Write, Object: 9, Path: tokens(300, 9), Data: data, Class: codec.Calibrated}); c.Err == nil {
		t.Error("written without a basis")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Class = codec.Calibrated
	if _, _, err := Open(cfg); err == nil {
		t.Error("opened without a basis")
	}
	cfg.Class, cfg.Form = 0, nil
	s, found = begin(t, cfg)
	if len(found) != 0 || s.Stats().Refused[Foreign] != 2 {
		t.Errorf("%d found, refused %v", len(found), s.Stats().Refused)
	}
}

// kept is what the random test knows of an object.
type kept struct {
	path  []kvcache.Token
	data  []byte
	n     int
	class codec.Class
	loss  float64
}

// Whatever is parked, changed, dropped, restored and found again after a restart,
// in any order and several at once: each object comes back as itself, in the
// class that was told, and no other's.
func TestRandomClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	cfg := classConfig(t, filepath.Join(t.TempDir(), "kv"))
	s, _ := begin(t, cfg)
	objects := map[kvcache.ObjectID]*kept{}
	next, done, overtaken, failed, changed := kvcache.ObjectID(1), 0, 0, 0, 0
	for done < *operations {
		if rng.IntN(40) == 0 {
			failed, changed = failed+s.Stats().Failed, changed+s.Stats().Changed
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			var found []kvcache.Stored
			s, found = begin(t, cfg)
			objects = refound(t, objects, found)
			next = kvcache.ObjectID(len(found) + 1)
		}
		jobs := drawJobs(rng, &next, objects, cfg.Form)
		for _, j := range jobs {
			if !s.Submit(j) {
				t.Fatal("a job was not taken")
			}
		}
		for range jobs {
			select {
			case c := <-s.Done():
				if errors.Is(c.Err, ErrBusy) && c.Kind == Change {
					overtaken++ // by a read
					continue
				}
				settleRandom(t, objects, jobs[c.Tag], c)
			case <-time.After(2 * time.Minute):
				t.Fatal("a job does not end")
			}
		}
		done += len(jobs)
	}
	st := s.Stats()
	failed, changed = failed+st.Failed, changed+st.Changed
	if overtaken == 0 || changed == 0 {
		t.Errorf("%d changes overtaken by a read, %d done: both are to be tried", overtaken, changed)
	}
	if st.Objects != len(objects) || failed != overtaken || st.Refused != [reasons]int{} {
		t.Errorf("%d objects of %d, %d failed, refused %v", st.Objects, len(objects), failed-overtaken, st.Refused)
	}
	if on := sizes(t, files(t, cfg.Dir, fileSuffix)); on != st.Used {
		t.Errorf("%d bytes on disk, %d counted", on, st.Used)
	}
}

// drawJobs are several at once, tagged by their place: of different objects, but that
// some are read while they are changed.
func drawJobs(rng *rand.Rand, next *kvcache.ObjectID, objects map[kvcache.ObjectID]*kept, f *codec.Form) (jobs []Job) {
	taken := map[kvcache.ObjectID]bool{}
	add := func(j Job) {
		j.Tag = uint64(len(jobs))
		jobs = append(jobs, j)
	}
	for range 1 + rng.IntN(8) {
		j := drawJob(rng, next, objects, f)
		if j.Kind == 0 || taken[j.Object] {
			continue
		}
		taken[j.Object] = true
		add(j)
		if j.Kind == Change && rng.IntN(2) == 0 {
			add(Job{Kind: Read, Object: j.Object})
		}
	}
	return jobs
}

func drawJob(rng *rand.Rand, next *kvcache.ObjectID, objects map[kvcache.ObjectID]*kept, f *codec.Form) Job {
	class := codec.Classes()[rng.IntN(len(codec.Classes()))]
	if len(objects) < 4 || len(objects) < 40 && rng.IntN(4) == 0 {
		*next++
		n := 140 + rng.IntN(200)
		path := make([]kvcache.Token, n)
		for i := range path {
			path[i] = rng.Int32()
		}
		return Job{Kind: Write, Object: *next, Path: path, Data: numbers(*f, n, rng), Class: class}
	}
	skip := rng.IntN(len(objects))
	for id := range objects {
		if skip--; skip < 0 {
			switch rng.IntN(8) {
			case 0:
				return Job{Kind: Drop, Object: id}
			case 1, 2:
				return Job{Kind: Change, Object: id, Class: class}
			}
			return Job{Kind: Read, Object: id}
		}
	}
	return Job{}
}

func settleRandom(t *testing.T, objects map[kvcache.ObjectID]*kept, j Job, c Completion) {
	t.Helper()
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	k := objects[j.Object]
	switch j.Kind {
	case Write:
		if c.Class != j.Class {
			t.Fatalf("written as %v, not %v", c.Class, j.Class)
		}
		objects[j.Object] = &kept{j.Path, j.Data, len(j.Path), c.Class, mostOff[c.Class]}
	case Drop:
		delete(objects, j.Object)
	case Change:
		if c.Class < k.class || c.Class > max(k.class, j.Class) {
			t.Fatalf("%v changed to %v, asked for %v", k.class, c.Class, j.Class)
		}
		if c.Class != k.class {
			k.class, k.loss = c.Class, k.loss+mostOff[c.Class] // losses add
		}
	case Read:
		if d := off(k.n, k.data, c.Data); c.Class != k.class || !(d <= k.loss) {
			t.Fatalf("object %d: %v, want %v; off by %v", j.Object, c.Class, k.class, d)
		}
	}
}

// refound finds objects again by their paths: all of them, and nothing else.
func refound(t *testing.T, objects map[kvcache.ObjectID]*kept, found []kvcache.Stored) map[kvcache.ObjectID]*kept {
	t.Helper()
	if len(found) != len(objects) {
		t.Fatalf("%d found of %d", len(found), len(objects))
	}
	byPath := map[[2]kvcache.Token]*kept{}
	for _, k := range objects {
		byPath[[2]kvcache.Token(k.path)] = k
	}
	out := map[kvcache.ObjectID]*kept{}
	for i, f := range found {
		k := byPath[[2]kvcache.Token(f.Path)]
		if k == nil || len(k.path) != len(f.Path) {
			t.Fatalf("found a path of %d tokens that nothing has", len(f.Path))
		}
		out[kvcache.ObjectID(i+1)] = k
	}
	return out
}

// A crash between the new file of a change and the end of the old one leaves
// both; one of them is found, and it is the one that has lost less.
func TestCrashWithinAChange(t *testing.T) {
	cfg := classConfig(t, t.TempDir())
	s, _ := begin(t, cfg)
	data := numbers(*cfg.Form, 300, rand.New(rand.NewPCG(1, 1)))
	write(t, s, 1, tokens(300, 1), 0, data)
	name := files(t, cfg.Dir, fileSuffix)[0]
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if c := do(t, s, Job{Kind: Change, Object: 1, Class: codec.Small}); c.Err != nil || c.Class != codec.Small {
		t.Fatal(c.Class, c.Err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, old, 0o600); err != nil {
		t.Fatal(err)
	}
	s, found := begin(t, cfg)
	if len(found) != 1 || s.Stats().Refused[Duplicate] != 1 || len(files(t, cfg.Dir, fileSuffix)) != 1 {
		t.Fatalf("%d found, refused %v", len(found), s.Stats().Refused)
	}
	checkClass(t, s, 1, codec.Exact, 300, data)
}
