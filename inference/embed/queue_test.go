package embed

import (
	"slices"
	"testing"

	"dure/inference"
	"dure/inference/engine"

	"pgregory.net/rapid"
)

func newJob(p inference.Priority, lengths ...int) *job {
	j := &job{weight: weights[p], done: make(chan struct{})}
	for _, n := range lengths {
		j.inputs = append(j.inputs, make([]engine.Token, n))
	}
	return j
}

// TestPackAll: whatever comes and goes, each input of a job that stays is in a batch
// once, in order, and batches keep to their sizes.
func TestPackAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const tokens, inputs = 100, 6
		var q queue
		seen := map[*job]int{}
		var all []*job
		steps := func() {
			batch := q.pack(tokens, inputs)
			sum := 0
			for _, p := range batch {
				if p.input != seen[p.job] {
					t.Fatalf("input %d comes after %d", p.input, seen[p.job]-1)
				}
				if !slices.Contains(q.jobs, p.job) {
					t.Fatal("a job that left has an input in a batch")
				}
				seen[p.job]++
				sum += len(p.job.inputs[p.input])
			}
			if sum > tokens || len(batch) > inputs {
				t.Fatalf("%d tokens of %d inputs", sum, len(batch))
			}
			if len(batch) == 0 && q.next() != nil {
				t.Fatal("nothing is packed although somebody waits")
			}
			for _, p := range batch {
				if p.job.packed == len(p.job.inputs) {
					q.remove(p.job)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"come": func(t *rapid.T) {
				p := rapid.SampledFrom([]inference.Priority{"", inference.PriorityWorker, inference.PriorityBackground}).Draw(t, "priority")
				j := newJob(p, rapid.SliceOfN(rapid.IntRange(1, tokens), 1, 20).Draw(t, "lengths")...)
				q.add(j)
				all = append(all, j)
			},
			"go": func(t *rapid.T) {
				if len(q.jobs) > 0 {
					i := rapid.IntRange(0, len(q.jobs)-1).Draw(t, "which")
					j := q.jobs[i]
					if !q.remove(j) || q.remove(j) {
						t.Fatal("remove does not tell whether it was there")
					}
					all = slices.DeleteFunc(all, func(o *job) bool { return o == j })
				}
			},
			"pack": func(*rapid.T) { steps() },
		})
		for len(q.jobs) > 0 {
			steps()
		}
		for _, j := range all {
			if seen[j] != len(j.inputs) {
				t.Fatalf("%d of %d inputs were in a batch", seen[j], len(j.inputs))
			}
		}
	})
}

// TestSmallBesideLarge: one input beside a thousand is in the next batch, also if it
// is less urgent, and the share of each follows its weight.
func TestSmallBesideLarge(t *testing.T) {
	var q queue
	large := newJob(inference.PriorityInteractive, slices.Repeat([]int{10}, 1000)...)
	q.add(large)
	for range 5 {
		q.pack(100, 32)
	}
	small := newJob(inference.PriorityBackground, 10)
	q.add(small)
	q.pack(100, 32)
	if small.packed != 1 {
		t.Error("the small one waits")
	}
	q.remove(small)
	other := newJob(inference.PriorityWorker, slices.Repeat([]int{10}, 1000)...)
	q.add(other)
	before := large.packed
	for range 18 {
		q.pack(100, 32)
	}
	if a, b := large.packed-before, other.packed; a != 8*b {
		t.Errorf("%d and %d inputs, want 8 of the urgent for each of the other", a, b)
	}
	if q.waiting() != 0 {
		t.Errorf("%d waiting", q.waiting())
	}
}
