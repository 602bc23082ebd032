package postgres

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dure/runtime/board"
	"dure/runtime/event"
)

//go:embed schema.sql
var schema1 string

//go:embed schema2.sql
var schema2 string

// migrations lead from nothing to the schema of today, one version each. One that was
// released is never changed.
var migrations = []string{schema1, schema2}

const (
	// logVersion of dure_event, which append_event writes. The server cannot compute the
	// checksums: events of the tables have none in a database.
	logVersion = 2
	// setting is the lock of who looks at the schema and changes it ("dureb").
	setting = 0x6475726562
)

// ErrUnguarded: agents could do more in the database than they may.
var ErrUnguarded = errors.New("the database is not guarded against what agents may try")

// A ground is what a board stands on in its database.
type ground struct {
	database      string
	keeper, agent string // roles: owns the tables; runs agents' statements
	key           []byte // proves to the database that the gateway calls
}

// words puts names in the place of capital words.
func (g ground) words(sql string) string {
	return strings.NewReplacer("KEEPER", g.keeper, "AGENT", g.agent, "DATABASE", pgx.Identifier{g.database}.Sanitize()).Replace(sql)
}

// password is that of the agents' role.
func (g ground) password() string {
	sum := sha256.Sum256(append([]byte("dure agent "), g.key...))
	return hex.EncodeToString(sum[:])
}

// settle makes schemas and roles, or looks whether they are as they must be.
func settle(ctx context.Context, c *pgx.Conn) (ground, error) {
	var g ground
	err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(setting)); err != nil {
			return err
		}
		version, err := g.look(ctx, tx)
		if err == nil && version < len(migrations) {
			err = g.build(ctx, tx, version)
		}
		if err != nil {
			return err
		}
		return g.check(ctx, tx)
	})
	return g, err
}

// look finds out which version of the schema is there, 0 for none.
func (g *ground) look(ctx context.Context, tx pgx.Tx) (version int, err error) {
	var oid uint32
	var inner, outer, log, super bool
	err = tx.QueryRow(ctx, `select oid, datname, to_regclass('dure_board.version') is not null,
		exists (select from pg_namespace where nspname in ('board', 'dure_board', 'dure_sql')), to_regclass('dure_event.version') is not null,
		(select rolsuper from pg_roles where rolname = current_user)
		from pg_database where datname = current_database()`).Scan(&oid, &g.database, &inner, &outer, &log, &super)
	if err != nil {
		return 0, err
	}
	g.keeper, g.agent = fmt.Sprint("dure_keeper_", oid), fmt.Sprint("dure_agent_", oid)
	switch {
	case !super:
		return 0, fmt.Errorf("%w: that can only a superuser; connect as one", ErrUnguarded)
	case !log:
		return 0, fmt.Errorf("%w: the event log is not in this database; open both in one", board.ErrInvalid)
	case outer && !inner:
		return 0, fmt.Errorf("%w: a schema board, dure_board or dure_sql is something else; use another database", event.ErrForeign)
	}
	if err := tx.QueryRow(ctx, "select version from dure_event.version").Scan(&version); err != nil {
		return 0, err
	}
	if version != logVersion {
		return 0, &event.NewerError{Log: g.database, Found: version, Known: logVersion}
	}
	if !inner {
		return 0, nil
	}
	if err := tx.QueryRow(ctx, "select version from dure_board.version").Scan(&version); err != nil {
		return 0, err
	}
	if version > len(migrations) {
		return 0, &event.NewerError{Log: g.database, Found: version, Known: len(migrations)}
	}
	return version, nil
}

// build makes roles and schemas, or brings those of a version to that of today.
func (g *ground) build(ctx context.Context, tx pgx.Tx, version int) error {
	// A role outlives its database, and another may get its number.
	for _, role := range []string{g.keeper, g.agent} {
		var there bool
		if err := tx.QueryRow(ctx, "select exists (select from pg_roles where rolname = $1)", role).Scan(&there); err != nil {
			return err
		}
		if there {
			continue
		}
		if _, err := tx.Exec(ctx, "create role "+role+" nologin noinherit nosuperuser nocreatedb nocreaterole noreplication nobypassrls"); err != nil {
			return err
		}
	}
	sql := slices.Clone(migrations[version:])
	if version == 0 {
		sql = slices.Concat(migrations[:1], confine, migrations[1:])
	}
	for _, sql := range append(sql, fmt.Sprint("update dure_board.version set version = ", len(migrations))) {
		if _, err := tx.Exec(ctx, g.words(sql)); err != nil {
			return fmt.Errorf("schema: %w", err)
		}
	}
	for _, f := range []string{"revoke all on all routines in schema dure_board, dure_sql, board from public", "grant execute on all routines in schema board, dure_sql to AGENT",
		"grant usage on schema dure_board to AGENT"} {
		if _, err := tx.Exec(ctx, g.words(f)); err != nil {
			return fmt.Errorf("schema: %w", err)
		}
	}
	for _, f := range own {
		if _, err := tx.Exec(ctx, g.words("grant execute on function dure_board."+f+" to AGENT")); err != nil {
			return fmt.Errorf("schema: %w", err)
		}
	}
	return nil
}

// settings of the agents' role. An agent's statement cannot change any; those that
// only a superuser may set could not be changed even by SET.
var settings = []string{
	"search_path = dure_sql, pg_catalog, board", // functions of dure_sql stand before those they are named after
	"statement_timeout = '30s'",                 // of a session that does not say how long it may take
	"idle_in_transaction_session_timeout = '60s'",
	"temp_file_limit = '256MB'",
	"work_mem = '8MB'",
	"hash_mem_multiplier = 1",
	"temp_buffers = '800kB'",
	"max_parallel_workers_per_gather = 0",
	"jit = off",
	"from_collapse_limit = 8",
	"join_collapse_limit = 8",
	"geqo = on",
	"geqo_threshold = 10",
	"default_transaction_isolation = 'read committed'",
	"default_transaction_read_only = off",
	"row_security = on",
	"standard_conforming_strings = on",
	"client_min_messages = 'notice'",
	"log_min_messages = 'warning'",
	"lc_messages = 'C'",
	"timezone = 'UTC'",
	"datestyle = 'ISO'",
	"intervalstyle = 'postgres'",
	"bytea_output = 'hex'",
	"extra_float_digits = 1",
	"session_replication_role = 'origin'",
	"log_statement = 'none'",
}

// check makes the agents' role as it must be, and refuses what cannot be made so.
func (g *ground) check(ctx context.Context, tx pgx.Tx) error {
	if err := tx.QueryRow(ctx, "select key from dure_board.secret").Scan(&g.key); err != nil {
		return err
	}
	over, err := g.excess(ctx, tx)
	if err != nil {
		return err
	}
	alter := []string{"alter role AGENT login password '" + g.password() + "'"}
	for _, s := range settings {
		alter = append(alter, "alter role AGENT in database DATABASE set "+s)
	}
	if len(over) > 0 {
		alter = append(alter, confine...)
	}
	for _, sql := range alter {
		if _, err := tx.Exec(ctx, g.words(sql)); err != nil {
			return fmt.Errorf("guard: %w", err)
		}
	}
	if len(over) > 0 {
		over, err = g.excess(ctx, tx)
	}
	if err != nil || len(over) == 0 {
		return err
	}
	more := ""
	if len(over) > 5 {
		over, more = over[:5], fmt.Sprintf(" and %d more", len(over)-5)
	}
	return fmt.Errorf("%w: the role %s may %s%s; take it from the role, or from public", ErrUnguarded, g.agent, strings.Join(over, ", "), more)
}

func (g *ground) excess(ctx context.Context, tx pgx.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, excess, g.agent, own)
	if err != nil {
		return nil, err
	}
	over, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	return over, nil
}
