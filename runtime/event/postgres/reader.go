package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"dure/runtime/event"
	"dure/runtime/event/journal"
)

// A page is cut by the server where it has enough bytes: the rows behind would be
// sent for nothing.
const (
	pageSQL = `select position, stream, sequence, id, type, version, time, payload, sum from (
		select *, sum(octet_length(payload)) over (order by position) - octet_length(payload) as before
		from (select * from dure_event.events where %s order by position limit $1) e) e
		where before < $2 order by position`
	allWhere    = "position between $3 and $4"
	streamWhere = `stream = $5 collate "C" and sequence between $3 and $4`
)

var (
	allSQL    = fmt.Sprintf(pageSQL, allWhere)
	streamSQL = fmt.Sprintf(pageSQL, streamWhere)
)

// Page implements journal.Backend.
func (s *store) Page(ctx context.Context, q journal.Query) ([]event.Event, error) {
	sql, args := allSQL, []any{journal.PageEvents, journal.PageBytes, number(q.From), number(q.To)}
	if q.Stream != "" {
		sql, args = streamSQL, append(args, q.Stream)
	}
	rows, err := s.readers.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	page, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return s.whole(page)
}

// whole are the events as they were written, up to the first that is not so.
func (s *store) whole(page []stored) (good []event.Event, err error) {
	for _, e := range page {
		if e.sum != nil && uint32(*e.sum) != e.Sum() {
			if len(good) == 0 {
				err = fmt.Errorf("%s: %w", s.name, e.Damaged())
			}
			break
		}
		good = append(good, e.Event)
	}
	return good, err
}

// number is n as the database counts: to 2^63-1, far beyond any event.
func number(n uint64) int64 { return int64(min(n, 1<<63-1)) }

// stored is an event with the checksum that lies beside it; nil: it is from before there
// were any.
type stored struct {
	event.Event
	sum *int64
}

func scan(row pgx.CollectableRow) (stored, error) {
	var e stored
	var position, sequence, at int64
	var id [16]byte
	err := row.Scan(&position, &e.Stream, &sequence, &id, &e.Type, &e.Version, &at, &e.Payload, &e.sum)
	e.Position, e.Sequence, e.ID = event.Position(position), event.Sequence(sequence), id
	e.Time = time.Unix(0, at).UTC()
	return e, err
}

// Head implements journal.Backend.
func (s *store) Head(ctx context.Context) (event.Position, error) {
	n, err := s.one(ctx, "select position from dure_event.head")
	return event.Position(n), err
}

// Last implements journal.Backend.
func (s *store) Last(ctx context.Context, stream string) (event.Sequence, error) {
	n, err := s.one(ctx, `select coalesce(max(sequence), 0) from dure_event.events where stream = $1 collate "C"`, stream)
	return event.Sequence(n), err
}

func (s *store) one(ctx context.Context, sql string, args ...any) (int64, error) {
	var n int64
	if err := s.readers.QueryRow(ctx, sql, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("%s: %w", s.name, err)
	}
	return n, nil
}

// Touched implements journal.Backend.
func (s *store) Touched(ctx context.Context, after, upto event.Position, limit int) ([]string, error) {
	rows, err := s.readers.Query(ctx, "select distinct stream from dure_event.events where position between $1 and $2 limit $3",
		int64(after)+1, int64(upto), limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return names, nil
}
