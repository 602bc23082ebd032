package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dure/runtime/board"
	"dure/runtime/event"
)

// settleLimit is how long it is tried to find out what became of a commit.
const settleLimit = 15 * time.Second

// commit puts the events of what jobs have changed into the transaction that is open
// on a session, in their order, and commits it.
func (s *store) commit(sess *session, jobs []*job) error {
	a := appending{key: s.ground.key, now: s.cfg.Now().UnixNano(), limit: s.cfg.Limits.Stored}
	for _, j := range jobs {
		away, err := j.cap.changes.away(j.id.String())
		if err != nil {
			return err
		}
		payload, err := j.cap.changes.payload(j.agent.Name, j.done.Uses, away)
		if err != nil {
			return err
		}
		if away != nil {
			if err := j.cap.changes.keepPieces(sess, s.ground.key, away.Name); err != nil {
				return s.refuse(err, nil)
			}
		}
		a.ids, a.payloads = append(a.ids, j.id[:]), append(a.payloads, payload)
	}
	first, err := s.append(sess, a, sumUp(jobs), jobs[0].id)
	if err != nil {
		return err
	}
	for i, j := range jobs {
		j.done.Result.Change, j.done.Logged = uint64(first)+uint64(i), true
	}
	return nil
}

// An appending is the arguments of dure_board.append_writes, but for the sums.
type appending struct {
	key           []byte
	ids, payloads [][]byte
	now, limit    int64
}

// append appends and commits. It returns the sequence of the first event.
func (s *store) append(sess *session, a appending, all sums, first board.ID) (event.Sequence, error) {
	var seq event.Sequence
	call := step{sql: "select dure_board.append_writes($1, $2, $3, $4, $5, $6, $7, $8, $9)", rows: func(r *pgconn.ResultReader) error {
		for r.NextRow() {
			n, err := strconv.ParseUint(string(r.Values()[0]), 10, 64)
			if err != nil {
				return err
			}
			seq = event.Sequence(n)
		}
		return nil
	}}.with(oidBytes, a.key).with(oidUUIDs, array(oidUUID, a.ids)).with(oidInt8, fmt.Append(nil, a.now)).with(oidBytesArray, array(oidBytes, a.payloads))
	for _, v := range []any{all.Used, all.Changed, all.Grown, all.Growers} {
		data, err := json.Marshal(v)
		if err != nil {
			return 0, fmt.Errorf("write: %w", err)
		}
		call = call.with(oidJSON, data)
	}
	call = call.with(oidInt8, fmt.Append(nil, a.limit))
	// The end of the log is waited for by everybody, and soon free.
	errs := sess.exchange([]step{{sql: "set local lock_timeout = 0"}, call, {sql: "commit"}}, back)
	sess.clean = errs[0] == nil && errs[1] == nil
	return seq, s.committed(errs[0], first, &seq)
}

// committed says what became of a commit. If the connection broke, the log says
// whether the first event is in it, once the old session is over.
func (s *store) committed(err error, id board.ID, seq *event.Sequence) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case fromServer(err) && errors.As(err, &pg) && pg.Code == "23505" && pg.SchemaName == "dure_event":
		return board.Refuse(board.ErrDuplicate, nil, "a write with the ID %v is in the log", id)
	case fromServer(err):
		return s.refuse(err, nil)
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleLimit)
	defer cancel()
	for ctx.Err() == nil {
		var there bool
		look := pgx.BeginFunc(ctx, s.owner, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "select position from dure_event.head for update"); err != nil {
				return err
			}
			var n *int64
			err := tx.QueryRow(ctx, "select max(sequence), count(*) > 0 from dure_event.events where id = $1", [16]byte(id)).Scan(&n, &there)
			if n != nil {
				*seq = event.Sequence(*n)
			}
			return err
		})
		switch {
		case look == nil && there:
			return nil
		case look == nil:
			return fmt.Errorf("the write was not done: %w", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond): // the server comes back, or does not
		}
	}
	return fmt.Errorf("%w (%w)", board.ErrUnknown, err)
}

// sweep gives back the room that a write took which was too large: its rows are
// dead, and their place would be kept for others.
func (s *store) sweep(err error, cap *capture) {
	var r *board.Refusal
	if !errors.Is(err, board.ErrTooLarge) || !errors.As(err, &r) {
		return
	}
	select {
	case s.sweeping <- struct{}{}:
	default:
		return // it is being done
	}
	tables := r.Tables
	s.work.Go(func() {
		defer func() { <-s.sweeping }()
		for _, t := range tables {
			if cap.tables[t] == nil {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			_, err := s.owner.Exec(ctx, "vacuum (truncate) board."+t)
			cancel()
			if err != nil {
				s.cfg.Logger.Warn("the room of a refused write is not given back yet", "table", t, "error", err)
			}
		}
	})
}
