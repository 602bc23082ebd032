package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

const gib = 1 << 30

// 500 agents of half a GiB on 8 GiB: they wait, the bounds hold, all get their turn.
func TestFiveHundredAgentsOnEightGiB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := Share{Memory: 8 * gib, Disk: 100 * gib, CPU: 64_000, Boxes: 1000}
		g := Open(budget)
		defer g.Close()
		var now, most, served atomic.Int64
		var all sync.WaitGroup
		for i := range 500 {
			all.Go(func() {
				l, err := g.Acquire(t.Context(), fmt.Sprint("team", i%5), Share{Memory: gib / 2, Disk: gib, CPU: 500, Boxes: 1})
				if err != nil {
					t.Error(err)
					return
				}
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(time.Second) // of the test's own clock
				now.Add(-1)
				served.Add(1)
				l.Release()
				l.Release()
			})
		}
		all.Wait()
		if most.Load() != 16 || served.Load() != 500 {
			t.Errorf("%d at once, %d served; want 16 and 500", most.Load(), served.Load())
		}
		if s, err := g.State(); err != nil || s.Used != (Share{}) || s.Granted+s.Waiting != 0 {
			t.Errorf("%+v %v", s, err)
		}
	})
}

func TestCancelledAndClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Open(Share{Memory: 1, Boxes: 1})
		if _, err := g.Acquire(t.Context(), "a", Share{Memory: 2}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v", err)
		}
		l, err := g.Acquire(t.Context(), "a", Share{Memory: 1})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 2)
		go func() { _, err := g.Acquire(ctx, "b", Share{Memory: 1}); failed <- err }()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		go func() { _, err := g.Acquire(t.Context(), "c", Share{Memory: 1}); failed <- err }()
		synctest.Wait()
		if s, _ := g.State(); s.Waiting != 1 || s.Granted != 1 {
			t.Errorf("%+v", s)
		}
		g.Close()
		if err := <-failed; !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
		l.Release()
		if _, err := g.Acquire(t.Context(), "d", Share{}); !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}

// Any sequence of asks and releases: bounds hold, sums add up, nobody starves.
func TestPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := Share{rapid.Int64Range(1, 50).Draw(t, "memory"), rapid.Int64Range(1, 50).Draw(t, "disk"), rapid.Int64Range(1, 50).Draw(t, "cpu"), rapid.Int64Range(1, 10).Draw(t, "boxes")}
		p := NewPolicy(budget)
		asks, has := map[int64]Ask{}, map[int64]bool{}
		share := func() Share {
			return Share{rapid.Int64Range(0, 55).Draw(t, "m"), rapid.Int64Range(0, 55).Draw(t, "d"), rapid.Int64Range(0, 55).Draw(t, "c"), 1}
		}
		check := func() {
			var sum Share
			for id := range has {
				sum = sum.plus(asks[id].Share)
			}
			if s := p.State(); s.Used != sum || !sum.within(budget) || s.Granted != len(has) || s.Waiting != len(asks)-len(has) {
				t.Fatalf("%+v, granted %v sum %+v", s, has, sum)
			}
		}
		grant := func() {
			for a, ok := p.Next(); ok; a, ok = p.Next() {
				if has[a.ID] {
					t.Fatalf("granted twice: %v", a)
				}
				has[a.ID] = true
				check()
			}
		}
		for id := int64(1); id <= int64(rapid.IntRange(1, 60).Draw(t, "steps")); id++ {
			if rapid.Bool().Draw(t, "release") && len(has) > 0 {
				victim := rapid.SampledFrom(keys(has)).Draw(t, "victim")
				p.Release(victim)
				delete(has, victim)
				delete(asks, victim)
			} else {
				a := Ask{id, rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "owner"), share()}
				err := p.Ask(a)
				if (err == nil) != a.Share.within(budget) {
					t.Fatalf("%+v of %+v: %v", a, budget, err)
				}
				if err == nil {
					asks[id] = a
				}
			}
			grant()
			check()
		}
		// If all give back in turn, all get their turn.
		for len(asks) > 0 {
			if len(has) == 0 {
				t.Fatalf("%d wait and nobody has anything", len(asks))
			}
			victim := keys(has)[0]
			p.Release(victim)
			delete(has, victim)
			delete(asks, victim)
			grant()
			check()
		}
	})
}

// A large wish is passed by small ones, but not for ever.
func TestPatience(t *testing.T) {
	p := NewPolicy(Share{Memory: 10})
	id := int64(0)
	ask := func(owner string, memory int64) int64 {
		id++
		if err := p.Ask(Ask{id, owner, Share{Memory: memory}}); err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := ask("small", 5)
	if _, ok := p.Next(); !ok {
		t.Fatal("nothing granted")
	}
	large := ask("large", 10)
	var last int64
	for n := 0; ; n++ {
		small := ask("small", 5)
		a, ok := p.Next()
		if !ok {
			if n != Patience {
				t.Errorf("passed by %d times, want %d", n, Patience)
			}
			last = small
			break
		}
		p.Release(a.ID)
	}
	p.Release(first)
	if a, ok := p.Next(); !ok || a.ID != large {
		t.Errorf("%v %v, want the large one", a, ok)
	}
	if p.Position(last) != 0 || p.Position(large) != -1 {
		t.Error("the small one does not wait")
	}
}

// Who has least is served first, however much another asks.
func TestFairness(t *testing.T) {
	p := NewPolicy(Share{Boxes: 4})
	for i := range int64(10) {
		_ = p.Ask(Ask{i, "greedy", Share{Boxes: 1}})
	}
	_ = p.Ask(Ask{100, "modest", Share{Boxes: 1}})
	_ = p.Ask(Ask{101, "modest", Share{Boxes: 1}})
	var got []int64
	for a, ok := p.Next(); ok; a, ok = p.Next() {
		got = append(got, a.ID)
	}
	if fmt.Sprint(got) != "[0 100 1 101]" {
		t.Errorf("%v", got)
	}
}

func keys(m map[int64]bool) (all []int64) {
	for i := int64(0); i < 1000; i++ {
		if m[i] {
			all = append(all, i)
		}
	}
	return all
}
