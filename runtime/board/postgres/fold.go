package postgres

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dure/runtime/board"
	"dure/runtime/event"
)

// Events that are applied in one transaction.
const foldEvents = 500

// catchUp makes the standard tables if they are missing, applies what the tables lack
// of the log, and returns where they are.
func (s *store) catchUp(ctx context.Context) (event.Sequence, error) {
	if err := s.standard(ctx); err != nil {
		return 0, err
	}
	at, err := s.applied(ctx, s.owner, "")
	if err != nil {
		return 0, err
	}
	last, err := s.cfg.Log.Last(ctx, board.Stream)
	switch {
	case err != nil:
		return 0, err
	case at > last:
		return 0, fmt.Errorf("%w: the tables are at %d, their log ends at %d", board.ErrDamaged, at, last)
	case at == last:
		return at, nil
	}
	var batch []event.Event
	for e, err := range s.cfg.Log.Read(ctx, board.Stream, at+1) {
		if err != nil {
			return 0, err
		}
		if batch = append(batch, e); len(batch) == foldEvents {
			if err := s.apply(ctx, batch); err != nil {
				return 0, err
			}
			at, batch = batch[len(batch)-1].Sequence, nil
		}
	}
	if len(batch) > 0 {
		if err := s.apply(ctx, batch); err != nil {
			return 0, err
		}
		at = batch[len(batch)-1].Sequence
	}
	return at, s.weigh(ctx)
}

func (s *store) applied(ctx context.Context, q interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}, lock string) (event.Sequence, error) {
	var n int64
	err := q.QueryRow(ctx, "select sequence from dure_board.applied"+lock).Scan(&n)
	return event.Sequence(n), err
}

// standard makes the five tables.
func (s *store) standard(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.owner, func(tx pgx.Tx) error {
		if _, err := s.applied(ctx, tx, " for update"); err != nil { // one process at a time
			return err
		}
		there, err := loadTables(ctx, tx)
		if err != nil || len(there) > 0 {
			return err
		}
		for _, t := range board.Standard() {
			if err := s.addTable(ctx, tx, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// A fold applies events in one transaction. Triggers do not fire: nobody speaks, and
// what the log says was judged when it was written.
type fold struct {
	*store
	tx     pgx.Tx
	tables map[string]*shape
	counts map[board.Use]int64
	last   map[string]int64 // ids
	sent   int64            // of the changes of a large write, in bytes
}

func (s *store) apply(ctx context.Context, events []event.Event) error {
	err := pgx.BeginFunc(ctx, s.owner, func(tx pgx.Tx) error {
		at, err := s.applied(ctx, tx, " for update")
		if err != nil {
			return err
		}
		if at+1 != events[0].Sequence {
			return fmt.Errorf("%w: another process applies the log; open the board again", board.ErrBusy)
		}
		if _, err := tx.Exec(ctx, "set local session_replication_role = replica"); err != nil {
			return err
		}
		f := &fold{store: s, tx: tx, counts: make(map[board.Use]int64), last: make(map[string]int64)}
		if f.tables, err = loadTables(ctx, tx); err != nil {
			return err
		}
		for _, e := range events {
			if err := f.event(ctx, e); err != nil {
				return fmt.Errorf("event %d: %w", e.Sequence, err)
			}
		}
		return f.end(ctx, events[len(events)-1].Sequence)
	})
	if err != nil {
		return fmt.Errorf("apply the log: %w", err)
	}
	return nil
}

func (f *fold) event(ctx context.Context, e event.Event) error {
	v, err := board.Registry().Decode(e)
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case board.Written:
		return f.written(ctx, e, v)
	case board.Created:
		f.counts[board.Use{Agent: v.Agent, Table: v.Table.Name, Kind: board.Write}]++
		f.tables[v.Table.Name] = newShape(v.Table)
		if err := f.addTable(ctx, f.tx, v.Table); err != nil {
			return err
		}
		return f.changed(ctx, e.Sequence, v.Table.Name)
	case board.Agent:
		_, err := f.tx.Exec(ctx, enterSQL, v.Name, v.Crew, string(v.Role))
		return err
	case board.Acknowledged:
		_, err := f.tx.Exec(ctx, "update dure_board.members set seen = $2 where name = $1", v.Agent, v.Upto)
		return err
	}
	return fmt.Errorf("%w: an event %s", board.ErrDamaged, e.Type)
}

func (f *fold) changed(ctx context.Context, seq event.Sequence, table string) error {
	_, err := f.tx.Exec(ctx, "update dure_board.tables set changed = $2 where name = $1", table, int64(seq))
	return err
}

func (f *fold) written(ctx context.Context, e event.Event, w board.Written) error {
	for _, u := range w.Uses {
		f.counts[u]++
		if u.Kind == board.Write {
			if err := f.changed(ctx, e.Sequence, u.Table); err != nil {
				return err
			}
		}
	}
	if w.Away != nil {
		return f.away(ctx, *w.Away)
	}
	var b pgx.Batch
	for _, ch := range w.Changes {
		if err := f.queue(&b, ch); err != nil {
			return err
		}
	}
	return f.tx.SendBatch(ctx, &b).Close()
}

// queue adds a change to what is sent.
func (f *fold) queue(b *pgx.Batch, ch board.Change) error {
	if f.tables[ch.Table] == nil {
		return fmt.Errorf("%w: a change of table %q, which is not there", board.ErrDamaged, ch.Table)
	}
	var names, places, set []string
	args := []any{ch.ID}
	for _, c := range f.tables[ch.Table].cols[1:] {
		v, ok := ch.Row[c.Name]
		if !ok && ch.Op != board.Insert {
			continue
		}
		args = append(args, v.V)
		place := fmt.Sprintf("$%d", len(args))
		names, places, set = append(names, c.Name), append(places, place), append(set, c.Name+" = "+place)
	}
	var sql string
	switch ch.Op {
	case board.Insert: // all columns: the log has no defaults
		sql = fmt.Sprintf("insert into board.%s (id, %s) values ($1, %s)", ch.Table, strings.Join(names, ", "), strings.Join(places, ", "))
		f.last[ch.Table] = max(f.last[ch.Table], ch.ID)
	case board.Update:
		sql = fmt.Sprintf("update board.%s set %s where id = $1", ch.Table, strings.Join(set, ", "))
	case board.Delete:
		sql = fmt.Sprintf("delete from board.%s where id = $1", ch.Table)
	default:
		return fmt.Errorf("%w: a change %q", board.ErrDamaged, ch.Op)
	}
	b.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != 1 {
			return fmt.Errorf("%w: %s of row %d of %s met %d rows", board.ErrDamaged, ch.Op, ch.ID, ch.Table, tag.RowsAffected())
		}
		return nil
	})
	return nil
}

// away applies the changes of a large write, after all of it was found to be what its
// event says.
func (f *fold) away(ctx context.Context, a board.Away) error {
	file, err := os.CreateTemp("", "dure-changes-")
	if err != nil {
		return err
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil {
		return err
	}
	sum := sha256.New()
	if err := f.pieces(ctx, a.Name, io.MultiWriter(file, sum)); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != a.SHA256 {
		return fmt.Errorf("%w: changes %s are not what was written", board.ErrDamaged, a.Name)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	dec := json.NewDecoder(bufio.NewReaderSize(file, 1<<18))
	var b pgx.Batch
	for range a.Lines {
		var ch board.Change
		if err := dec.Decode(&ch); err != nil {
			return fmt.Errorf("%w: changes %s: %w", board.ErrDamaged, a.Name, err)
		}
		if err := f.queue(&b, ch); err != nil {
			return err
		}
		if dec.InputOffset()-f.sent > piece { // a piece's worth at once
			if err := f.send(ctx, &b, dec.InputOffset()); err != nil {
				return err
			}
			b = pgx.Batch{}
		}
	}
	return f.send(ctx, &b, 0)
}

func (f *fold) send(ctx context.Context, b *pgx.Batch, offset int64) error {
	f.sent = offset
	return f.tx.SendBatch(ctx, b).Close()
}

func (f *fold) pieces(ctx context.Context, name string, to io.Writer) error {
	for i := 0; ; i++ {
		var data []byte
		err := f.tx.QueryRow(ctx, "select data from dure_board.away where name = $1 and piece = $2", name, i).Scan(&data)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil {
			_, err = to.Write(data)
		}
		if err != nil {
			return err
		}
	}
}

// end writes what was summed up.
func (f *fold) end(ctx context.Context, at event.Sequence) error {
	var b pgx.Batch
	for u, n := range f.counts {
		b.Queue(`insert into dure_board.uses as x values ($1, $2, $3, $4) on conflict (agent, name, kind) do update set n = x.n + excluded.n`,
			u.Agent, u.Table, string(u.Kind), n)
	}
	for t, id := range f.last {
		b.Queue(fmt.Sprintf("select setval('dure_board.%[1]s_id', greatest($1, (select last_value from dure_board.%[1]s_id)))", t), id)
	}
	b.Queue("update dure_board.applied set sequence = $1", int64(at))
	return f.tx.SendBatch(ctx, &b).Close()
}
