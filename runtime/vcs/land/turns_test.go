package land

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// One agent needs ten seconds to redo its change, while others land on the file
// every second: without turns it would lose for ever. With them it lands at its
// third try, and the others wait no longer than the hold.
func TestSlowLoserGetsItsTurn(t *testing.T) {
	turns := NewTurns(TurnPolicy{Hold: 15 * time.Second})
	f := []string{"f"}
	losses, landedAt := 0, -1.0
	version, mine := 0, 0 // of the file on main; what the slow one worked from
	next := 10.0          // when the slow one comes again
	waited := 0
	for s := 0.0; s < 120 && landedAt < 0; s++ {
		if s == next {
			_, wait := turns.Ask(at(s), "slow", f)
			switch {
			case wait:
				t.Fatal("the loser waits for others")
			case mine != version:
				losses++
				turns.Lost(at(s), "slow", f)
				mine, next = version, s+10
			default:
				turns.Landed(at(s), "slow", f)
				landedAt = s
			}
			continue
		}
		fast := fmt.Sprint("fast", s)
		if until, wait := turns.Ask(at(s), fast, f); wait {
			if waited++; until.Before(at(s)) {
				t.Fatal("told to wait for the past")
			}
			continue
		}
		version++
		turns.Landed(at(s), fast, f)
	}
	if losses != 2 || landedAt != 30 || waited != 9 {
		t.Errorf("lost %d times, landed at %v, others waited %d times", losses, landedAt, waited)
	}
	if _, wait := turns.Ask(at(31), "other", f); wait || len(turns.paths) != 0 {
		t.Error("the path is still held")
	}
}

// A holder that does not come lets others go on, and the next in line gets its turn.
func TestHoldsEnd(t *testing.T) {
	turns := NewTurns(TurnPolicy{Hold: 10 * time.Second})
	f := []string{"f"}
	for _, c := range []string{"a", "b"} {
		turns.Lost(at(0), c, f)
		turns.Lost(at(1), c, f)
	}
	holds := func(s float64, who string) {
		t.Helper()
		for _, c := range []string{"a", "b", "c"} {
			if _, wait := turns.Ask(at(s), c, f); wait == (c == who || who == "") {
				t.Errorf("at %v: %s waits: %v", s, c, wait)
			}
		}
	}
	holds(2, "a")
	if end, any := turns.Next(); !any || !end.Equal(at(11)) {
		t.Errorf("the hold ends at %v", end)
	}
	holds(12, "b") // a did not come
	turns.Landed(at(13), "b", f)
	holds(14, "") // a lost its place
	if _, wait := turns.Ask(at(2000), "c", f); wait || len(turns.paths) != 0 {
		t.Error("losers are remembered for ever")
	}
}

func TestBackoffGrows(t *testing.T) {
	turns := NewTurns(TurnPolicy{Backoff: time.Second, Most: 5 * time.Second})
	var got []time.Duration
	for i := range 4 {
		got = append(got, turns.Lost(at(float64(i)), "a", []string{"f"}))
	}
	got = append(got, turns.Lost(at(5), "b", []string{"f"})) // behind a
	want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 2 * time.Second}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("backoff %v, want %v", got, want)
	}
}

// Whatever happens: at most one claim is let onto a held path, the holder always
// is, and a claim that keeps coming lands after a bounded number of losses of its
// own turn.
func TestTurnsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns := NewTurns(TurnPolicy{Hold: 5 * time.Second, MostHold: 20 * time.Second, Forget: time.Minute})
		claims, paths := []string{"a", "b", "c", "d"}, []string{"p", "q"}
		now := noon
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 8000).Draw(t, "ms")) * time.Millisecond)
			claim := rapid.SampledFrom(claims).Draw(t, "claim")
			path := rapid.SampledFrom(paths).Draw(t, "path")
			until, wait := turns.Ask(now, claim, []string{path})
			if wait && (!until.After(now) || until.After(now.Add(20*time.Second))) {
				t.Fatalf("at %v told to wait until %v", now, until)
			}
			if !wait {
				if rapid.Bool().Draw(t, "lost") {
					turns.Lost(now, claim, []string{path})
				} else {
					turns.Landed(now, claim, []string{path})
				}
			}
			for _, p := range paths {
				free := 0
				for _, c := range claims {
					if _, wait := turns.Ask(now, c, []string{p}); !wait {
						free++
					}
				}
				if free != 1 && free != len(claims) {
					t.Fatalf("%d of %d may land on %s", free, len(claims), p)
				}
			}
		}
	})
}
