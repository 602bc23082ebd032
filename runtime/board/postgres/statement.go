package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"dure/runtime/board"
	"dure/runtime/board/desk"
)

const (
	preparing = "prepare dure_statement as "
	// A statement that takes longer starts again among the slow ones.
	slowAfter = 50 * time.Millisecond
	// One that writes does so after this time even if it has to wait for its turn there.
	slowLast = 5 * slowAfter
	// How often a statement that met another is run.
	tries = 5
)

// verbs are how a statement of an agent may begin, and whether it is tried as one
// that writes first. The server's grammar decides; this gives the others a better
// answer than a mistake of syntax.
var verbs = map[string]bool{
	"": false, "select": false, "values": false, "table": false, "with": false,
	"insert": true, "update": true, "delete": true, "merge": true,
}

// Run implements desk.Backend.
func (s *store) Run(ctx context.Context, a board.Agent, st board.Statement) (desk.Done, error) {
	first := board.First(st.SQL)
	writes, ok := verbs[first]
	switch {
	case !ok:
		return desk.Done{}, board.Refuse(board.ErrDenied, nil, "%q does not begin a statement for agents; they select, insert, update and delete rows", first)
	case board.Blank(st.SQL):
		return desk.Done{}, board.Refuse(board.ErrStatement, nil, "there is no statement in it")
	}
	call := s.newCall(ctx, a)
	if !writes {
		done, err := s.inLanes(call, func(sess *session) (desk.Done, error) { return s.read(call, sess, st) })
		if !errors.Is(err, errWrites) {
			return done, err
		}
	}
	j := s.newJob(call, st.ID, func(rows func(*pgconn.ResultReader) error) []step { return execute(st, rows) })
	if touched, certain := named(st.SQL, s.shapes()); certain {
		j.uses = uses(a.Name, touched)
	}
	done, err := s.write(j)
	if err != nil && st.ID != (board.ID{}) && s.isLogged(ctx, st.ID) {
		err = board.Refuse(board.ErrDuplicate, nil, "a write with the ID %v is in the log", st.ID)
	}
	return done, err
}

// A call is one statement of one agent on its way.
type call struct {
	ctx    context.Context
	agent  board.Agent
	at     time.Time // its time
	until  time.Time // when its time is over
	moment time.Duration
	move   func(ran time.Duration) bool // whether it goes on elsewhere
}

func (s *store) newCall(ctx context.Context, a board.Agent) *call {
	now := s.cfg.Now()
	return &call{ctx: ctx, agent: a, at: now, until: now.Add(s.cfg.Limits.Time)}
}

// inLanes reads on a fast session, and if that takes long, on a slow one. The time that
// it waits for a session is not its own.
func (s *store) inLanes(c *call, run func(*session) (desk.Done, error)) (desk.Done, error) {
	c.moment, c.move = slowAfter, func(time.Duration) bool { return true }
	done, err := s.inLane(c, s.readers, run)
	if !errors.Is(err, errSlow) {
		return done, err
	}
	return s.slowly(c, s.slow, run)
}

// slowly runs a statement among the slow ones.
func (s *store) slowly(c *call, l *lane, run func(*session) (desk.Done, error)) (desk.Done, error) {
	if !s.markSlow(c.agent.Name, l) {
		return desk.Done{}, board.Refuse(board.ErrBusy, nil, "another slow statement of yours runs already")
	}
	defer s.unmarkSlow(c.agent.Name, l)
	c.moment = 0
	return s.inLane(c, l, run)
}

// write has a job done: in a group, or if it takes long, by itself.
func (s *store) write(j *job) (desk.Done, error) {
	done, err := s.writer.submit(j)
	if !errors.Is(err, errSlow) {
		return done, err
	}
	defer s.writer.letGo()
	return s.slowly(j.call, s.slowWriters, func(sess *session) (desk.Done, error) {
		err := s.single(j, sess)
		if err != nil {
			return desk.Done{}, err
		}
		return j.done, nil
	})
}

// inLane runs a statement on a session of a lane, and again if it lost against
// another, or if the session turned out to be one that a server had which is no more.
// Neither has left anything.
func (s *store) inLane(c *call, l *lane, run func(*session) (desk.Done, error)) (desk.Done, error) {
	for try := 0; ; try++ {
		before := s.cfg.Now()
		sess, err := l.take(c.ctx)
		c.until = c.until.Add(s.cfg.Now().Sub(before))
		if err != nil {
			return desk.Done{}, err
		}
		done, err := run(sess)
		broken := sess.conn.IsClosed()
		l.put(sess)
		switch {
		case errors.Is(err, errCollide) && try == tries:
			return desk.Done{}, board.Refuse(board.ErrBusy, nil, "the statement met others %d times and was not done", tries)
		case errors.Is(err, errCollide):
		case errors.Is(err, errBroken) && !errors.Is(err, board.ErrUnknown) && broken && try <= cap(l.free):
		default:
			return done, err
		}
	}
}

// speaker is the setting that tells the database who speaks.
func (s *store) speaker(c *call, claim bool) step {
	v := struct {
		Agent string     `json:"agent"`
		Crew  *string    `json:"crew"`
		Role  board.Role `json:"role"`
		At    string     `json:"at"`
		Limit int64      `json:"limit"`
		Claim bool       `json:"claim"`
	}{c.agent.Name, nil, c.agent.Role, c.time(), 2*s.cfg.Limits.Write + 1<<20, claim}
	if c.agent.Crew != "" {
		v.Crew = &c.agent.Crew
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and a number
	}
	return step{sql: "set local dure.speaker = " + literal(string(data))}
}

func (c *call) time() string { return c.at.UTC().Format(board.TimeFormat) }

// execute is the steps of an agent's statement; rows takes its result.
func execute(st board.Statement, rows func(*pgconn.ResultReader) error) []step {
	args := make([]string, len(st.Args))
	for i, a := range st.Args {
		if b, ok := a.(bool); ok { // a truth value and a number alike
			a = 0
			if b {
				a = 1
			}
		}
		args[i] = literalOf(a)
	}
	sql := "execute dure_statement"
	if len(args) > 0 {
		sql += "(" + strings.Join(args, ", ") + ")"
	}
	return []step{{sql: preparing + st.SQL}, {sql: sql, rows: rows}}
}

// begin watches over a session while a statement of a call runs on it.
func (s *store) begin(c *call, sess *session) *watch {
	sess.clean = false
	w := &watch{session: sess, ctx: c.ctx, until: c.until, moment: c.moment, move: c.move}
	s.over.begin(w)
	return w
}

// read runs a statement that only reads, in one exchange. One that does not is
// errWrites.
func (s *store) read(c *call, sess *session, st board.Statement) (desk.Done, error) {
	tables := s.shapes()
	w := s.begin(c, sess)
	r := result{limits: s.cfg.Limits, stop: func() { w.stop(stopped) }}
	steps := append([]step{{sql: "begin read only"}, s.speaker(c, false)}, execute(st, r.read)...)
	touched, certain := named(st.SQL, tables)
	if !certain {
		steps = append(steps, touchedStep(touched))
	}
	errs := sess.exchange(steps, []step{{sql: "rollback"}}, back)
	why := w.end()
	sess.clean = why == none && errs[1] == nil && errs[2] == nil
	if err := s.outcome(c, why, r.err, errs[0], slices.Sorted(maps.Keys(touched))); err != nil {
		return desk.Done{}, err
	}
	return desk.Done{Result: r.Result, Uses: uses(c.agent.Name, touched)}, nil
}

// outcome is what became of a statement: what broke it off, what the gateway found,
// what the server said.
func (s *store) outcome(c *call, why cause, mine, server error, tables []string) error {
	switch {
	case mine != nil:
		return mine
	case why != none:
		// It may have ended by itself at the last moment; its time was over then too.
		return s.why(why, c.ctx, tables)
	case server != nil:
		return s.refuse(server, tables)
	}
	return nil
}

// touchedStep asks which tables the transaction has locked; true: to write.
func touchedStep(into map[string]bool) step {
	return step{sql: "select name, mode from dure_board.touched()", rows: func(r *pgconn.ResultReader) error {
		for r.NextRow() {
			v := r.Values()
			name := string(v[0])
			into[name] = into[name] || string(v[1]) == "RowExclusiveLock"
		}
		return nil
	}}
}

// uses is what a statement counts as. A statement that writes a table reads it too
// to find its rows; that is the write.
func uses(agent string, touched map[string]bool) []board.Use {
	var all []board.Use
	for _, t := range slices.Sorted(maps.Keys(touched)) {
		kind := board.Read
		if touched[t] {
			kind = board.Write
		}
		all = append(all, board.Use{Agent: agent, Table: t, Kind: kind})
	}
	return all
}

// first is the capture's refusal, which says most, or the other.
func first(captured, err error) error {
	if captured != nil {
		return captured
	}
	return err
}

// isLogged reports whether an event is in the log.
func (s *store) isLogged(ctx context.Context, id board.ID) bool {
	var there bool
	err := s.owner.QueryRow(ctx, "select exists (select from dure_event.events where id = $1)", [16]byte(id)).Scan(&there)
	return err == nil && there
}
