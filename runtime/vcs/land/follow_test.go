package land

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"testing"

	"dure/runtime/vcs/object"
)

func commitNumber(n int) (id object.ID) {
	binary.BigEndian.PutUint32(id[:], uint32(n))
	return id
}

// checks runs what Follow asks for until it has no question left.
func checks(t *testing.T, f *Follow, passes func(object.ID) bool) (steps []Step, runs int) {
	t.Helper()
	for {
		id, any := f.Next()
		if !any {
			return steps, runs
		}
		if again, _ := f.Next(); again != id {
			t.Fatal("Next changes its mind")
		}
		if runs++; runs > 500 {
			t.Fatal("checks without end")
		}
		if s := f.Checked(passes(id)); s != (Step{}) {
			steps = append(steps, s)
		}
	}
}

// For every number of landings and every place of the first bad one: it is found,
// with as many checks as halving takes, and green stands right before it.
func TestBisectIsExact(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for bad := 0; bad <= n; bad++ {
			f := NewFollow(FollowPolicy{})
			ids := make([]object.ID, n)
			for i := range ids {
				ids[i] = commitNumber(i + 1)
			}
			f.Moved(ids...)
			failing := 0
			passes := func(id object.ID) bool {
				pass := int(binary.BigEndian.Uint32(id[:])) <= bad
				if !pass {
					failing++
				}
				return pass
			}
			steps, runs := checks(t, f, passes)
			var green, broken object.ID
			for _, s := range steps {
				if !s.Green.IsZero() {
					green = s.Green
				}
				if !s.Broken.IsZero() {
					broken = s.Broken
				}
				if !s.Flaky.IsZero() || s.Mended {
					t.Fatalf("%d of %d: step %+v", bad, n, s)
				}
			}
			want, wantBroken := commitNumber(bad), commitNumber(bad+1)
			if bad == n {
				wantBroken = object.Zero
			}
			if green != want || broken != wantBroken {
				t.Fatalf("%d of %d: green %v, broken %v", bad, n, green, broken)
			}
			if most := 1 + bits.Len(uint(n)); runs-failing*2/3 > most {
				t.Fatalf("%d of %d: %d checks", bad, n, runs)
			}
		}
	}
}

// While main is broken only newer commits are checked; the one that passes mends it.
func TestBrokenMainIsMended(t *testing.T) {
	f := NewFollow(FollowPolicy{Again: -1})
	f.Moved(commitNumber(1), commitNumber(2), commitNumber(3))
	bad := func(id object.ID) bool { return id == commitNumber(1) || id == commitNumber(6) }
	steps, _ := checks(t, f, bad)
	if len(steps) != 1 || steps[0].Green != commitNumber(1) || steps[0].Broken != commitNumber(2) {
		t.Fatalf("steps %+v", steps)
	}
	f.Moved(commitNumber(4), commitNumber(5))
	if steps, runs := checks(t, f, bad); len(steps) != 0 || runs != 1 {
		t.Errorf("still broken: %+v after %d checks", steps, runs)
	}
	f.Moved(commitNumber(6))
	steps, runs := checks(t, f, bad)
	if len(steps) != 1 || !steps[0].Mended || steps[0].Green != commitNumber(6) || runs != 1 {
		t.Errorf("mended: %+v after %d checks", steps, runs)
	}
	f.Moved(commitNumber(7))
	if steps, _ = checks(t, f, func(object.ID) bool { return true }); len(steps) != 1 || steps[0].Green != commitNumber(7) {
		t.Errorf("goes on: %+v", steps)
	}
}

// Checks that fail now and then are told from landings that fail: at most Again
// failures in a row are forgiven, and the right landing is found amid them.
func TestFlakyChecksAreToldApart(t *testing.T) {
	flaky := 0
	for seed := range 200 {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		n := 1 + r.IntN(60)
		bad := r.IntN(n + 1)
		f := NewFollow(FollowPolicy{Again: 3})
		row := map[object.ID]int{}
		passes := func(id object.ID) bool {
			if int(binary.BigEndian.Uint32(id[:])) > bad {
				return false
			}
			if row[id] < 3 && r.IntN(2) == 0 { // at most as often as is forgiven
				row[id]++
				return false
			}
			return true
		}
		for i := range n {
			f.Moved(commitNumber(i + 1))
		}
		steps, _ := checks(t, f, passes)
		var green, broken object.ID
		for _, s := range steps {
			if !s.Green.IsZero() {
				green = s.Green
			}
			if !s.Broken.IsZero() {
				broken = s.Broken
			}
			if !s.Flaky.IsZero() {
				if flaky++; row[s.Flaky] == 0 {
					t.Fatalf("seed %d: %v is called flaky", seed, s.Flaky)
				}
			}
		}
		if green != commitNumber(bad) || bad < n && broken != commitNumber(bad+1) || bad == n && !broken.IsZero() {
			t.Fatalf("seed %d: green %v broken %v, want %d of %d", seed, green, broken, bad, n)
		}
	}
	if flaky < 50 {
		t.Errorf("%d flaky: the test tests little", flaky)
	}
}

// Landings come while checks run; batches are bounded.
func TestFollowsWhileMainMoves(t *testing.T) {
	f := NewFollow(FollowPolicy{Batch: 4})
	next, green := 0, 0
	for range 50 {
		for range 3 {
			next++
			f.Moved(commitNumber(next))
		}
		id, any := f.Next()
		if !any {
			t.Fatal("nothing to check")
		}
		if n := int(binary.BigEndian.Uint32(id[:])); n > green+4 || n <= green {
			t.Fatalf("checks %d, green is %d", n, green)
		}
		next++
		f.Moved(commitNumber(next)) // while it runs
		s := f.Checked(true)
		green = int(binary.BigEndian.Uint32(s.Green[:]))
		if s.Green != id {
			t.Fatalf("step %+v", s)
		}
	}
}
