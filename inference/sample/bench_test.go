package sample

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"dure/inference"
)

// rows are shapes a model or a bug can produce.
func rows(n int) map[string][]float32 {
	random := rand.New(rand.NewPCG(1, 2))
	normal := make([]float32, n)
	for i := range normal {
		normal[i] = float32(random.NormFloat64() * 3)
	}
	rising := slices.Clone(normal)
	slices.Sort(rising)
	return map[string][]float32{"normal": normal, "rising": rising, "equal": make([]float32, n)}
}

func BenchmarkSample(b *testing.B) {
	params := map[string]inference.Params{
		"greedy":   {TopP: 1},
		"top40":    {Temperature: 1, TopP: 0.95, MinP: 0.05},
		"top1024":  {Temperature: 1, TopP: 0.95, TopK: 1024},
		"all_of_k": {Temperature: 1, TopP: 1},
	}
	for _, n := range []int{49152, 248320} {
		for shape, row := range rows(n) {
			for name, p := range params {
				b.Run(fmt.Sprintf("%s/%s/%d", name, shape, n), func(b *testing.B) {
					s, err := New(p)
					if err != nil {
						b.Fatal(err)
					}
					b.ReportAllocs()
					for b.Loop() {
						if _, err := s.Sample(row); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
