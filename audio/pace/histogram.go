package pace

import (
	"math"
	"sync/atomic"
	"time"
)

// Bounds are the upper ends of the buckets of every Histogram, in the order of time; there
// is one more bucket above them. They are fixed, so that histograms of sessions, servers
// and days can be added.
var Bounds = []time.Duration{
	100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 1500 * time.Microsecond, 2 * time.Millisecond, 3 * time.Millisecond, 4 * time.Millisecond, 5 * time.Millisecond,
	7 * time.Millisecond, 10 * time.Millisecond, 15 * time.Millisecond, 20 * time.Millisecond, 30 * time.Millisecond, 40 * time.Millisecond,
	50 * time.Millisecond, 65 * time.Millisecond, 80 * time.Millisecond, 100 * time.Millisecond, 133 * time.Millisecond, 150 * time.Millisecond,
	200 * time.Millisecond, 250 * time.Millisecond, 300 * time.Millisecond, 400 * time.Millisecond, 500 * time.Millisecond, 650 * time.Millisecond,
	800 * time.Millisecond, time.Second, 1200 * time.Millisecond, 1500 * time.Millisecond, 1800 * time.Millisecond, 2500 * time.Millisecond,
	4 * time.Second, 8 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute,
}

const buckets = 39 // len(Bounds) + 1

// Histogram counts durations. The zero value is empty; any goroutine may use it.
type Histogram struct {
	counts [buckets]atomic.Uint64
	sum    atomic.Int64
	most   atomic.Int64
}

// Observe counts d; a negative one counts as 0.
func (h *Histogram) Observe(d time.Duration) {
	d = max(0, d)
	i := 0
	for i < len(Bounds) && d > Bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
	for {
		most := h.most.Load()
		if int64(d) <= most || h.most.CompareAndSwap(most, int64(d)) {
			return
		}
	}
}

// Snapshot is a Histogram at a moment.
type Snapshot struct {
	Counts [buckets]uint64
	Count  uint64
	Sum    time.Duration
	Max    time.Duration
}

// Snapshot reads the counts. What is observed meanwhile may be in some of them only.
func (h *Histogram) Snapshot() Snapshot {
	s := Snapshot{Sum: time.Duration(h.sum.Load()), Max: time.Duration(h.most.Load())}
	for i := range h.counts {
		s.Counts[i] = h.counts[i].Load()
		s.Count += s.Counts[i]
	}
	return s
}

// Add adds another's counts.
func (s *Snapshot) Add(o Snapshot) {
	for i, n := range o.Counts {
		s.Counts[i] += n
	}
	s.Count += o.Count
	s.Sum += o.Sum
	s.Max = max(s.Max, o.Max)
}

// Sub takes an earlier Snapshot of the same Histogram away: what is left came since. Max
// stays that of all time.
func (s *Snapshot) Sub(earlier Snapshot) {
	for i, n := range earlier.Counts {
		s.Counts[i] -= n
	}
	s.Count -= earlier.Count
	s.Sum -= earlier.Sum
}

// Quantile is an upper bound of the q-quantile, q in [0, 1]: the end of the bucket that it
// lies in, or the largest value where that is less. 0 where nothing was counted.
func (s *Snapshot) Quantile(q float64) time.Duration {
	if s.Count == 0 {
		return 0
	}
	rank := max(1, uint64(math.Ceil(q*float64(s.Count))))
	seen := uint64(0)
	for i, n := range s.Counts {
		if seen += n; seen >= rank {
			if i < len(Bounds) {
				return min(Bounds[i], s.Max)
			}
			return s.Max
		}
	}
	return s.Max
}

// Metrics are what sessions publish; one for all of them. The zero value is ready.
type Metrics struct {
	Wake, Compute, TTFA, Stop, HeardError Histogram
	// Frames came due; of them Missed were later than their budget, Underruns found the
	// person's buffer empty within an utterance.
	Frames, Missed, Underruns atomic.Int64
	// FalseStops: speech that stopped an answer and turned out to hold no words.
	FalseStops atomic.Int64
	// Skipped sound was not sent to a client that reads too slowly.
	Skipped atomic.Int64
	// Relieved and Degraded count what lateness led to.
	Relieved, Degraded atomic.Int64
	// Refused sessions found no room.
	Refused atomic.Int64
}
