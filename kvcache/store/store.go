package store

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"dure/kvcache"
	"dure/kvcache/codec"
)

// Config of a Store. Zero values of the lower half mean the default.
type Config struct {
	// Dir is the folder, made if need be.
	Dir      string
	Identity Identity
	// Budget in bytes of all files; the tree's is Usable of it.
	Budget int64
	// Codec for what is written: Planes, or Raw. What is there is read in any case.
	Codec Codec
	// Class of loss for what is written where a job does not say. 0 writes as
	// Codec says: without loss, and for readers of the first version. Any other
	// needs Form, Calibrated also Basis. Without Form and Basis, what was written
	// with them is set aside.
	Class codec.Class
	Form  *codec.Form
	Basis *codec.Basis
	Log   *slog.Logger
	// Wait is how long Open waits for a folder that another process has: one that
	// was told to end may still be writing.
	Wait time.Duration

	// Workers do the jobs and Decoders the blocks of one read; both default to 2.
	Workers, Decoders int
	// Queue is how many jobs may wait, 64 by default.
	Queue int
	// RefusedBytes and RefusedFiles bound what is set aside: by default a
	// sixteenth of Budget, and 64.
	RefusedBytes int64
	RefusedFiles int
}

// Usable is what the tree may count with of a budget: the rest is for headers,
// which it knows nothing of until a file is written.
func Usable(budget int64) int64 { return budget - budget/64 }

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		n    *int
		then int
	}{{&c.Workers, 2}, {&c.Decoders, 2}, {&c.Queue, 64}, {&c.RefusedFiles, 64}} {
		if *d.n <= 0 {
			*d.n = d.then
		}
	}
	if c.RefusedBytes <= 0 {
		c.RefusedBytes = c.Budget / 16
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// entry is a file of the index.
type entry struct {
	name    string
	sum     [sumBytes]byte
	bytes   int64
	class   codec.Class
	reading int
	busy    bool // being written or dropped
	// changing is its change, from when it is accepted until it has ended; waiting are
	// the reads that came while it was under way.
	changing bool
	waiting  []task
}

// Store is the tier on disk. Its methods are for one goroutine, the owner's.
type Store struct {
	cfg      Config
	identity []byte
	lock     *os.File
	aside    *aside
	found    []*entry // until Start

	jobs    chan Job
	done    chan Completion
	quit    chan struct{}
	ended   sync.WaitGroup
	started bool
	closed  bool
	stats   atomic.Pointer[Stats]

	keeper
}

// Open takes the folder, removes what a crash left half written, sets aside what
// is not this identity's or not whole, and returns what was found, parents
// before children, for kvcache.Tree.Adopt; Start takes the answer. It fails with
// ErrLocked if another process has the folder.
func Open(cfg Config) (s *Store, found []kvcache.Stored, err error) {
	cfg = cfg.withDefaults()
	defer func() {
		if err != nil {
			err = fmt.Errorf("open disk tier %s: %w", cfg.Dir, err)
		}
	}()
	if cfg.Budget <= 0 || cfg.Codec >= codecs {
		return nil, nil, fmt.Errorf("budget of %d bytes and %v: want more than 0 and a known codec", cfg.Budget, cfg.Codec)
	}
	if err := cfg.offers(cfg.Class); err != nil {
		return nil, nil, err
	}
	s = &Store{cfg: cfg, jobs: make(chan Job, cfg.Queue), done: make(chan Completion), quit: make(chan struct{})}
	if s.identity, err = cfg.Identity.canonical(); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, nil, err
	}
	if s.lock, err = awaitLock(cfg.Dir, cfg.Wait); err != nil {
		return nil, nil, err
	}
	if found, err = s.load(); err != nil {
		return nil, nil, errors.Join(err, s.lock.Close())
	}
	return s, found, nil
}

// load fills found, and puts the folder right.
func (s *Store) load() ([]kvcache.Stored, error) {
	var err error
	if s.aside, err = openAside(filepath.Join(s.cfg.Dir, "refused"), s.cfg.RefusedBytes, s.cfg.RefusedFiles); err != nil {
		return nil, err
	}
	all, err := s.scan()
	if err != nil {
		return nil, err
	}
	if all, err = s.sift(all); err != nil {
		return nil, err
	}
	resolve(all)
	if all, err = s.sift(all); err != nil {
		return nil, err
	}
	return s.adopt(all)
}

// adopt enters what has a path, and removes what has none or is there twice.
func (s *Store) adopt(all []*candidate) ([]kvcache.Stored, error) {
	type spanKey struct {
		path     [sumBytes]byte
		from, to int
		state    bool
	}
	seen := map[spanKey]bool{}
	var found []kvcache.Stored
	for _, c := range all {
		h, why := c.head, Orphan
		if c.path != nil {
			why = Duplicate
		}
		key := spanKey{h.path, h.from, h.to, h.state}
		if c.path == nil || seen[key] {
			s.counts.Refused[why]++
			if err := os.Remove(s.path(c.name)); err != nil {
				return nil, err
			}
			continue
		}
		seen[key] = true
		_, coded := h.content()
		e := &entry{name: c.name, sum: h.sum, bytes: int64(h.bytes) + coded, class: h.quality}
		s.found = append(s.found, e)
		s.used += e.bytes
		s.hold(e, 1)
		found = append(found, kvcache.Stored{Path: c.path, From: h.from, State: h.state, Bytes: e.bytes, Last: h.last, Class: uint8(h.quality)})
	}
	s.publish()
	return found, nil
}

// sift sets aside the candidates that have an error. Those of a later version stay
// where they are: the program that wrote them finds them again.
func (s *Store) sift(all []*candidate) ([]*candidate, error) {
	out := all[:0]
	var newer []*candidate
	for _, c := range all {
		switch {
		case c.err == nil:
			out = append(out, c)
		case errors.Is(c.err, ErrNewer):
			newer = append(newer, c)
		default:
			if err := s.refuse(c.name, c.err); err != nil {
				return nil, err
			}
		}
	}
	if len(newer) > 0 {
		s.counts.Refused[Newer] += len(newer)
		s.cfg.Log.Warn("stored states of a later version are left alone, beside the budget", "path", s.cfg.Dir, "files", len(newer), "error", newer[0].err)
	}
	return out, nil
}

func (s *Store) path(name string) string { return filepath.Join(s.cfg.Dir, name+fileSuffix) }

// refuse counts a file and moves it out of the way.
func (s *Store) refuse(name string, why error) error {
	r := reasonOf(why)
	s.counts.Refused[r]++
	s.cfg.Log.Warn("stored state refused", "path", s.path(name), "problem", r.String(), "error", why)
	return s.aside.take(s.path(name), r)
}

// Start names what Open found, in the same order, removes those with id 0, and
// begins to take jobs.
func (s *Store) Start(ids []kvcache.ObjectID) error {
	if len(ids) != len(s.found) || s.started || s.closed {
		return fmt.Errorf("start disk tier: %d ids for %d objects that were found, started %v, closed %v", len(ids), len(s.found), s.started, s.closed)
	}
	s.index = make(map[kvcache.ObjectID]*entry, len(ids))
	for i, id := range ids {
		e := s.found[i]
		if id != 0 {
			s.index[id] = e
			s.counts.Adopted++
			continue
		}
		if err := os.Remove(s.path(e.name)); err != nil {
			return fmt.Errorf("start disk tier: %w", err)
		}
		s.used -= e.bytes
		s.hold(e, -1)
		s.counts.NotAdopted++
	}
	s.found, s.started = nil, true
	s.publish()
	s.tasks, s.results = make(chan task), make(chan result)
	for range s.cfg.Workers {
		s.ended.Go(s.work)
	}
	s.ended.Go(s.keep)
	return nil
}

// Submit hands a job over. It never blocks: false says that the queue is full,
// or that the store is not open, and nothing was done.
func (s *Store) Submit(j Job) bool {
	if !s.started || s.closed {
		return false
	}
	select {
	case s.jobs <- j:
		return true
	default:
		return false
	}
}

// Done yields a completion for each job that Submit took.
func (s *Store) Done() <-chan Completion { return s.done }

// Stats as of the last job that began or ended.
func (s *Store) Stats() Stats { return *s.stats.Load() }

// Close waits for the jobs that are under way, forgets those that wait, and lets
// go of the folder. What was completed is on the disk. Closing twice is nothing.
func (s *Store) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.started {
		close(s.quit)
		s.ended.Wait()
	}
	if err := s.lock.Close(); err != nil {
		return fmt.Errorf("close disk tier %s: %w", s.cfg.Dir, err)
	}
	return nil
}

// publish makes the numbers visible to Stats.
func (s *Store) publish() {
	st := Stats{Counts: s.counts, Objects: len(s.index) + len(s.found), Used: s.used, Budget: s.cfg.Budget, Aside: s.aside.used,
		Queued: s.outstanding(), Classes: s.held}
	s.stats.Store(&st)
}
