package front

import (
	"testing"
)

// What a token costs in the histogram of gaps, the observer found before.
func BenchmarkGap(b *testing.B) {
	gap := newMetrics(nil, &budget{}).gap.WithLabelValues("small", "worker")
	for b.Loop() {
		gap.Observe(0.02)
	}
}
