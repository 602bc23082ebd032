package load

import (
	"fmt"
	"math/rand/v2"

	"dure/runtime/board"
)

// An op is one call of a client.
type op struct {
	kind string // "read", "write", "claim" or "hostile"
	sql  string
	args []any
	name string // of a hostile one
}

// choose draws the next call of a client.
func (m Mix) choose(rng *rand.Rand, me string, n int) op {
	if rng.Float64() < m.Hostile && len(m.Attacks) > 0 {
		a := m.Attacks[rng.IntN(len(m.Attacks))]
		return op{kind: "hostile", sql: a.SQL, name: a.Name}
	}
	if rng.Float64()*(1+m.Reads) < 1 {
		return write(rng, me, n)
	}
	return read(rng)
}

// read is what agents look up: news, their tasks, what is known of a topic.
func read(rng *rand.Rand) op {
	o := op{kind: "read"}
	switch rng.IntN(6) {
	case 0:
		o.sql = "select id, agent, at, body from announce order by id desc limit 5"
	case 1:
		o.sql = "select id, title, state, priority from subtasks where holder = me() and state = 'claimed' and id > (select max(id) from subtasks) - 50"
	case 2:
		o.sql, o.args = "select id, agent, body from notes where topic = $1 order by id desc limit 10", []any{topic(rng)}
	case 3:
		o.sql, o.args = "select id, title, body, state, result from subtasks where id = $1", []any{int64(1 + rng.IntN(500))}
	case 4:
		o.sql = "select to_crew, to_agent, body from assign order by id desc limit 5"
	case 5:
		o.sql = fmt.Sprintf("select id, topic, substr(body, 1, 80) from notes where id > %d limit 10", rng.IntN(1000))
	}
	return o
}

// write says in everything who writes it, so that it can be checked.
func write(rng *rand.Rand, me string, n int) op {
	o := op{kind: "write"}
	body := fmt.Sprintf("by %s: finding %d, which is described here in a line or two as agents do when they have found something out", me, n)
	switch rng.IntN(10) {
	case 0:
		o.sql, o.args = "insert into announce (body) values ($1)", []any{body}
	case 1:
		o.sql, o.args = "insert into subtasks (title, priority) values ($1, $2)", []any{body, int64(rng.IntN(10))}
	case 2:
		o.sql, o.args = "update notes set body = $1 where id = (select max(id) from notes where agent = me() and topic = $2)", []any{body, topic(rng)}
	case 3:
		return op{kind: "claim"}
	case 4:
		o.sql, o.args = "update subtasks set state = 'done', result = $1 where holder = me() and id > (select max(id) from subtasks) - 50", []any{body}
	default:
		o.sql, o.args = "insert into notes (topic, body) values ($1, $2)", []any{topic(rng), body}
	}
	return o
}

func topic(rng *rand.Rand) string { return fmt.Sprint("topic ", rng.IntN(200)) }

// An Attack is a statement that must not succeed.
type Attack struct{ Name, SQL string }

// Common is attacks that both stores' SQL can say.
func Common() []Attack {
	return []Attack{
		{"foreign row", "update notes set body = 'x' where agent <> me()"},
		{"foreign row removed", "delete from notes where agent <> me() and id < 100"},
		{"forged sender", "insert into announce (agent, body) values ('lead', 'stop all work')"},
		{"own name changed", "update notes set agent = 'lead' where agent = me()"},
		{"announcement changed", "update announce set body = 'x'"},
		{"landed by a worker", "insert into landed (commit_id, author, summary) values ('c', 'me', 's')"},
		{"drop", "drop table notes"},
		{"create", "create table mine (a text)"},
		{"alter", "alter table notes add column mine text"},
		{"two statements", "select 1; delete from notes"},
		{"transaction", "begin"},
		{"vacuum", "vacuum"},
	}
}

// SQLite is attacks in its SQL.
func SQLite() []Attack {
	return append(Common(),
		Attack{"attach", "attach '/tmp/stolen.db' as x"},
		Attack{"pragma", "pragma writable_schema = on"},
		Attack{"schema", "select sql from sqlite_master"},
		Attack{"members", "update dure_members set role = 'lead'"},
		Attack{"extension", "select load_extension('x')"},
		Attack{"large text", "select printf('%1000000000d', 1)"},
		Attack{"endless rows", "with recursive r (n) as (select 1 union all select n + 1 from r) select n from r"},
		Attack{"endless", "with recursive r (n) as (select 1 union all select n + 1 from r) select count(*) from r"},
	)
}

// Postgres is attacks in its SQL.
func Postgres() []Attack {
	return append(Common(),
		Attack{"copy", "copy notes to '/tmp/stolen'"},
		Attack{"program", "copy notes from program 'id'"},
		Attack{"setting", "set statement_timeout = 0"},
		Attack{"setting by function", "select set_config('statement_timeout', '0', false)"},
		Attack{"role", "set role postgres"},
		Attack{"file", "select pg_read_file('/etc/passwd')"},
		Attack{"block", "do $$ begin perform 1; end $$"},
		Attack{"endless", "with recursive r (n) as (select 1 union all select n + 1 from r) select count(*) from r"},
	)
}

// EndlessWrite is an attack that holds up whoever writes, for as long as it may.
func EndlessWrite() Attack {
	return Attack{"endless write", "insert into notes (topic, body) with recursive r (n) as (select 1 union all select n + 1 from r) select 't', 'b' from r where n < 0"}
}

// agent is the n-th client.
func agent(n int) board.Agent {
	return board.Agent{Name: fmt.Sprintf("agent-%04d", n), Crew: fmt.Sprint("crew-", n%16), Role: board.Worker}
}
