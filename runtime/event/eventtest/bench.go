package eventtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"dure/runtime/event"
)

// Benchmark measures durable appends of one event of 300 bytes with 1, 8 and 64
// writers: appends a second, and the time that 95 of 100 stay below.
func Benchmark(b *testing.B, place func(t testing.TB) Place) {
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("writers=", writers), func(b *testing.B) {
			log := place(b).Open(b)
			took := make([][]time.Duration, writers)
			var wg sync.WaitGroup
			b.ResetTimer()
			for w := range writers {
				wg.Go(func() {
					stream := fmt.Sprint("s", w)
					for range b.N / writers {
						start := time.Now()
						if _, err := log.Append(context.Background(), stream, event.Any, text(300)); err != nil {
							b.Error(err)
							return
						}
						took[w] = append(took[w], time.Since(start))
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			all := slices.Sorted(slices.Values(slices.Concat(took...)))
			if len(all) == 0 {
				return
			}
			b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "appends/s")
			b.ReportMetric(float64(all[len(all)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}
