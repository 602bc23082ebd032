package sqlite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/board"
)

// plan is what a statement is going to do, as the authorizer was asked.
type plan struct {
	reads  map[string]bool
	writes map[string]bool
	insert string // the table it inserts into
	denied string // why it is not allowed
}

// tables are all that it names.
func (p *plan) tables() []string {
	all := maps.Clone(p.reads)
	maps.Copy(all, p.writes)
	return slices.Sorted(maps.Keys(all))
}

// uses is what it counts as. A statement that writes a table reads it too to find
// its rows; that is the write.
func (p *plan) uses(agent string) []board.Use {
	var uses []board.Use
	for _, t := range p.tables() {
		kind := board.Read
		if p.writes[t] {
			kind = board.Write
		}
		uses = append(uses, board.Use{Agent: agent, Table: t, Kind: kind})
	}
	return uses
}

// A guard is a connection's authorizer. While plan is nil the board's own statements
// run, and nothing is asked.
type guard struct {
	tables map[string]board.Table
	plan   *plan
}

func (g *guard) deny(format string, args ...any) sqlite3.AuthorizerReturnCode {
	if g.plan.denied == "" {
		g.plan.denied = fmt.Sprintf(format, args...)
	}
	return sqlite3.AUTH_DENY
}

// authorize lets pass what is on the list.
func (g *guard) authorize(action sqlite3.AuthorizerActionCode, name, sub, schema, inner string) sqlite3.AuthorizerReturnCode {
	if g.plan == nil {
		return sqlite3.AUTH_OK
	}
	switch action {
	case sqlite3.AUTH_SELECT, sqlite3.AUTH_RECURSIVE:
		return sqlite3.AUTH_OK
	case sqlite3.AUTH_FUNCTION:
		if !functions[strings.ToLower(sub)] {
			return g.deny("there is no function %s here", sub)
		}
		return sqlite3.AUTH_OK
	case sqlite3.AUTH_READ:
		return g.read(name, sub)
	case sqlite3.AUTH_INSERT, sqlite3.AUTH_UPDATE, sqlite3.AUTH_DELETE:
		return g.write(action, name, sub, inner)
	}
	return g.deny("%s is not for agents; they select, insert, update and delete rows", verb(action))
}

func (g *guard) read(name, column string) sqlite3.AuthorizerReturnCode {
	low := strings.ToLower(name)
	switch _, ok := g.tables[low]; {
	case ok:
		g.plan.reads[low] = true
		return sqlite3.AUTH_OK
	case low == "json_each" || low == "json_tree":
		return sqlite3.AUTH_OK
	case column == "" && !hidden(low):
		// Of a table of which no column is used the name comes as it is written, that
		// of the statement's own WITH too. There are no other tables than the hidden.
		return sqlite3.AUTH_OK
	}
	return g.deny("there is no table %s for agents", name)
}

// hidden reports whether a name may be that of a table that agents do not see.
func hidden(name string) bool {
	for _, begin := range []string{"sqlite_", "dure_", "pragma_", "fts", "rtree", "geopoly", "dbstat", "bytecode", "tables_used"} {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	return false
}

func (g *guard) write(action sqlite3.AuthorizerActionCode, name, column, inner string) sqlite3.AuthorizerReturnCode {
	t, ok := g.tables[name]
	if !ok {
		return g.deny("there is no table %s for agents", name)
	}
	g.plan.writes[name] = true
	switch {
	case action == sqlite3.AUTH_INSERT:
		g.plan.insert = name
	case t.Fixed:
		return g.deny("%s: its rows stay as they are; insert another", name)
	// The schema's own trigger lets a holder go. An id by another name comes as ROWID.
	case action == sqlite3.AUTH_UPDATE && (board.Stamped(column) || column == "ROWID") && (inner == "" || inner != letGo(t)):
		return g.deny("%s: column %s is filled and stays", name, column)
	}
	return sqlite3.AUTH_OK
}

func verb(a sqlite3.AuthorizerActionCode) string {
	switch a {
	case sqlite3.AUTH_PRAGMA:
		return "pragma"
	case sqlite3.AUTH_ATTACH, sqlite3.AUTH_DETACH:
		return "attaching databases"
	case sqlite3.AUTH_TRANSACTION, sqlite3.AUTH_SAVEPOINT:
		return "a transaction"
	case sqlite3.AUTH_ANALYZE, sqlite3.AUTH_REINDEX:
		return "maintenance"
	}
	return "changing the schema"
}

// functions is what agents may call. What is missing reads or writes files, loads
// code, tells of other agents (changes, last_insert_rowid) or of the library, or can
// take very long within one step of SQLite's machine.
var functions = func() map[string]bool {
	all := make(map[string]bool)
	for name := range strings.FieldsSeq(`
		me my_crew utc
		abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat concat_ws cos cosh count
		cume_dist current_date current_time current_timestamp date datetime degrees dense_rank exp first_value floor
		format glob group_concat hex if ifnull iif instr julianday lag last_value lead length like likelihood likely
		ln log log10 log2 lower ltrim max median min mod nth_value ntile nullif octet_length percent_rank pi pow power printf
		quote radians random rank replace round row_number rtrim sign sin sinh sqrt string_agg strftime substr
		substring sum tan tanh time timediff total trim trunc typeof unicode unixepoch unlikely upper
		json json_array json_array_length json_error_position json_extract json_group_array json_group_object json_insert
		json_object json_quote json_remove json_replace json_set json_type json_valid -> ->>`) {
		all[name] = true
	}
	return all
}()
