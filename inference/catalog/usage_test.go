package catalog

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// The budget and what is over it can be told apart, however small.
func TestBudgetErrorTells(t *testing.T) {
	e := &BudgetError{Used: 20 << 20, Need: 90 << 20, Budget: 50 << 20}
	if s := e.Error(); !strings.HasPrefix(s, "20.0 MiB are in use and 90.0 MiB more are needed, the budget is 50.0 MiB, 60.0 MiB less;") {
		t.Error(s)
	}
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 KiB", 1<<20 - 1: "1.0 MiB", 1 << 20: "1.0 MiB", 1000 << 20: "1000.0 MiB", 1<<30 - 1: "1.0 GiB", 1 << 30: "1.0 GiB", 5 << 40: "5120.0 GiB"} {
		if got := amount(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1024, 1<<50).Draw(t, "n")
		var number float64
		var unit string
		if _, err := fmt.Sscanf(amount(n), "%f %s", &number, &unit); err != nil {
			t.Fatal(err)
		}
		back := number * float64(map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit])
		if back < 0.94*float64(n) || back > 1.06*float64(n) || number >= 1024 && unit != "GiB" {
			t.Fatalf("%d is %s", n, amount(n))
		}
	})
}

// brokenOff fails all requests after some.
type brokenOff struct{ after atomic.Int32 }

func (b *brokenOff) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.after.Add(-1) < 0 {
		return nil, errors.New("the line is dead")
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Of a download that was broken off, what came is told, not the room it takes.
func TestBegun(t *testing.T) {
	data := model(t, 1)
	h := newFakeHub(t, map[string][]byte{"sub/m.gguf": data})
	f, e := fetcher(t), hubEntry()
	line := &brokenOff{}
	line.after.Store(2 + 2 + 2 + 2) // the probe, the header and the first range ask hub and store; two more ranges
	f.Web.Connections, f.Web.Attempts, f.Web.Transport = 1, 1, line
	if n, disk, err := Begun(f, "m"); err != nil || n != 0 || disk != 0 {
		t.Errorf("%d bytes before, %v", n, err)
	}
	if _, err := Pull(ctx, f, e, Options{Hub: h.URL}); err == nil {
		t.Fatal("the pull went through")
	}
	put(t, filepath.Join(f.Downloads(), "m2+m.gguf"), data) // another model's
	if got, disk, err := Begun(f, "m"); err != nil || got != 3*64<<10 || disk == 0 {
		t.Errorf("%d bytes are there, %v", got, err)
	}
	put(t, filepath.Join(f.Downloads(), "m+other.gguf"), data[:100])
	if got, disk, err := Begun(f, "m"); err != nil || got != 3*64<<10+100 || disk == 0 {
		t.Errorf("%d bytes with a finished file, %v", got, err)
	}
}
