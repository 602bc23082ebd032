package codec

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// stepsOf a class for keys and values; see appendQuantised. An error of values
// counts for a little more than one of keys.
func stepsOf(c Class, k kind) steps {
	list := [classEnd][2]steps{
		Near:       {{0.1, 0.05}, {0.1, 0.05}},
		NearSmall:  {{0.16, 0.1}, {0.16, 0.1}},
		Small:      {{0.64, 0.1}, {0.56, 0.1}},
		Calibrated: {{1.05, 0.125}, {0.93, 0.125}},
	}
	if !c.valid() || k > values {
		return steps{}
	}
	return list[c][k]
}

// job is the planes of one state.
type job struct {
	class  Class
	basis  *Basis
	planes []plane
	rows   []*rowSets // by pool
}

func newJob(f Form, planes []plane, h head) *job {
	j := &job{planes: planes, rows: make([]*rowSets, len(f.Layout.Pools))}
	if h.class == Exact {
		return j
	}
	for i := range planes {
		p := &planes[i]
		if p.pos == nil {
			continue
		}
		if j.rows[p.pool] == nil {
			j.rows[p.pool] = sets(p.pos, h.first, h.last)
		}
		if p.kind == keys {
			j.rows[p.pool].prepare(p.heads.Rotary, p.pos)
		}
	}
	return j
}

func (j *job) rowsOf(p *plane) *rowSets {
	if p.pos == nil {
		return nil
	}
	return j.rows[p.pool]
}

func (j *job) directions(p *plane) *directions {
	if j.class != Calibrated || p.pos == nil {
		return nil
	}
	return j.basis.of(p)
}

// each calls do for every plane, from one goroutine for each worker.
func (j *job) each(workers []*worker, do func(w *worker, i int)) {
	if len(workers) == 1 {
		for i := range j.planes {
			do(workers[0], i)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for _, w := range workers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(j.planes); i = int(next.Add(1)) - 1 {
				do(w, i)
			}
		})
	}
	group.Wait()
}

func (j *job) encode(workers []*worker, state []byte) [][]byte {
	out := make([][]byte, len(j.planes))
	j.each(workers, func(w *worker, i int) {
		p := &j.planes[i]
		if p.pos == nil {
			out[i] = slices.Clip(w.appendState(nil, state, p, stateMode(j.class)))
			return
		}
		st := stepsOf(j.class, p.kind)
		if j.class == Near && !isNumber(p.row.Type) {
			st = steps{} // it has lost that much already
		}
		out[i] = slices.Clip(w.appendPlane(nil, state, p, j.rowsOf(p), st, j.directions(p)))
	})
	return out
}

func (j *job) decode(workers []*worker, state []byte, coded [][]byte) error {
	errs := make([]error, len(j.planes))
	var failed atomic.Bool
	j.each(workers, func(w *worker, i int) {
		if failed.Load() {
			return
		}
		if err := w.readPlane(state, coded[i], &j.planes[i], j.rowsOf(&j.planes[i]), j.directions(&j.planes[i])); err != nil {
			errs[i] = fmt.Errorf("plane %d: %w", i, err)
			failed.Store(true)
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
