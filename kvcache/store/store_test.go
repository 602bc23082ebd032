package store

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dure/gguf"
	"dure/kvcache"

	"pgregory.net/rapid"
)

// model is what a store should hold.
type modelObject struct {
	path  []kvcache.Token
	from  int
	state bool
	data  []byte
}

// Random trees of spans and states are written, read, dropped and found again
// after each restart, with their whole paths, whatever was dropped above them.
func TestAnyTreeIsFoundAgain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		held := map[kvcache.ObjectID]modelObject{}
		s, _ := begin(t, testConfig(dir))
		last := kvcache.ObjectID(0)
		bases := [][]kvcache.Token{nil}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0: // restart
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				var found []kvcache.Stored
				s, found = begin(t, testConfig(dir))
				held = same(rt, held, found)
				last = kvcache.ObjectID(len(found))
			case 1, 2: // drop one
				if len(held) > 0 {
					id := rapid.SampledFrom(ids(held)).Draw(rt, "id")
					if c := do(t, s, Job{Kind: Drop, Object: id}); c.Err != nil {
						rt.Fatal(c.Err)
					}
					delete(held, id)
				}
			case 3, 4: // read one
				if len(held) > 0 {
					id := rapid.SampledFrom(ids(held)).Draw(rt, "id")
					wantRead(t, s, id, held[id].data)
				}
			default:
				base := rapid.SampledFrom(bases).Draw(rt, "base")
				from := rapid.IntRange(0, len(base)).Draw(rt, "from")
				own := rapid.SliceOfN(rapid.Int32Range(0, 3), 0, 40).Draw(rt, "own")
				o := modelObject{append(slices.Clone(base[:from]), own...), from, len(own) == 0, noise(rapid.IntRange(1, 3000).Draw(rt, "bytes"), uint64(last))}
				if len(o.path) == 0 {
					continue
				}
				last++
				c := do(t, s, Job{Kind: Write, Object: last, Path: o.path, From: o.from, State: o.state, Data: o.data, Last: int64(last)})
				if c.Err != nil {
					rt.Fatal(c.Err)
				}
				held[last] = o
				bases = append(bases, o.path)
			}
			if st := s.Stats(); st.Used != sizes(t, files(t, dir, fileSuffix)) || st.Objects != len(held) {
				rt.Fatalf("%+v, but %d objects and %d bytes of files", st, len(held), sizes(t, files(t, dir, fileSuffix)))
			}
		}
		if err := s.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

func ids(held map[kvcache.ObjectID]modelObject) []kvcache.ObjectID {
	out := make([]kvcache.ObjectID, 0, len(held))
	for id := range held {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// same compares what was found with what should be: each span once, and only
// those whose ground is there. It returns the objects by their new ids.
func same(t *rapid.T, held map[kvcache.ObjectID]modelObject, found []kvcache.Stored) map[kvcache.ObjectID]modelObject {
	grounded := map[kvcache.ObjectID]bool{}
	for more := true; more; {
		more = false
		for id, o := range held {
			if grounded[id] {
				continue
			}
			ok := o.from == 0
			for other, p := range held {
				ok = ok || grounded[other] && p.from < o.from && len(p.path) >= o.from && slices.Equal(p.path[:o.from], o.path[:o.from])
			}
			if ok {
				grounded[id], more = true, true
			}
		}
	}
	equal := func(o modelObject, f kvcache.Stored) bool {
		return o.from == f.From && o.state == f.State && slices.Equal(o.path, f.Path)
	}
	out := map[kvcache.ObjectID]modelObject{}
	for i, f := range found {
		match := false
		for _, id := range ids(held) {
			if o := held[id]; grounded[id] && equal(o, f) && !match {
				match = true
				out[kvcache.ObjectID(i+1)] = o
			}
		}
		if !match {
			t.Fatalf("found [%d, %d), which nobody wrote or nothing carries", f.From, len(f.Path))
		}
		for _, g := range found[:i] {
			if equal(modelObject{path: g.Path, from: g.From, state: g.State}, f) {
				t.Fatalf("[%d, %d) was found twice", f.From, len(f.Path))
			}
		}
	}
	for id, o := range held {
		if grounded[id] && !slices.ContainsFunc(found, func(f kvcache.Stored) bool { return equal(o, f) }) {
			t.Fatalf("[%d, %d) was not found again", o.from, len(o.path))
		}
	}
	return out
}

// The tree takes what is found: in order, with the trunk once.
func TestTreeAdoptsWhatIsFound(t *testing.T) {
	dir := t.TempDir()
	s, _ := begin(t, testConfig(dir))
	trunk := tokens(20, 1)
	a, b := append(slices.Clone(trunk), tokens(9, 2)...), append(slices.Clone(trunk[:15]), tokens(9, 3)...)
	write(t, s, 1, a, 20, noise(900, 1)) // before its trunk
	write(t, s, 2, b, 15, noise(900, 2)) // begins inside the trunk's span
	write(t, s, 3, trunk, 0, noise(2000, 3))
	if c := do(t, s, Job{Kind: Write, Object: 4, Path: a, From: len(a), State: true, Data: noise(50, 4), Last: 5}); c.Err != nil {
		t.Fatal(c.Err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, found, err := Open(testConfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, f := range found {
		for _, g := range found[i+1:] {
			if len(g.Path) < len(f.Path) && slices.Equal(g.Path, f.Path[:len(g.Path)]) {
				t.Errorf("a child of %d tokens comes before its parent of %d", len(f.Path), len(g.Path))
			}
		}
	}
	tree, err := kvcache.New(kvcache.Config{Slots: 2, Cells: 256, Unified: true, Checkpoints: true, KVBytes: 100, StateBytes: 50,
		RAMBytes: 1 << 20, DiskBytes: 1 << 20, Cost: kvcache.Cost{Prefill: 1e6, HalfLife: 100}, Sessions: 4, Writes: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := tree.Adopt(found)
	if len(got) != 4 || slices.Contains(got, 0) {
		t.Fatalf("ids %v", got)
	}
	if err := tree.Check(); err != nil {
		t.Fatal(err)
	}
	if m := tree.Lookup(append(slices.Clone(a), 1), 0); m.Known != len(a) || m.Tier != kvcache.Disk {
		t.Errorf("%+v", m)
	}
	got[1] = 0 // as if there were no budget for it
	if err := s.Start(got); err != nil {
		t.Fatal(err)
	}
	if n := len(files(t, dir, fileSuffix)); n != 3 {
		t.Errorf("%d files after one was not adopted", n)
	}
	if st := s.Stats(); st.Adopted != 3 || st.NotAdopted != 1 || st.Used != sizes(t, files(t, dir, fileSuffix)) {
		t.Errorf("%+v", st)
	}
}

func TestTrunkTokensAreNotRepeated(t *testing.T) {
	dir := t.TempDir()
	s, _ := begin(t, testConfig(dir))
	trunk := tokens(50_000, 1)
	write(t, s, 1, trunk, 0, noise(100, 1))
	c := write(t, s, 2, append(slices.Clone(trunk), 1, 2, 3), len(trunk), noise(100, 2))
	if c.Bytes > 2000 {
		t.Errorf("three tokens on a long trunk take %d bytes", c.Bytes)
	}
}

func TestBudgetIsNeverExceeded(t *testing.T) {
	dir := t.TempDir()
	cfg := testConfig(dir)
	cfg.Budget = 20_000
	s, _ := begin(t, cfg)
	wrote, sum := 0, int64(0)
	for id := kvcache.ObjectID(1); id <= 10; id++ {
		c := do(t, s, Job{Kind: Write, Object: id, Path: tokens(5, int(id)), Data: noise(3000, uint64(id))})
		if c.Err != nil {
			wantErr(t, c.Err, ErrBudget)
			continue
		}
		wrote++
		sum += c.Bytes
	}
	if real := sizes(t, files(t, dir, fileSuffix)); wrote != 5 || sum != real || real > cfg.Budget || s.Stats().Used != real {
		t.Errorf("%d files of %d bytes, said to be %d; %+v", wrote, real, sum, s.Stats())
	}
	do(t, s, Job{Kind: Drop, Object: 2})
	write(t, s, 11, tokens(5, 11), 0, noise(3000, 11))
}

// What is on the disk and is not whole or not ours is set aside, counted, and
// nothing else is lost.
func TestWhatIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, _ := begin(t, testConfig(dir))
	trunk := tokens(10, 1)
	write(t, s, 1, trunk, 0, payload(4000))
	for id := kvcache.ObjectID(2); id <= 7; id++ {
		write(t, s, id, append(slices.Clone(trunk), tokens(5, int(id))...), 10, payload(4000))
	}
	other := tokens(10, 20)
	write(t, s, 8, other, 0, payload(300))
	write(t, s, 9, append(slices.Clone(other), 1), 10, payload(300))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	list := files(t, dir, fileSuffix)
	change := func(i int, f func(b []byte) []byte) {
		b, err := os.ReadFile(list[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(list[i], f(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change(1, func(b []byte) []byte { return b[:len(b)-1] })
	change(2, func(b []byte) []byte { b[60] ^= 4; return b })
	change(3, func(b []byte) []byte { b[len(magic)] = 99; return b })
	change(4, func(b []byte) []byte { return []byte("something else") })
	change(5, func(b []byte) []byte { b[len(b)-9] ^= 1; return b }) // in a block: not seen yet
	change(7, func(b []byte) []byte { return nil })                 // the trunk of the next
	foreign := testConfig(t.TempDir())
	foreign.Identity.Engine = "0.6.0"
	f, _ := begin(t, foreign)
	write(t, f, 1, trunk, 0, payload(100))
	b, err := os.ReadFile(files(t, foreign.Dir, fileSuffix)[0])
	if err != nil {
		t.Fatal(err)
	}
	duplicate, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"00000000000000ff.kv": b, "00000000000000fe.kv": duplicate, "x.kv.tmp": {1}} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	s, found := begin(t, testConfig(dir))
	want := [reasons]int{Foreign: 1, Newer: 1, Truncated: 2, Damaged: 2, Orphan: 1, Duplicate: 1}
	if st := s.Stats(); st.Refused != want || st.Unfinished != 1 || len(found) != 3 {
		t.Fatalf("refused %v, want %v; %d unfinished, %d found", st.Refused, want, st.Unfinished, len(found))
	}
	if n := len(files(t, filepath.Join(dir, "refused"), "")); n != 5 {
		t.Errorf("%d files set aside", n)
	}
	if b, err := os.ReadFile(list[3]); err != nil || b[len(magic)] != 99 {
		t.Errorf("the file of a later version was touched: %v", err)
	}
	bad := 0
	for id := kvcache.ObjectID(1); id <= 3; id++ {
		if c := do(t, s, Job{Kind: Read, Object: id}); c.Err != nil {
			wantErr(t, c.Err, ErrBad)
			wantErr(t, c.Err, ErrDamaged)
			bad++
			// The tree drops it, and nobody can read it again.
			if c := do(t, s, Job{Kind: Drop, Object: id}); c.Err != nil {
				t.Error(c.Err)
			}
			wantErr(t, do(t, s, Job{Kind: Read, Object: id}).Err, ErrBad)
		} else if !bytes.Equal(c.Data, payload(4000)) {
			t.Errorf("object %d has other bytes", id)
		}
	}
	if st := s.Stats(); bad != 1 || st.Refused[Damaged] != 3 || st.Objects != 2 || st.Used != sizes(t, files(t, dir, fileSuffix))-sizes(t, list[3:4]) {
		t.Errorf("%d bad, %+v", bad, st)
	}
}

// A file that was put in another's place is whole, and still not the object.
func TestSwappedFilesAreNoticed(t *testing.T) {
	dir := t.TempDir()
	s, _ := begin(t, testConfig(dir))
	write(t, s, 1, tokens(5, 1), 0, payload(100))
	write(t, s, 2, tokens(5, 2), 0, payload(200))
	list := files(t, dir, fileSuffix)
	if err := os.Rename(list[0], list[1]); err != nil {
		t.Fatal(err)
	}
	wantErr(t, do(t, s, Job{Kind: Read, Object: 2}).Err, ErrBad)
	wantErr(t, do(t, s, Job{Kind: Read, Object: 1}).Err, ErrBad)
}

func TestRefusedFolderIsBounded(t *testing.T) {
	dir := t.TempDir()
	cfg := testConfig(dir)
	cfg.RefusedFiles, cfg.RefusedBytes = 3, 250
	for i := range 6 {
		for _, name := range []string{"a", "b"} {
			if err := os.WriteFile(filepath.Join(dir, name+fileSuffix), bytes.Repeat([]byte{byte(i)}, 100), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "large"+fileSuffix), make([]byte, 251), 0o600); err != nil {
			t.Fatal(err)
		}
		s, found, err := Open(cfg)
		if err != nil || len(found) != 0 {
			t.Fatal(found, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		list := files(t, filepath.Join(dir, "refused"), "")
		if len(list) != 2 || s.Stats().Aside != sizes(t, list) {
			t.Fatalf("%v, %d bytes", list, s.Stats().Aside)
		}
		for _, name := range list {
			if b, err := os.ReadFile(name); err != nil || b[0] != byte(i) {
				t.Errorf("round %d: %s is of round %v", i, name, b[:1])
			}
		}
	}
}

func TestQueueIsBoundedAndNobodyWaits(t *testing.T) {
	cfg := testConfig(t.TempDir())
	cfg.Queue = 4
	s, _ := begin(t, cfg)
	accepted := map[kvcache.ObjectID]bool{}
	for id := kvcache.ObjectID(1); id <= 100; id++ {
		if s.Submit(Job{Kind: Write, Object: id, Path: tokens(3, int(id)), Data: noise(100, 1)}) {
			accepted[id] = true
		}
	}
	if len(accepted) < cfg.Queue || len(accepted) > 2*cfg.Queue {
		t.Errorf("%d jobs accepted before one was received, the queue holds %d", len(accepted), cfg.Queue)
	}
	for n := len(accepted); n > 0; n-- {
		if c := <-s.Done(); c.Err != nil || !accepted[c.Object] {
			t.Fatalf("%+v", c)
		} else {
			delete(accepted, c.Object)
		}
	}
}

func TestJobsThatMakeNoSense(t *testing.T) {
	s, _ := begin(t, testConfig(t.TempDir()))
	write(t, s, 1, tokens(3, 1), 0, noise(100, 1))
	for name, j := range map[string]Job{
		"no path":   {Kind: Write, Object: 2, Data: []byte{1}},
		"no bytes":  {Kind: Write, Object: 2, Path: tokens(1, 1)},
		"no span":   {Kind: Write, Object: 2, Path: tokens(1, 1), From: 1, Data: []byte{1}},
		"negative":  {Kind: Write, Object: 2, Path: tokens(1, 1), From: -1, Data: []byte{1}},
		"there":     {Kind: Write, Object: 1, Path: tokens(1, 1), Data: []byte{1}},
		"not there": {Kind: Read, Object: 9},
		"no kind":   {Object: 1},
	} {
		if c := do(t, s, j); c.Err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
	wantRead(t, s, 1, noise(100, 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s.Submit(Job{Kind: Read, Object: 1}) {
		t.Error("a closed store takes jobs")
	}
}

func TestCloseWithJobsWaiting(t *testing.T) {
	dir := t.TempDir()
	s, _ := begin(t, testConfig(dir))
	for id := kvcache.ObjectID(1); id <= 20; id++ {
		s.Submit(Job{Kind: Write, Object: id, Path: tokens(3, int(id)), Data: noise(20_000, 1)})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, found := begin(t, testConfig(dir))
	if st := s.Stats(); st.Refused != [reasons]int{} || st.Unfinished != 0 {
		t.Errorf("%+v", st)
	}
	for i := range found {
		wantRead(t, s, kvcache.ObjectID(i+1), noise(20_000, 1))
	}
}

func TestIdentities(t *testing.T) {
	keys := map[string]string{}
	for name, change := range map[string]func(*Identity){
		"as is":    func(*Identity) {},
		"model":    func(i *Identity) { i.Model = []byte("other") },
		"arch":     func(i *Identity) { i.Architecture = "qwen35" },
		"engine":   func(i *Identity) { i.Engine = "0.6.0" },
		"keys":     func(i *Identity) { i.Keys = gguf.Q8_0 },
		"values":   func(i *Identity) { i.Values = gguf.Q8_0 },
		"rope":     func(i *Identity) { i.Rope.Factor = 4 },
		"rotation": func(i *Identity) { i.Rotated = true },
		"layers":   func(i *Identity) { i.Layers = "ar" },
		"layout":   func(i *Identity) { i.Layout.Pools[0].Extra = 3 },
		"order":    func(i *Identity) { i.Layout.Pools[0].Transposed = true },
		"opaque":   func(i *Identity) { i.Opaque = true },
		"streams":  func(i *Identity) { i.Opaque = true; i.Layout.Pools[0].Streams = 4 },
	} {
		id := testIdentity()
		change(&id)
		key, err := id.Key()
		if err != nil {
			t.Fatal(err)
		}
		if other := keys[key]; other != "" {
			t.Errorf("%s is the same as %s", name, other)
		}
		keys[key] = name
	}
	id := testIdentity()
	id.Layout.Pools[0].Streams = 4 // rows are cut for one stream anyway
	if key, _ := id.Key(); keys[key] != "as is" {
		t.Error("streams count where states can be cut")
	}
}
