package postgres

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"dure/runtime/board"
)

// A group is jobs that run one after the other in one transaction, each in a
// savepoint. It ends with one commit, or with none.
type group struct {
	*writer
	sess  *session
	since time.Time
	again bool // of jobs that are run again only

	open   bool   // the transaction is
	kept   bool   // what ran after the savepoint is to stay
	lost   bool   // transaction and session are of no use any more
	closed bool   // no other job may be added
	jobs   []*job // that ran well
}

// before reports whether the group is to end before a job.
func (g *group) before(j *job) bool {
	return len(g.jobs) > 0 && (j.first() || slices.ContainsFunc(g.jobs, func(o *job) bool { return o.id == j.id })) ||
		g.open && j.first()
}

func (g *group) over() bool {
	return g.lost || g.closed || len(g.jobs) >= groupJobs || time.Since(g.since) > groupTime
}

// front is what readies the transaction for the next job.
func (g *group) front() []step {
	switch {
	case !g.open:
		return []step{{sql: "begin"}, {sql: "savepoint s"}}
	case g.kept:
		return []step{{sql: "release savepoint s"}, {sql: "savepoint s"}}
	}
	return nil
}

// try runs a job. What fails leaves nothing, and is answered or run again.
func (g *group) try(j *job) {
	if j.alone {
		g.closed = true
		g.settle(j, g.single(j, g.sess))
		return
	}
	failed, lost := g.attempt(j, g.sess, g.front())
	g.open, g.kept, g.lost = true, false, lost
	switch {
	case lost && (failed == nil || errors.Is(failed, errBroken)):
		g.retry(j, errLost)
	case lost:
		g.settle(j, failed)
	case failed != nil:
		g.takeBack()
		g.sweep(failed, j.cap)
		g.settle(j, failed)
	case j.cap.changes.file != nil: // so large that others should not wait for it
		g.takeBack()
		j.alone = true
		g.todo = append(g.todo, j)
	default:
		g.jobs = append(g.jobs, j)
		if g.kept = j.cap.changes.n > 0; !g.kept {
			g.takeBack()
		}
	}
}

// takeBack goes back to the savepoint. A cancel that came late may strike it; the next
// one is not struck.
func (g *group) takeBack() {
	for range 3 {
		if g.sess.exchange([]step{{sql: "rollback to savepoint s"}})[0] == nil {
			return
		}
		if g.sess.conn.IsClosed() {
			break
		}
	}
	g.lost = true
}

// settle answers a job by itself, or has it run again.
func (g *group) settle(j *job, err error) {
	switch {
	case errors.Is(err, errLocked):
		g.hold(j)
	case errors.Is(err, errCollide), errors.Is(err, errBroken) && !errors.Is(err, board.ErrUnknown):
		g.retry(j, err)
	default:
		g.end(j, err)
	}
}

// finish commits what ran well, and answers it.
func (g *group) finish() {
	err := g.write()
	for _, j := range g.jobs {
		switch {
		case err == nil, errors.Is(err, board.ErrUnknown), len(g.jobs) == 1 && !errors.Is(err, errBroken):
			g.end(j, err)
		case errors.Is(err, errBroken):
			g.retry(j, err)
		default: // one of them, which is found when each is by itself
			j.alone = true
			g.retry(j, err)
		}
	}
}

func (g *group) write() error {
	switch all := changed(g.jobs); {
	case g.lost:
		return errLost
	case len(all) > 0:
		return g.commit(g.sess, all)
	case g.open:
		errs := g.sess.exchange([]step{{sql: "rollback"}}, back)
		g.sess.clean = errs[0] == nil && errs[1] == nil
	}
	return nil
}

// errLost: the transaction was lost while another's statement ran in it.
var errLost = fmt.Errorf("%w while another statement ran", errBroken)
