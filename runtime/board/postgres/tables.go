package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"dure/runtime/board"
)

// A shape is a table with all its columns.
type shape struct {
	board.Table
	cols []board.Column
}

func newShape(t board.Table) *shape { return &shape{t, t.All()} }

// column types of the database. Texts sort by their bytes, as in the other store.
var columnTypes = map[board.Type]string{
	board.Text:    `text collate "C"`,
	board.Integer: "bigint",
	board.Real:    "double precision",
}

// literal writes a text as SQL.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// literalOf writes a value as SQL. In quotes it takes the type of its place.
func literalOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return literal(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return literal(fmt.Sprint(v))
}

// column is one of CREATE TABLE.
func column(c board.Column) string {
	def := c.Name + " " + columnTypes[c.Type]
	if c.Required {
		def += " not null"
	}
	switch {
	case c.Name == board.ColAgent || c.Name == board.ColCrew:
		def += " default ''" // which dure_board.guard takes for what nobody named
	case c.Default != nil:
		def += " default " + literalOf(c.Default)
	}
	if len(c.Values) > 0 {
		values := make([]string, len(c.Values))
		for i, v := range c.Values {
			values[i] = literal(v)
		}
		def += fmt.Sprintf(" check (%s in (%s))", c.Name, strings.Join(values, ", "))
	}
	if c.Earlier {
		def += fmt.Sprintf(" check (%s < id)", c.Name)
	}
	if c.Type == board.Real {
		def += fmt.Sprintf(" check (%s not in ('NaN', 'Infinity', '-Infinity'))", c.Name)
	}
	return def
}

// tableSQL is all statements that make a table with its guards.
func tableSQL(t board.Table) []string {
	var defs, open []string
	for _, c := range t.All() {
		defs = append(defs, column(c))
		if !board.Stamped(c.Name) {
			open = append(open, c.Name)
		}
	}
	cols, name := strings.Join(open, ", "), "board."+t.Name
	// An agent may say its own name and crew in a new row.
	insert := strings.Join(append([]string{board.ColAgent, board.ColCrew}, open...), ", ")
	guard := fmt.Sprintf("('dure_board.%s_id', %t, %t, %s)", t.Name, t.Lead, t.Fixed, writers(t))
	second := "foreign_row"
	if t.Holder {
		second = "held"
	}
	sql := []string{
		fmt.Sprintf("create table %s (%s, primary key (id))", name, strings.Join(defs, ", ")),
		fmt.Sprintf("create sequence dure_board.%s_id", t.Name),
		fmt.Sprintf("create trigger a_guard before insert or update or delete on %s for each row execute function dure_board.guard%s", name, guard),
		fmt.Sprintf("create trigger b_%s before %s on %s for each row execute function dure_board.%s%s", second, events(t), name, second, guard),
		fmt.Sprintf("create trigger c_count before insert or update on %s for each row execute function dure_board.count_bytes()", name),
		fmt.Sprintf("create trigger d_capture after insert or update or delete on %s for each row execute function dure_board.capture()", name),
		fmt.Sprintf("alter table %s enable row level security", name),
		fmt.Sprintf("create policy reads on %s for select using (true)", name),
		fmt.Sprintf("create policy inserts on %s for insert with check (dure_board.writes(agent, false, false))", name),
		fmt.Sprintf("create policy updates on %s for update using (true) with check (dure_board.writes(agent, %t, %t))", name, t.Lead, t.Holder),
		fmt.Sprintf("create policy deletes on %s for delete using (true)", name),
		fmt.Sprintf("grant select, insert (%s) on %s to AGENT", insert, name),
	}
	if !t.Fixed {
		sql = append(sql, fmt.Sprintf("grant delete, update (%s) on %s to AGENT", cols, name))
	}
	if len(t.Unique) > 0 {
		sql = append(sql, fmt.Sprintf("create unique index on %s (agent, %s)", name, strings.Join(t.Unique, ", ")))
	}
	for _, c := range t.Index {
		sql = append(sql, fmt.Sprintf("create index on %s (%s)", name, c))
	}
	if t.Holder {
		sql = append(sql, fmt.Sprintf("create index on %s (priority desc, id) where state = 'open'", name))
	}
	return sql
}

// events are what the second trigger looks at: a row with a holder also when it is
// new.
func events(t board.Table) string {
	if t.Holder {
		return "insert or update"
	}
	return "update"
}

// writers is who may insert, as an array of SQL.
func writers(t board.Table) string {
	roles := make([]string, len(t.Writers))
	for i, r := range t.Writers {
		roles[i] = string(r)
	}
	return literal("{" + strings.Join(roles, ",") + "}")
}

// addTable makes a table, as its owner.
func (s *store) addTable(ctx context.Context, tx pgx.Tx, t board.Table) error {
	data, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("table %s: %w", t.Name, err)
	}
	for _, sql := range append(append([]string{"set local role KEEPER"}, tableSQL(t)...), "reset role") {
		if _, err := tx.Exec(ctx, s.ground.words(sql)); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	if _, err := tx.Exec(ctx, "insert into dure_board.tables (name, description) values ($1, $2)", t.Name, data); err != nil {
		return fmt.Errorf("table %s: %w", t.Name, err)
	}
	return nil
}

// queryer is a connection or a transaction.
type queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// loadTables reads what tables there are.
func loadTables(ctx context.Context, q queryer) (map[string]*shape, error) {
	rows, err := q.Query(ctx, "select description from dure_board.tables")
	if err != nil {
		return nil, err
	}
	all := make(map[string]*shape)
	var data []byte
	_, err = pgx.ForEachRow(rows, []any{&data}, func() error {
		var t board.Table
		if err := json.Unmarshal(data, &t); err != nil {
			return err
		}
		all[t.Name] = newShape(t)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("tables: %w", err)
	}
	return all, nil
}
