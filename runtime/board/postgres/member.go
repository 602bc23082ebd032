package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dure/runtime/board"
	"dure/runtime/board/desk"
	"dure/runtime/event"
)

// say appends an event of the board's stream in a transaction with what f does, which
// is told the sequence. before runs behind the lock on the log's end, and says
// whether there is anything to be said.
func (s *store) say(ctx context.Context, e event.Event, err error, before func(tx pgx.Tx) (bool, error), f func(tx pgx.Tx, seq int64) error) (event.Sequence, error) {
	if err != nil {
		return 0, err
	}
	e.ID = event.NewID()
	var seq int64
	// Once begun it ends by itself, so that its outcome is known.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err = pgx.BeginFunc(ctx, s.owner, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select position from dure_event.head for update"); err != nil {
			return err
		}
		if ok, err := before(tx); err != nil || !ok {
			return err
		}
		err := tx.QueryRow(ctx, "select dure_board.append_event($1, $2, $3, $4, $5)", s.ground.key, [16]byte(e.ID), e.Type,
			s.cfg.Now().UnixNano(), e.Payload).Scan(&seq)
		if err != nil {
			return err
		}
		return f(tx, seq)
	})
	var r *board.Refusal
	var pg *pgconn.PgError
	if err == nil || errors.As(err, &r) || errors.As(err, &pg) && fromServer(err) {
		return event.Sequence(seq), explain(err)
	}
	var found event.Sequence
	if err := s.committed(err, e.ID, &found); err != nil {
		return 0, err
	}
	return max(found, event.Sequence(seq)), nil
}

const accountSQL = "select dure_board.account($1, $2, $3, '{}', 0)"

// enterSQL makes a member, or changes one. A new one has seen what there is.
const enterSQL = `insert into dure_board.members (name, crew, role, seen)
	values ($1, $2, $3, coalesce((select max(id) from board.announce), 0))
	on conflict (name) do update set crew = excluded.crew, role = excluded.role`

// Enter implements desk.Backend.
func (s *store) Enter(ctx context.Context, a board.Agent) error {
	isNew := func(q interface {
		QueryRow(context.Context, string, ...any) pgx.Row
	}) (bool, error) {
		var same bool
		err := q.QueryRow(ctx, "select exists (select from dure_board.members where name = $1 and crew = $2 and role = $3)",
			a.Name, a.Crew, string(a.Role)).Scan(&same)
		return !same, err
	}
	if ok, err := isNew(s.owner); err != nil || !ok {
		return explain(err)
	}
	e, err := board.JoinedType.New(a)
	_, err = s.say(ctx, e, err, func(tx pgx.Tx) (bool, error) { return isNew(tx) }, func(tx pgx.Tx, seq int64) error {
		if _, err := tx.Exec(ctx, enterSQL, a.Name, a.Crew, string(a.Role)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, accountSQL, seq, a.Name, "[]")
		return err
	})
	return err
}

// Acknowledge implements desk.Backend.
func (s *store) Acknowledge(ctx context.Context, a board.Agent, upto int64) error {
	e, err := board.AcknowledgedType.New(board.Acknowledged{Agent: a.Name, Upto: upto})
	_, err = s.say(ctx, e, err, func(tx pgx.Tx) (bool, error) {
		var last, seen int64
		err := tx.QueryRow(ctx, "select coalesce((select max(id) from board.announce), 0), (select seen from dure_board.members where name = $1)",
			a.Name).Scan(&last, &seen)
		if err == nil && upto > last {
			err = board.Refuse(board.ErrStatement, nil, "there is no announcement %d yet, the last is %d", upto, last)
		}
		return upto > seen, err
	}, func(tx pgx.Tx, seq int64) error {
		if _, err := tx.Exec(ctx, "update dure_board.members set seen = $2 where name = $1", a.Name, upto); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, accountSQL, seq, a.Name, "[]")
		return err
	})
	return err
}

// Announced implements desk.Backend.
func (s *store) Announced(ctx context.Context, a board.Agent, limit int) ([]board.Announcement, error) {
	rows, err := s.owner.Query(ctx, `select id, agent, coalesce(crew, ''), at, body from board.announce
		where id > (select seen from dure_board.members where name = $1) and agent <> $1 and (to_crew is null or to_crew = $2)
		order by id limit $3`, a.Name, a.Crew, limit)
	if err != nil {
		return nil, explain(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[board.Announcement])
	return all, explain(err)
}

// Create implements desk.Backend.
func (s *store) Create(ctx context.Context, a board.Agent, t board.Table) (desk.Done, error) {
	used := []board.Use{{Agent: a.Name, Table: t.Name, Kind: board.Write}}
	e, err := board.CreatedType.New(board.Created{Agent: a.Name, Table: t})
	seq, err := s.say(ctx, e, err, func(tx pgx.Tx) (bool, error) {
		var there bool
		var n int
		err := tx.QueryRow(ctx, "select exists (select from dure_board.tables where name = $1), (select count(*) from dure_board.tables)", t.Name).Scan(&there, &n)
		switch {
		case err != nil:
			return false, err
		case there:
			return false, board.Refuse(board.ErrStatement, []string{t.Name}, "there is a table %s already", t.Name)
		case n-len(board.Standard()) >= s.cfg.Limits.Tables:
			return false, board.Refuse(board.ErrQuota, nil, "there are %d added tables, no more may be", s.cfg.Limits.Tables)
		}
		return true, nil
	}, func(tx pgx.Tx, seq int64) error {
		if err := s.addTable(ctx, tx, t); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, accountSQL, seq, a.Name, fmt.Sprintf(`[{"table":%q,"kind":"write"}]`, t.Name))
		return err
	})
	if err != nil {
		return desk.Done{}, s.refuse(err, nil)
	}
	if err := s.reload(ctx); err != nil {
		return desk.Done{}, err
	}
	return desk.Done{Result: board.Result{Change: uint64(seq)}, Uses: used, Logged: true}, nil
}

// Claim implements desk.Backend. It runs as the tables' owner, since the row is
// another's; what it changes is judged and logged like all else.
func (s *store) Claim(ctx context.Context, a board.Agent, c board.Claim) (desk.Done, error) {
	t := s.shapes()[c.Table]
	if t == nil || !t.Holder {
		return desk.Done{}, board.Refuse(board.ErrStatement, nil, "rows of %q cannot be claimed; %s and %s have such rows", c.Table, board.Subtasks, board.Assign)
	}
	crew := cmp.Or(c.Crew, a.Crew)
	defs := make([]string, len(t.cols))
	for i, col := range t.cols {
		defs[i] = col.Name + " " + columnTypes[col.Type]
	}
	call := s.newCall(ctx, a)
	j := s.newJob(call, c.ID, func(rows func(*pgconn.ResultReader) error) []step {
		sql := fmt.Sprintf("select * from dure_board.claim($1, $2, $3, $4, $5) as t (%s)", strings.Join(defs, ", "))
		return []step{step{sql: sql, rows: rows}.with(oidBytes, s.ground.key).with(oidText, []byte(t.Name)).with(oidText, []byte(a.Name)).
			with(oidText, []byte(call.time())).with(oidText, []byte(crew))}
	})
	j.claim, j.uses = true, []board.Use{{Agent: a.Name, Table: t.Name, Kind: board.Write}}
	done, err := s.write(j)
	if err != nil && j.named && s.isLogged(ctx, c.ID) {
		err = board.Refuse(board.ErrDuplicate, nil, "a claim with the ID %v is in the log", c.ID)
	}
	return done, err
}
