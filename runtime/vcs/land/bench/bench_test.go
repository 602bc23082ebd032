package bench

import (
	"flag"
	"testing"
	"time"

	"dure/runtime/vcs/land"
)

var (
	load   = flag.Duration("load", 300*time.Millisecond, "how long each load runs")
	agents = flag.Int("agents", 50, "of each load")
	files  = flag.Int("files", 200, "of the tree")
	lines  = flag.Int("lines", 500, "of the one large file")
)

// The loads run, and their sums agree: figures are for `dure bench land`.
func TestLoadsAddUp(t *testing.T) {
	for _, s := range []Shape{
		{Name: "even", Files: *files},
		{Name: "large", Files: 10 * *files},
		{Name: "hot", Files: *files, Hot: 0.25, Lines: *lines},
	} {
		s.Dir, s.For, s.Agents = t.TempDir(), *load, *agents
		s.Landing.Breaker = land.BreakerPolicy{Rate: -1}
		res, err := Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		var landed int64
		for _, n := range res.Tiers {
			landed += n
		}
		if res.Lands == 0 || landed != res.Lands || (res.HotLands > 0) != (s.Hot > 0) {
			t.Errorf("%+v", res)
		}
		t.Logf("%s: %.0f lands/s, %.1f %% retries, p99 %v, %v, %.0f a batch", s.Name, res.Rate, 100*res.Share, res.P99, res.Tiers, res.Batch)
	}
}
