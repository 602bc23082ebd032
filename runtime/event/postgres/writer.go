package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dure/runtime/event"
	"dure/runtime/event/journal"
)

const (
	lockSQL = "select position from dure_event.head for update"
	lastSQL = `select s, (select max(sequence) from dure_event.events where stream = s collate "C")
		from unnest($1::text[]) s`
	knownSQL  = "select id from dure_event.events where id = any($1::uuid[])"
	insertSQL = `insert into dure_event.events (position, stream, sequence, id, type, version, time, payload, sum)
		select * from unnest($1::bigint[], $2::text[], $3::bigint[], $4::uuid[], $5::text[], $6::int[], $7::bigint[], $8::bytea[], $9::bigint[])`
	headSQL   = "update dure_event.head set position = $1"
	notifySQL = "select pg_notify('dure_event', '')"
)

// Commit implements journal.Backend.
func (s *store) Commit(g *journal.Group) error {
	ctx, cancel := context.WithTimeout(context.Background(), commitLimit)
	defer cancel()
	err := s.commit(ctx, g)
	if err != nil && s.broken(ctx, err) {
		if err = s.again(ctx, g); err != nil {
			s.broken(ctx, err)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, explain(err))
	}
	return nil
}

// broken reports whether the connection is of no use any more, and lets it go. What
// the server itself says of a statement leaves it in order.
func (s *store) broken(ctx context.Context, err error) bool {
	var server *pgconn.PgError
	if errors.As(err, &server) && s.writer != nil && !s.writer.IsClosed() {
		return false
	}
	if s.writer != nil {
		_ = s.writer.Close(ctx)
		s.writer = nil
	}
	return true
}

// again does a group once more after the connection broke. Whether the first try
// was committed is settled when its lock is free.
func (s *store) again(ctx context.Context, g *journal.Group) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	first, ok := firstWritten(g)
	if !ok {
		return s.commit(ctx, g)
	}
	there := false
	err := pgx.BeginFunc(ctx, s.writer, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockSQL); err != nil {
			return err
		}
		return tx.QueryRow(ctx, "select exists (select from dure_event.events where id = $1)", [16]byte(first)).Scan(&there)
	})
	if err != nil || there {
		return err // what was decided at the first try stands
	}
	return s.commit(ctx, g)
}

// firstWritten is an event of the group that a try before has written, if one got
// so far.
func firstWritten(g *journal.Group) (event.ID, bool) {
	for _, w := range g.Writes {
		if w.Last > 0 && w.Err == nil {
			return w.Events[0].ID, true
		}
	}
	return event.ID{}, false
}

// commit is one try: two round trips, the lock and what is to be known, then the
// events and the commit.
func (s *store) commit(ctx context.Context, g *journal.Group) (err error) {
	if err := s.connect(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil && !s.writer.IsClosed() {
			// The transaction is open or failed; either way it ends here.
			if _, undo := s.writer.Exec(ctx, "rollback"); undo != nil {
				err = errors.Join(err, s.writer.Close(ctx))
			}
		}
	}()
	head, last, known, err := s.begin(ctx, g)
	if err != nil {
		return err
	}
	events := g.Assign(head, last, known)
	if len(events) == 0 {
		_, err := s.writer.Exec(ctx, "rollback")
		return err
	}
	var b pgx.Batch
	b.Queue(insertSQL, arrays(events)...)
	b.Queue(headSQL, int64(g.Last))
	b.Queue(notifySQL)
	b.Queue("commit")
	return s.writer.SendBatch(ctx, &b).Close()
}

// begin takes the lock and looks up what Assign wants to know. Each statement has a
// snapshot of its own, so that those behind the lock see what was committed while
// it was waited for.
func (s *store) begin(ctx context.Context, g *journal.Group) (head event.Position, last map[string]event.Sequence,
	known map[event.ID]bool, err error) {
	last, known = make(map[string]event.Sequence), make(map[event.ID]bool)
	var b pgx.Batch
	b.Queue("begin isolation level read committed")
	b.Queue(lockSQL).QueryRow(func(row pgx.Row) error {
		var n int64
		err := row.Scan(&n)
		head = event.Position(n)
		return err
	})
	b.Queue(lastSQL, g.Streams()).Query(func(rows pgx.Rows) error {
		var name string
		var n *int64
		_, err := pgx.ForEachRow(rows, []any{&name, &n}, func() error {
			if n != nil {
				last[name] = event.Sequence(*n)
			}
			return nil
		})
		return err
	})
	if ids := g.Named(); len(ids) > 0 {
		b.Queue(knownSQL, uuids(ids)).Query(func(rows pgx.Rows) error {
			var id [16]byte
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
				known[event.ID(id)] = true
				return nil
			})
			return err
		})
	}
	return head, last, known, s.writer.SendBatch(ctx, &b).Close()
}

func uuids(ids []event.ID) [][16]byte {
	out := make([][16]byte, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}

// arrays is a column each.
func arrays(events []event.Event) []any {
	n := len(events)
	position, sequence, at, sum := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	stream, typ := make([]string, n), make([]string, n)
	id, version, payload := make([][16]byte, n), make([]int32, n), make([][]byte, n)
	for i, e := range events {
		position[i], sequence[i], at[i] = int64(e.Position), int64(e.Sequence), e.Time.UnixNano()
		stream[i], typ[i] = e.Stream, e.Type
		id[i], version[i], payload[i], sum[i] = e.ID, int32(e.Version), e.Payload, int64(e.Sum())
	}
	return []any{position, stream, sequence, id, typ, version, at, payload, sum}
}
