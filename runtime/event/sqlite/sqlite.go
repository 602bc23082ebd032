package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/event"
	"dure/runtime/event/journal"
)

const (
	readers = 4 // connections that read at once; further readers wait
	// How long an append waits for another process that writes to the same file.
	busyTimeout = 30 * time.Second
	busyPause   = 5 * time.Millisecond
	// The write-ahead file is folded into the database at so many pages of 4 KiB,
	// and cut back to so many bytes when a burst has made it longer.
	foldPages = 4000
	walLimit  = 64 << 20
	// How often is looked for appends of other processes while somebody follows.
	watchEvery = 100 * time.Millisecond
)

// A Config says where a log is.
type Config struct {
	Path   string           // of the file; made with its folder if it is missing
	Logger *slog.Logger     // nil: discard
	Now    func() time.Time // nil: time.Now
}

// Open opens the log in a file, or makes it. Errors: event.ErrNewer,
// event.ErrForeign, event.ErrFull, or what the system says.
func Open(ctx context.Context, cfg Config) (*journal.Journal, error) {
	register()
	return open(ctx, cfg, ground{vfs: system, steps: migrations, foldPages: foldPages})
}

// OpenReader opens the log in a file to be read, also while another process writes it:
// nothing in the file is changed, no lock is asked for that a writer would wait for, and
// a log of an earlier schema stays as it is. Append is an event.ErrReadOnly. Errors: those
// of Open; a file that is not there is an fs.ErrNotExist.
func OpenReader(ctx context.Context, cfg Config) (*journal.Journal, error) {
	register()
	path, err := filepath.Abs(cfg.Path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("open event log: %w", err)
	}
	return start(ctx, cfg, newStore(path, ground{vfs: system, steps: migrations}), (*store).connectReader)
}

// A ground is what a log stands on. Tests have disks that fail, schemas of tomorrow
// and little patience.
type ground struct {
	vfs       string
	steps     []string
	foldPages int
}

func open(ctx context.Context, cfg Config, on ground) (*journal.Journal, error) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("open event log: %w", err)
	}
	if err := create(path); err != nil {
		return nil, fmt.Errorf("open event log: %w", explain(err))
	}
	return start(ctx, cfg, newStore(path, on), (*store).connect)
}

func newStore(path string, on ground) *store {
	s := &store{path: path, ground: on, version: len(on.steps), readers: make(chan *reader, readers), unopened: make(chan struct{}, readers)}
	for range readers {
		s.unopened <- struct{}{}
	}
	return s
}

func start(ctx context.Context, cfg Config, s *store, connect func(*store) error) (*journal.Journal, error) {
	if err := connect(s); err != nil {
		return nil, errors.Join(explain(err), s.Close())
	}
	j, err := journal.Open(ctx, s, journal.Config{Logger: cfg.Logger, Now: cfg.Now})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return j, nil
}

// create makes file and folder for their owner alone. The name of a new file is
// flushed too, or a power cut could take the whole log.
func create(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// A store is the journal's backend.
type store struct {
	path string
	ground

	version  int           // of the file's schema
	readOnly bool          // there is no writer
	writer   *writer       // the committer's
	readers  chan *reader  // those that are free
	unopened chan struct{} // how many more there may be
	watcher  *sqlite3.Conn // the watcher's
}

// connect opens the connections, those that read not before they are used. The
// first one looks what the file is before
// anything is changed in it.
func (s *store) connect() error {
	c, err := s.dial()
	if err != nil {
		return err
	}
	if s.writer, err = newWriter(c, s.path, s.ground); err != nil {
		return errors.Join(err, hangUp(c))
	}
	s.watcher, err = s.dial()
	return err
}

// connectReader opens the connection that looks for what others append, and learns from it
// what schema the file has.
func (s *store) connectReader() (err error) {
	s.readOnly = true
	if s.watcher, err = s.dial(); err != nil {
		return err
	}
	if s.version, err = inspect(s.watcher, s.path); err != nil {
		return err
	}
	switch known := len(s.steps); {
	case s.version > known:
		return &event.NewerError{Log: s.path, Found: s.version, Known: known}
	case s.version == 0:
		return fmt.Errorf("open %s: %w: it is empty", s.path, event.ErrForeign)
	}
	return nil
}

func (s *store) dial() (*sqlite3.Conn, error) {
	// The other files get this one's mode. SQLite knows no '+' for a space.
	q := url.Values{"modeof": {s.path}, "vfs": {s.vfs}}
	name := url.URL{Scheme: "file", Path: s.path, RawQuery: strings.ReplaceAll(q.Encode(), "+", "%20")}
	mode := sqlite3.OPEN_READWRITE
	if s.readOnly {
		mode = sqlite3.OPEN_READONLY
	}
	c, err := sqlite3.OpenFlags(name.String(), mode|sqlite3.OPEN_URI)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.path, err)
	}
	if err := c.BusyTimeout(busyTimeout); err != nil {
		return nil, fmt.Errorf("open %s: %w", s.path, errors.Join(err, c.Close()))
	}
	return c, nil
}

// hangUp ends a connection and the statements that were prepared on it.
func hangUp(c *sqlite3.Conn) error {
	var errs []error
	for _, s := range slices.Collect(c.Stmts()) {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.Close())...)
}

// Close implements journal.Backend.
func (s *store) Close() error {
	var errs []error
	close(s.readers)
	for r := range s.readers {
		errs = append(errs, hangUp(r.conn))
	}
	if s.watcher != nil {
		errs = append(errs, hangUp(s.watcher))
	}
	if s.writer != nil { // last: it folds the write-ahead file
		errs = append(errs, hangUp(s.writer.conn))
	}
	return errors.Join(errs...)
}

// explain makes what callers branch on out of SQLite's errors.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sqlite3.FULL), noRoom(err):
		return fmt.Errorf("%w (%w)", event.ErrFull, err)
	case errors.Is(err, sqlite3.NOTADB):
		return fmt.Errorf("%w: name another file (%w)", event.ErrForeign, err)
	case errors.Is(err, sqlite3.CORRUPT):
		return fmt.Errorf("%w (%w)", event.ErrDamaged, err)
	default:
		return err
	}
}
