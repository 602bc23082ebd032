package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"dure/runtime/board"
	"dure/runtime/board/load"
	boardpostgres "dure/runtime/board/postgres"
	boardsqlite "dure/runtime/board/sqlite"
	"dure/runtime/event"
	eventpostgres "dure/runtime/event/postgres"
	eventsqlite "dure/runtime/event/sqlite"
)

// A boardStore is an open board with the log under it.
type boardStore struct {
	board   board.Board
	log     event.Log
	attacks []load.Attack // of the store's SQL
}

// openBoard opens a board and its log where --store says: "sqlite" in a folder that
// is given, "sqlite:FOLDER" in another, or a PostgreSQL database.
func openBoard(ctx context.Context, store, dir string, limits board.Limits) (*boardStore, error) {
	if folder, ok := strings.CutPrefix(store, "sqlite:"); ok {
		store, dir = "sqlite", folder
	}
	switch {
	case store == "sqlite":
		return openSQLiteBoard(ctx, dir, limits)
	case strings.HasPrefix(store, "postgres://"), strings.HasPrefix(store, "postgresql://"):
		return openPostgresBoard(ctx, store, limits)
	}
	return nil, fmt.Errorf("--store %q: want sqlite, sqlite:FOLDER or postgres://...", store)
}

func openSQLiteBoard(ctx context.Context, dir string, limits board.Limits) (*boardStore, error) {
	log, err := eventsqlite.Open(ctx, eventsqlite.Config{Path: filepath.Join(dir, "events.db")})
	if err != nil {
		return nil, err
	}
	b, err := boardsqlite.Open(ctx, boardsqlite.Config{Path: filepath.Join(dir, "board.db"), Log: log, Limits: limits})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return &boardStore{board: b, log: log, attacks: load.SQLite()}, nil
}

func (s *boardStore) close() error { return errors.Join(s.board.Close(), s.log.Close()) }

func openPostgresBoard(ctx context.Context, url string, limits board.Limits) (*boardStore, error) {
	log, err := eventpostgres.Open(ctx, eventpostgres.Config{URL: url})
	if err != nil {
		return nil, err
	}
	b, err := boardpostgres.Open(ctx, boardpostgres.Config{URL: url, Log: log, Limits: limits})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return &boardStore{board: b, log: log, attacks: load.Postgres()}, nil
}
