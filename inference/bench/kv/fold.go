package kv

import (
	"cmp"
	"math"
	"slices"
)

// lossOf sums samples up; those of one text are one value, since their tokens resemble each
// other.
func lossOf(samples []Sample) (l Loss) {
	means, tops := map[text][]float64{}, map[text][]float64{}
	rows := map[text][]float32{}
	var order []text
	same := 0
	for _, s := range samples {
		c := text{s.Kind, s.Text}
		if means[c] == nil {
			order = append(order, c)
		}
		means[c] = append(means[c], s.Mean)
		tops[c] = append(tops[c], float64(s.Same)/float64(max(1, s.Rows)))
		rows[c] = append(rows[c], s.Divergence...)
		for _, d := range s.Divergence {
			l.Max = max(l.Max, float64(d))
		}
		same, l.Rows, l.Broken, l.Contexts = same+s.Same, l.Rows+s.Rows, l.Broken+s.Broken, l.Contexts+1
		l.Surprise += (s.FullLogprob - s.Logprob - l.Surprise) / float64(l.Contexts)
	}
	var mean, top []float64
	var groups [][]float32
	for _, c := range order {
		mean, top = append(mean, average(means[c])), append(top, average(tops[c]))
		groups = append(groups, rows[c])
	}
	l.Mean, l.Top, l.Tail = meanOf(mean), meanOf(top), tailOf(groups, 0.999)
	l.Mean.Low, l.Top.High = max(0, l.Mean.Low), min(1, l.Top.High)
	return l
}

// repeatOf is the loss of likelihood of repetition, over texts.
func repeatOf(samples []Sample) Interval {
	by := map[text][]float64{}
	for _, s := range samples {
		if s.FullRepeat != 0 {
			by[text{s.Kind, s.Text}] = append(by[text{s.Kind, s.Text}], s.FullRepeat-s.Repeat)
		}
	}
	var all []float64
	for _, v := range by {
		all = append(all, average(v))
	}
	slices.Sort(all) // so that the sum does not depend on the map's order
	return meanOf(all)
}

// tasksOf sums replies up: all, by task, and by task and length.
func tasksOf(replies []Reply) (out []TaskLoss) {
	if len(replies) == 0 {
		return nil
	}
	out = append(out, taskOf(AllTasks, 0, replies))
	for _, t := range Tasks() {
		of := filter(replies, func(r Reply) bool { return r.Task == t })
		if len(of) == 0 {
			continue
		}
		out = append(out, taskOf(t, 0, of))
		for _, n := range keysOf(of, func(r Reply) int { return r.Length }) {
			out = append(out, taskOf(t, n, filter(of, func(r Reply) bool { return r.Length == n })))
		}
	}
	return out
}

// needlesOf sums needles up by length and depth.
func needlesOf(replies []Reply) (out []NeedleLoss) {
	replies = filter(replies, func(r Reply) bool { return r.Task == Needles })
	for _, n := range keysOf(replies, func(r Reply) int { return r.Length }) {
		for _, d := range keysOf(replies, func(r Reply) float64 { return r.Depth }) {
			of := filter(replies, func(r Reply) bool { return r.Length == n && r.Depth == d })
			out = append(out, NeedleLoss{d, taskOf(Needles, n, of)})
		}
	}
	return out
}

func taskOf(t Task, length int, replies []Reply) TaskLoss {
	out := TaskLoss{Task: t, Length: length, Questions: len(replies)}
	for _, r := range replies {
		full, solved := r.FullFound == 1, r.Found == 1
		out.Full, out.Solved, out.Kept = out.Full+one(full), out.Solved+one(solved), out.Kept+one(full && solved)
		n := float64(len(replies))
		out.FullFound += r.FullFound / n
		out.Found += r.Found / n
		out.Logprob += (r.FullLogprob - r.Logprob) / n
	}
	out.Retention = shareOf(out.Kept, out.Full)
	return out
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func average(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func filter[T any](all []T, keep func(T) bool) (out []T) {
	for _, x := range all {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// keysOf are the different keys, in order.
func keysOf[T any, K cmp.Ordered](all []T, key func(T) K) []K {
	var keys []K
	for _, x := range all {
		keys = append(keys, key(x))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
