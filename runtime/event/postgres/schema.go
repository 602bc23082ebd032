package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"dure/runtime/event"
)

// migrations lead from nothing to the schema of today, one version each. One that
// was released is never changed.
var migrations = []string{`
create schema dure_event;
create table dure_event.version (
  version int not null
);
insert into dure_event.version values (0);
create table dure_event.head (
  position bigint not null
);
insert into dure_event.head values (0);
create table dure_event.events (
  position bigint primary key,
  stream   text collate "C" not null,
  sequence bigint not null,
  id       uuid   not null,
  type     text   not null,
  version  int    not null,
  time     bigint not null, -- nanoseconds since 1970
  payload  bytea  not null
);
create unique index events_stream on dure_event.events (stream, sequence);
create unique index events_id on dure_event.events (id);
`, `
alter table dure_event.events add column sum bigint; -- event.Sum; null: from before there were any
`}

// migrating is the lock of who looks at the schema and changes it ("dure").
const migrating = 0x64757265

// migrate brings the schema to that of today, or refuses it.
func migrate(ctx context.Context, c *pgx.Conn, name string, steps []string) error {
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", migrating); err != nil {
			return err
		}
		version, err := identify(ctx, tx)
		if err != nil {
			return err
		}
		if version > len(steps) {
			return &event.NewerError{Log: name, Found: version, Known: len(steps)}
		}
		if version == len(steps) {
			return nil
		}
		for i, step := range steps[version:] {
			if _, err := tx.Exec(ctx, step); err != nil {
				return fmt.Errorf("schema: to version %d: %w", version+i+1, err)
			}
		}
		if _, err := tx.Exec(ctx, "update dure_event.version set version = $1", len(steps)); err != nil {
			return fmt.Errorf("schema: %w", err)
		}
		return nil
	})
}

// identify is the version of the schema that is there, 0 if there is none.
func identify(ctx context.Context, tx pgx.Tx) (int, error) {
	var schema, table bool
	err := tx.QueryRow(ctx, `select exists (select from pg_namespace where nspname = 'dure_event'),
		to_regclass('dure_event.version') is not null`).Scan(&schema, &table)
	if err != nil || !schema {
		return 0, err
	}
	if !table {
		return 0, fmt.Errorf("%w: the schema dure_event is something else; use another database", event.ErrForeign)
	}
	var version int
	err = tx.QueryRow(ctx, "select version from dure_event.version").Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && version < 1 {
		return 0, fmt.Errorf("%w: dure_event.version is not filled; use another database", event.ErrForeign)
	}
	return version, err
}
