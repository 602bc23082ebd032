package load

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	length   = flag.Duration("for", 20*time.Second, "how long BenchmarkWake measures each load")
	sessions = flag.Int("sessions", 16, "its sessions")
	hog      = flag.Duration("hog", 0, "be a process that keeps a processor busy for so long, and do nothing else")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *hog > 0 {
		burn(func() bool { return false }, *hog)
		return
	}
	os.Exit(m.Run())
}

// burn computes until it is told to stop.
func burn(stop func() bool, most time.Duration) {
	end := time.Now().Add(most)
	for x := 1.0; !stop() && time.Now().Before(end); {
		for range 1_000_000 {
			x = x*1.0000001 + 1e-9
		}
	}
}

// All persons are answered, interrupted, and every sample is accounted for.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, interrupt := range []bool{false, true} {
			r, err := Run(t.Context(), Options{Sessions: 3, Talking: 1, For: 20 * time.Second, Interrupt: interrupt, Encode: true})
			if err != nil {
				t.Fatal(err)
			}
			if r.Answers < 2 || r.TTFA.Count < 2 || (r.Stop.Count == 0) == interrupt || r.Underruns != 0 || r.Missed != 0 {
				t.Error(r)
			}
			// The clock is fake: what is measured is the logic alone.
			if r.Bytes != 2*int64(r.Ledger.Sent) || r.Wake.Max != 0 || r.TTFA.Max > 1200*time.Millisecond || interrupt && r.Stop.Max > 150*time.Millisecond {
				t.Error(r)
			}
			if r.Ledger.Received != 3*20*24000 {
				t.Errorf("%d samples received", r.Ledger.Received)
			}
		}
	})
	if _, err := Run(t.Context(), Options{}); err == nil {
		t.Error("nothing is done without an error")
	}
}

// Wake lateness of 16 sessions, 4 of them talking: alone, beside busy goroutines in the same
// process, and beside busy processes. It is why nothing that computes may share the process:
//
//	go test ./audio/voice/load -run '^$' -bench Wake -benchtime 1x -args -for 20s
func BenchmarkWake(b *testing.B) {
	procs := runtime.GOMAXPROCS(0)
	for _, l := range []struct {
		name            string
		inside, outside int
		extra           int // processors more than there are, for the scheduler
	}{
		{"alone", 0, 0, 0},
		{"busy processes", 0, procs, 0},
		{"busy goroutines", procs, 0, 0},
		{"busy goroutines, spare P", procs, 0, 2},
	} {
		b.Run(l.name, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs + l.extra))
			for range b.N {
				var stop atomic.Bool
				for range l.inside {
					go burn(stop.Load, 10*time.Minute)
				}
				var others []*exec.Cmd
				for range l.outside {
					c := exec.Command(os.Args[0], "-hog", fmt.Sprint(*length+5*time.Second))
					if err := c.Start(); err != nil {
						b.Fatal(err)
					}
					others = append(others, c)
				}
				r, err := Run(b.Context(), Options{Sessions: *sessions, Talking: min(4, *sessions), For: *length, Interrupt: true, Encode: true})
				stop.Store(true)
				for _, c := range others {
					_ = c.Process.Kill()
					_ = c.Wait()
				}
				if err != nil {
					b.Fatal(err)
				}
				b.Log("\n" + r.String())
				b.ReportMetric(float64(r.Wake.P99)/1e6, "wake-p99-ms")
				b.ReportMetric(float64(r.Wake.P999)/1e6, "wake-p99.9-ms")
				b.ReportMetric(float64(r.Stop.P95)/1e6, "stop-p95-ms")
				b.ReportMetric(float64(r.Missed), "missed")
			}
		})
	}
}
