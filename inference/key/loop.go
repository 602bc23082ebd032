package key

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

const (
	// lookEvery is how often the file of keys is looked at.
	lookEvery = time.Second
	// writeEvery is how often usage is written at most.
	writeEvery = 5 * time.Second
	// patience is how long another process may hold the lock of the usage.
	patience = 5 * time.Second
)

// loop is the one goroutine for the files.
func (r *Ring) loop() {
	defer close(r.stopped)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	written := r.now()
	for {
		select {
		case <-r.stop:
			return
		case <-tick.C:
		}
		r.look()
		if now := r.now(); now.Sub(written) >= writeEvery || now.Before(written) {
			written = now
			r.tell(r.flush())
		}
	}
}

// Close writes what is not written yet. It is called after the last Settle.
func (r *Ring) Close() error {
	var err error
	r.once.Do(func() {
		close(r.stop)
		<-r.stopped
		err = r.flush()
	})
	return err
}

// look reads the file again if it is another one, and says what is wrong once.
func (r *Ring) look() {
	if !r.changed() {
		return
	}
	if err := r.Reload(); err != nil {
		r.log.Error("the keys of before stay in force", "error", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Info("keys read again", "path", r.file, "keys", len(r.keys))
}

// changed reports whether the file is not the one that was read last. A file that
// was never there is no change.
func (r *Ring) changed() bool {
	r.work.Lock()
	defer r.work.Unlock()
	info, err := os.Stat(r.file)
	if err != nil {
		return r.seen != nil // it is gone, or cannot be seen
	}
	s := r.seen
	return s == nil || !os.SameFile(s, info) || !s.ModTime().Equal(info.ModTime()) || s.Size() != info.Size() || s.Mode() != info.Mode()
}

// Reload reads the file of keys now. With an error the keys of before stay in
// force.
func (r *Ring) Reload() error {
	r.work.Lock()
	defer r.work.Unlock()
	keys, info, err := read(r.file)
	r.seen = info // also with an error: the same file is not tried again by itself
	if err != nil {
		return err
	}
	if problem := exposed(r.file, info); problem != "" {
		r.log.Warn("keys are not private", "problem", problem)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = keys
	r.demand = r.demand || len(keys) > 0
	return nil
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// tell logs an error of writing usage when it is another one than before.
func (r *Ring) tell(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	r.work.Lock()
	defer r.work.Unlock()
	if text != r.said && err != nil {
		r.log.Warn("usage of keys is not written; it is counted on and tried again", "error", err)
	}
	r.said = text
}

// flush adds what was counted since the last time to the file of usage, and
// learns from it what other servers counted.
func (r *Ring) flush() error {
	r.work.Lock()
	defer r.work.Unlock()
	now := r.now()
	fresh, known, present := r.take()
	if len(fresh) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	all, err := r.usage.add(ctx, fresh, known, present, now)
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, m := range r.meters {
		switch {
		case err != nil:
			m.fresh.plus(fresh[id]) // the next time, then
			m.fresh.prune(now)
		default:
			m.live = all[id]
			m.live.plus(m.fresh)
			if !present[id] && m.running == 0 && m.fresh.isZero() {
				delete(r.meters, id) // its key is gone
			}
		}
	}
	return err
}

// take returns what was counted since the last time, all that is known, and the
// keys that there are.
func (r *Ring) take() (fresh, known map[string]account, present map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh, known, present = map[string]account{}, map[string]account{}, map[string]bool{}
	for id, m := range r.meters {
		known[id] = m.live.clone()
		if !m.fresh.isZero() {
			fresh[id] = m.fresh
			m.fresh = account{name: m.fresh.name}
		}
	}
	for _, k := range r.keys {
		present[k.ID()] = true
	}
	return fresh, known, present
}
