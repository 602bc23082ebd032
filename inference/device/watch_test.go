package device

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func lookOf(id string, others Reading[uint64], lost string) []Device {
	return []Device{{ID: id, Name: "card", PCI: id, Others: others, Lost: lost}}
}

func TestTracker(t *testing.T) {
	tracker := Tracker{Threshold: 100}
	known := func(n uint64) Reading[uint64] { return Is(n) }
	var none Reading[uint64]
	for i, x := range []struct {
		devices []Device
		want    string
	}{
		{lookOf("a", known(1000), ""), ""},
		{lookOf("a", known(1099), ""), ""},
		{lookOf("a", known(1101), ""), "others 1000 1101"}, // slow growth adds up
		{lookOf("a", none, ""), ""},
		{lookOf("a", known(1150), ""), ""}, // what is not known changes nothing
		{lookOf("a", known(0), ""), "others 1101 0"},
		{lookOf("a", none, "gone off the bus"), "lost"},
		{lookOf("a", none, "gone off the bus"), ""},
		{lookOf("a", known(50), ""), "back"},
		{nil, "lost"},
		{nil, ""},
		{append(lookOf("a", known(60), ""), lookOf("b", none, "")...), "back, appeared"},
		{append(lookOf("a", known(60), ""), lookOf("b", known(7000), "")...), ""}, // first known: nothing to compare
		{append(lookOf("a", known(60), ""), lookOf("b", known(7200), "")...), "others 7000 7200"},
	} {
		var got []string
		for _, c := range tracker.Observe(x.devices) {
			text := string(c.Kind)
			if c.Kind == OthersChanged {
				text += " " + uintText(c.Before) + " " + uintText(c.After)
			}
			if c.What == "" || c.Device == "" {
				t.Errorf("look %d: %+v", i, c)
			}
			got = append(got, text)
		}
		if g := strings.Join(got, ", "); g != x.want {
			t.Errorf("look %d: %q, want %q", i, g, x.want)
		}
	}
}

func uintText(n uint64) string { return strconv.FormatUint(n, 10) }

// The changes that were reported add up to what the looks show, up to the threshold.
func TestTrackerAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threshold := rapid.Uint64Range(0, 50).Draw(t, "threshold")
		looks := rapid.SliceOfN(rapid.Uint64Range(0, 1000), 1, 20).Draw(t, "looks")
		tracker := Tracker{Threshold: threshold}
		reported := looks[0]
		for _, n := range looks {
			for _, c := range tracker.Observe(lookOf("a", Is(n), "")) {
				if c.Before != reported || c.After != n {
					t.Fatalf("%+v after %d was reported", c, reported)
				}
				reported = n
			}
			if diff := max(reported, n) - min(reported, n); diff > 0 && diff >= threshold {
				t.Fatalf("others hold %d, last reported was %d", n, reported)
			}
		}
	})
}

// Watch looks at once, then once for each interval, and leaves nothing behind:
// synctest fails if a goroutine remains.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 35*time.Second)
		defer cancel()
		start, n := time.Now(), uint64(0)
		var at []time.Duration
		var changes int
		err := Watch(ctx, 10*time.Second, 1, func(context.Context) []Device {
			n += 5
			return lookOf("a", Is(n), "")
		}, func(devices []Device, c []Change) {
			at = append(at, time.Since(start))
			changes += len(c)
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ended with %v", err)
		}
		want := []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second}
		if d := cmp.Diff(want, at); d != "" || changes != 3 {
			t.Errorf("%d changes, looks at %s", changes, d)
		}
	})
}

// A look that was cut short is not taken for lost cards.
func TestWatchDropsTheLastLook(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := Watch(ctx, time.Hour, 1, func(context.Context) []Device { cancel(); return nil }, func([]Device, []Change) { t.Error("it was reported") })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if err := Watch(t.Context(), 0, 1, nil, nil); err == nil {
		t.Error("no interval is accepted")
	}
}
