package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/board"
	"dure/runtime/board/desk"
	"dure/runtime/event"
)

// The write-ahead file is folded into the database at so many pages of 4 KiB, and
// cut back to so many bytes when a burst has made it longer.
const (
	foldPages = 4000
	walLimit  = 64 << 20
)

// A Config says where a board is and what it stands on.
type Config struct {
	Path   string           // of the file; made with its folder if it is missing
	Log    event.Log        // stays the caller's
	Limits board.Limits     // zero: board.DefaultLimits
	Logger *slog.Logger     // nil: discard
	Now    func() time.Time // nil: time.Now
}

// Open opens a board, after what its tables lack of the log was applied.
func Open(ctx context.Context, cfg Config) (*desk.Desk, error) {
	return open(ctx, cfg, ground{foldPages: foldPages})
}

// A ground is what tables stand on. Tests have disks that fail, and fold more often.
type ground struct {
	vfs       string // "": the system's
	foldPages int
}

func open(ctx context.Context, cfg Config, on ground) (*desk.Desk, error) {
	if cfg.Limits == (board.Limits{}) {
		cfg.Limits = board.DefaultLimits()
	}
	if err := cfg.Limits.Check(); err != nil {
		return nil, fmt.Errorf("open board: %w", err)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("open board: %w", err)
	}
	cfg.Path = path
	s, err := newStore(ctx, cfg, on)
	if err != nil {
		return nil, fmt.Errorf("open board: %w", err)
	}
	d, err := desk.Open(ctx, s, desk.Config{Log: cfg.Log, Limits: cfg.Limits, Now: cfg.Now, Logger: cfg.Logger})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open board: %w", err), s.Close())
	}
	return d, nil
}

// A store is the desk's backend.
type store struct {
	cfg     Config
	ground  ground
	lock    *os.File
	writer  *writer
	readers *readers
	bell    bell
}

func newStore(ctx context.Context, cfg Config, on ground) (*store, error) {
	dir := changesDir(cfg.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := syncDir(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	lock, err := take(cfg.Path + ".lock")
	if err != nil {
		return nil, err
	}
	s := &store{cfg: cfg, ground: on, lock: lock}
	if s.writer, err = newWriter(ctx, s); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := s.sweep(); err != nil {
		return nil, errors.Join(err, s.writer.conn.hangUp(), lock.Close())
	}
	s.readers = newReaders(s)
	go s.writer.loop()
	return s, nil
}

func changesDir(path string) string { return path + ".changes" }

// take locks a file for this process. The system lets go of it when the process
// ends, however it does.
func take(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		err = fmt.Errorf("%w: %s is held by another process that has the board open (%w)", board.ErrBusy, path, err)
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sweep removes files of changes that no event names: their write was not
// acknowledged and never will be.
func (s *store) sweep() error {
	known := make(map[string]bool)
	err := query(s.writer.conn.Conn, "select name from dure_files", func(q *sqlite3.Stmt) { known[q.ColumnText(0)] = true })
	if err != nil {
		return err
	}
	files, err := os.ReadDir(changesDir(s.cfg.Path))
	if err != nil {
		return err
	}
	for _, f := range files {
		if known[f.Name()] {
			continue
		}
		s.cfg.Logger.Info("changes of a write that was never finished are removed", "file", f.Name())
		if err := os.Remove(filepath.Join(changesDir(s.cfg.Path), f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Close implements desk.Backend.
func (s *store) Close() error {
	s.bell.close()
	s.writer.end()
	return errors.Join(s.readers.close(), s.writer.conn.hangUp(), s.lock.Close())
}

// explain makes what callers branch on out of errors of SQLite and the system.
func explain(err error) error {
	switch {
	case err == nil, errors.Is(err, board.ErrFull), errors.Is(err, board.ErrDamaged), errors.Is(err, board.ErrClosed):
		return err
	case errors.Is(err, sqlite3.FULL), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w (%w)", board.ErrFull, err)
	case errors.Is(err, event.ErrFull):
		return fmt.Errorf("%w (%w)", board.ErrFull, err)
	case errors.Is(err, sqlite3.NOTADB), errors.Is(err, sqlite3.CORRUPT):
		return fmt.Errorf("%w: remove the file, it is made anew from the log (%w)", board.ErrDamaged, err)
	case errors.Is(err, event.ErrClosed), errors.Is(err, fs.ErrClosed):
		return fmt.Errorf("%w (%w)", board.ErrClosed, err)
	}
	return err
}
