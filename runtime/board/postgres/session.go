package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	dialLimit = 10 * time.Second
	// room is what messages of the server may have beyond what they carry.
	room = 64 << 10
)

// errBroken: the connection is of no use any more.
var errBroken = errors.New("the connection to the database broke")

// A session is a connection that statements run on, one at a time.
type session struct {
	conn  *pgconn.PgConn
	pid   int
	seen  bool                 // its process is on this machine
	sink  func(*pgconn.Notice) // what the triggers tell; nil: nobody listens
	clean bool                 // nothing was run since its settings were set back
}

// dial makes a session. A message larger than most breaks it.
func dial(ctx context.Context, cfg *pgconn.Config, most int) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	s := &session{clean: true}
	c := cfg.Copy()
	c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if s.sink != nil {
			s.sink(n)
		}
	}
	conn, err := pgconn.ConnectConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	s.conn, s.pid = conn, int(conn.PID())
	conn.Frontend().SetMaxBodyLen(most + room)
	// The title of a backend names its role, so that another process of the same
	// number, of another machine, is not taken for it.
	title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.pid))
	s.seen = err == nil && strings.HasPrefix(string(title), "postgres: ") && strings.Contains(string(title), c.User)
	return s, nil
}

func (s *session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx) // the server ends it in any case
}

// A step is one statement of an exchange.
type step struct {
	sql    string
	values [][]byte
	oids   []uint32
	binary []int16
	rows   func(*pgconn.ResultReader) error // nil: the result is of no interest
}

// Types of arguments and results.
const (
	oidBool    uint32 = 16
	oidBytes   uint32 = 17
	oidInt8    uint32 = 20
	oidInt2    uint32 = 21
	oidInt4    uint32 = 23
	oidText    uint32 = 25
	oidJSON    uint32 = 114
	oidFloat4  uint32 = 700
	oidFloat8  uint32 = 701
	oidNumeric uint32 = 1700
	oidUUID    uint32 = 2950

	oidBytesArray uint32 = 1001
	oidUUIDs      uint32 = 2951
)

// with adds an argument to a step.
func (s step) with(oid uint32, value []byte) step {
	format := int16(0)
	switch oid {
	case oidBytes, oidUUID, oidBytesArray, oidUUIDs:
		format = 1
	}
	s.values, s.oids, s.binary = append(s.values, value), append(s.oids, oid), append(s.binary, format)
	return s
}

// array is values of a type in the binary form of an array.
func array(oid uint32, values [][]byte) []byte {
	const dimensions, lower = 1, 1
	var out []byte
	for _, n := range []uint32{dimensions, 0, oid, uint32(len(values)), lower} {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	for _, v := range values {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(v))), v...)
	}
	return out
}

// exchange sends segments of steps in one go. A step that fails ends its segment; the
// next one is run all the same. It returns what each segment failed with.
func (s *session) exchange(segments ...[]step) []error {
	errs := make([]error, len(segments))
	p := s.conn.StartPipeline(context.Background())
	for _, seg := range segments {
		for _, st := range seg {
			p.SendQueryParams(st.sql, st.values, st.oids, st.binary, nil)
		}
		p.SendPipelineSync()
	}
	err := p.Flush()
	for i := range segments {
		if err == nil {
			errs[i], err = segment(p, segments[i])
		}
		if err != nil {
			errs[i] = fmt.Errorf("%w: %w", errBroken, err)
		}
	}
	if e := p.Close(); e != nil && err == nil {
		errs[len(errs)-1] = errors.Join(errs[len(errs)-1], fmt.Errorf("%w: %w", errBroken, e))
	}
	return errs
}

// segment reads the results of a segment: what it failed with, and what the
// connection did.
func segment(p *pgconn.Pipeline, steps []step) (failed, broken error) {
	for i := 0; ; i++ {
		res, err := p.GetResults()
		if err != nil {
			if !fromServer(err) {
				return nil, err
			}
			failed = errors.Join(failed, err)
			continue
		}
		switch r := res.(type) {
		case *pgconn.PipelineSync:
			return failed, nil
		case *pgconn.ResultReader:
			var mine error
			if steps[i].rows != nil {
				mine = steps[i].rows(r)
			}
			if _, err := r.Close(); err != nil {
				if !fromServer(err) {
					return mine, err
				}
				mine = errors.Join(mine, err)
			}
			failed = errors.Join(failed, mine)
		default:
			return failed, errors.New("an answer without its question")
		}
	}
}

// fromServer reports whether an error is what the server said of a statement, which
// leaves the connection in order.
func fromServer(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Severity != "FATAL" && pg.Severity != "PANIC"
}

// back sets a session back after a statement that did nothing unforeseen. It leaves
// the triggers' plans, which DISCARD ALL would not.
var back = []step{{sql: "deallocate all"}, {sql: "reset all"}}

// reset ends what is open and sets everything of the session back. It may be asked
// to after a cancel that comes late, and then is again.
func (s *session) reset() {
	for range 3 {
		errs := s.exchange([]step{{sql: "rollback"}}, []step{{sql: "discard all"}})
		if errs[0] == nil && errs[1] == nil {
			s.clean = true
			return
		}
		if s.conn.IsClosed() {
			return
		}
	}
	s.close()
}
