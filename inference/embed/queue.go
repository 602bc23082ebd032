package embed

import (
	"slices"
	"time"

	"dure/inference"
	"dure/inference/engine"
)

// job is one request. The caller sets what stands above the line, and reads what
// stands below it once done is closed; meanwhile that is the owner's.
type job struct {
	inputs    [][]engine.Token
	weight    float64 // share of each batch
	submitted time.Time
	done      chan struct{}
	// ------
	numbers     [][]float32 // of each input
	packed      int         // inputs that were in a batch
	left        int         // inputs that have no numbers yet
	used        float64     // tokens that were in a batch, by weight
	begun, last time.Time   // first and last batch
	err         error
}

// weights of priorities: how much of a batch they get beside each other. None is 0,
// so nobody waits for ever.
var weights = map[inference.Priority]float64{
	"": 16, inference.PriorityInteractive: 16, inference.PriorityPlanner: 8, inference.PriorityMerge: 4,
	inference.PriorityWorker: 2, inference.PriorityBackground: 1,
}

// piece is one input in a batch.
type piece struct {
	job   *job
	input int
}

// queue is who waits, in the order of arrival. It is plain data.
type queue struct {
	jobs []*job
	// level is what those served last had used: a new one starts there, neither before
	// all others nor behind them.
	level float64
}

func (q *queue) add(j *job) {
	j.used, j.left = q.level, len(j.inputs)
	q.jobs = append(q.jobs, j)
}

// remove forgets a job; false where it is not there.
func (q *queue) remove(j *job) bool {
	i := slices.Index(q.jobs, j)
	if i < 0 {
		return false
	}
	q.jobs = slices.Delete(q.jobs, i, i+1)
	return true
}

// pack takes the next inputs: one after the other of whoever had least, until the
// next one does not fit. The first always fits.
func (q *queue) pack(tokens, inputs int) (batch []piece) {
	for len(batch) < inputs {
		j := q.next()
		if j == nil {
			break
		}
		n := len(j.inputs[j.packed])
		if n > tokens {
			break
		}
		batch = append(batch, piece{j, j.packed})
		tokens -= n
		q.level = j.used
		j.used += float64(n) / j.weight
		j.packed++
	}
	return batch
}

func (q *queue) next() (least *job) {
	for _, j := range q.jobs {
		if j.packed < len(j.inputs) && (least == nil || j.used < least.used) {
			least = j
		}
	}
	return least
}

// waiting counts the jobs of which no input was in a batch.
func (q *queue) waiting() (n int) {
	for _, j := range q.jobs {
		if j.packed == 0 {
			n++
		}
	}
	return n
}
