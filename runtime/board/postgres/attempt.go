package postgres

import (
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"dure/runtime/board/desk"
)

// attempt runs a job's statement in the transaction that front leaves open on a
// session, and takes what it changes. The session's settings and prepared statements
// are set back before it, so that nothing of another's is there. The transaction is
// lost if front failed: what becomes of the job says nothing of that.
func (s *store) attempt(j *job, sess *session, front []step) (failed error, lost bool) {
	w := s.begin(j.call, sess)
	if j.cap != nil {
		j.cap.changes.drop()
	}
	j.cap = &capture{tables: s.shapes(), agent: j.agent, at: j.time(), claim: j.claim, limits: s.cfg.Limits,
		grown: make(map[string]int64), stop: func() { w.stop(stopped) }}
	r := result{limits: s.cfg.Limits, stop: j.cap.stop}
	reached := false
	// All in one segment: nothing is run if front has failed.
	steps := append(slices.Clone(front), step{sql: "deallocate all", rows: func(*pgconn.ResultReader) error { reached = true; return nil }},
		step{sql: "reset all"}, s.speaker(j.call, j.claim))
	if j.named {
		steps = append(steps, step{sql: "select dure_board.fresh($1, $2)"}.with(oidBytes, s.ground.key).with(oidUUID, j.id[:]))
	}
	steps = append(steps, j.steps(r.read)...)
	touched := make(map[string]bool)
	if j.uses == nil {
		steps = append(steps, touchedStep(touched))
	}
	sess.sink = j.cap.take
	err := sess.exchange(steps)[0]
	sess.sink = nil
	why := w.end()
	used := j.uses
	if used == nil {
		used = uses(j.agent.Name, touched)
	}
	r.Changed, j.since = j.cap.rows, s.cfg.Now()
	j.done = desk.Done{Result: r.Result, Uses: used}
	if failed = s.outcome(j.call, why, errors.Join(j.cap.err, r.err), err, j.tables()); failed != nil {
		failed = first(j.cap.err, failed)
	}
	return failed, err != nil && !reached
}

// single runs a job in a transaction of its own.
func (s *store) single(j *job, sess *session) error {
	err, _ := s.attempt(j, sess, []step{{sql: "begin"}})
	defer j.cap.changes.drop()
	if err != nil {
		s.sweep(err, j.cap)
		return err
	}
	if j.cap.changes.n == 0 {
		return nil // the lane sets the session back
	}
	return s.commit(sess, []*job{j})
}
