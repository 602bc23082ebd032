package store

import (
	"testing"

	"dure/kvcache"
)

// BenchmarkOpen opens a folder of 10,000 objects of 100 tokens on 100 trunks.
func BenchmarkOpen(b *testing.B) {
	const objects, trunks = 10_000, 100
	cfg := testConfig(b.TempDir())
	cfg.Budget = 1 << 30
	s, _ := begin(b, cfg)
	data := noise(16<<10, 1)
	for i := range objects {
		id, path, from := kvcache.ObjectID(i+1), tokens(2000, i%trunks), 0
		if i >= trunks {
			from = 2000
			path = append(path, tokens(100, i)...)
		}
		write(b, s, id, path, from, data)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, found, err := Open(cfg)
		if err != nil || len(found) != objects {
			b.Fatal(len(found), err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/objects, "us/object")
}
