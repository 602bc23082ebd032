package sqlite

import (
	"context"
	"time"

	"dure/runtime/board"
	"dure/runtime/board/desk"
	"dure/runtime/event"
)

// Create implements desk.Backend.
func (s *store) Create(ctx context.Context, a board.Agent, t board.Table) (desk.Done, error) {
	return s.submit(ctx, a, board.ID{}, true, func(w *writer, j *job) error {
		switch {
		case w.cap.tables[t.Name] != nil:
			return board.Refuse(board.ErrStatement, []string{t.Name}, "there is a table %s already", t.Name)
		case len(w.cap.tables)-len(board.Standard()) >= s.cfg.Limits.Tables:
			return board.Refuse(board.ErrQuota, nil, "there are %d added tables, no more may be", s.cfg.Limits.Tables)
		}
		if err := addTable(w.conn.Conn, t); err != nil {
			return w.conn.reason(err, nil)
		}
		j.result.Uses = []board.Use{{Agent: a.Name, Table: t.Name, Kind: board.Write}}
		j.touched = []string{t.Name}
		j.after = w.reloadTables
		return j.say(board.CreatedType.New(board.Created{Agent: a.Name, Table: t}))
	})
}

// say gives a job its event.
func (j *job) say(e event.Event, err error) error {
	if err != nil {
		return err
	}
	e.ID, e.Time = j.id, time.Time{}
	j.event = &e
	return nil
}

// Enter implements desk.Backend.
func (s *store) Enter(ctx context.Context, a board.Agent) error {
	_, err := s.submit(ctx, a, board.ID{}, false, func(w *writer, j *job) error {
		if m, ok := w.members[a.Name]; ok && m.Agent == a {
			return nil
		}
		if err := w.enter(a); err != nil {
			return explain(err)
		}
		return j.say(board.JoinedType.New(a))
	})
	return err
}

// enter makes a member, or changes one. A new one has seen what there is.
func (w *writer) enter(a board.Agent) error {
	m, ok := w.members[a.Name]
	if !ok {
		m.Seen = w.cap.tables[board.Announce].last
	}
	m.Agent = a
	return w.member(m)
}

func (w *writer) member(m board.Member) error {
	w.members[m.Name] = m
	return w.conn.own("insert into dure_members values (?, ?, ?, ?) on conflict do update set crew = excluded.crew, role = excluded.role, seen = excluded.seen",
		m.Name, m.Crew, string(m.Role), m.Seen)
}

// Acknowledge implements desk.Backend.
func (s *store) Acknowledge(ctx context.Context, a board.Agent, upto int64) error {
	_, err := s.submit(ctx, a, board.ID{}, false, func(w *writer, j *job) error {
		m := w.members[a.Name]
		if last := w.cap.tables[board.Announce].last; upto > last {
			return board.Refuse(board.ErrStatement, nil, "there is no announcement %d yet, the last is %d", upto, last)
		}
		if upto <= m.Seen {
			return nil
		}
		m.Seen = upto
		if err := w.member(m); err != nil {
			return explain(err)
		}
		return j.say(board.AcknowledgedType.New(board.Acknowledged{Agent: a.Name, Upto: upto}))
	})
	return err
}
