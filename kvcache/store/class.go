package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"dure/kvcache"
	"dure/kvcache/codec"
)

// kit is what a worker codes and decodes with.
type kit struct {
	coders  []*coder
	codec   *codec.Coder
	form    *codec.Form
	basis   *codec.Basis
	plain   Codec
	payload []byte
}

func newKit(cfg Config) *kit {
	k := &kit{codec: codec.NewCoder(cfg.Decoders), form: cfg.Form, basis: cfg.Basis, plain: cfg.Codec}
	for range max(1, cfg.Decoders) {
		k.coders = append(k.coders, &coder{})
	}
	return k
}

func (k Kind) writes() bool { return k == Write || k == Change }

// classOf a job, or of the Config where it says none.
func (c Config) classOf(job codec.Class) codec.Class {
	if job == 0 {
		return c.Class
	}
	return job
}

// offers refuses a class that this store cannot write. 0 is the plain form.
func (c Config) offers(class codec.Class) error {
	switch {
	case class == 0:
		return nil
	case !has(class):
		return fmt.Errorf("%v, must be one of %v", class, codec.Classes())
	case c.Form == nil || c.Identity.Opaque:
		return fmt.Errorf("quality class %v: what the numbers of these states mean is not known; store them without a class", class)
	case class == codec.Calibrated && c.Basis == nil:
		return fmt.Errorf("quality class %v: %w: there is none for this model; calibrate it, or take %v", class, codec.ErrBasis, codec.Small)
	}
	return nil
}

func has(class codec.Class) bool { return class >= codec.Exact && class <= codec.Calibrated }

// reads refuses a file that was coded with what this store does not have.
func (c Config) reads(h *header) error {
	switch {
	case h.version == plainVersion:
		return nil
	case c.Form == nil || c.Identity.Opaque:
		return fmt.Errorf("%w: coded by what the numbers mean, which is not known", ErrForeign)
	case h.quality != codec.Calibrated:
		return nil
	case c.Basis == nil:
		return fmt.Errorf("%w: coded with basis %x, there is none", ErrForeign, h.basis)
	case c.Basis.Fingerprint() != h.basis:
		return fmt.Errorf("%w: coded with basis %x, this is %x", ErrForeign, h.basis, c.Basis.Fingerprint())
	}
	return nil
}

// writeFile writes an object in a class: head becomes that of the file. Bytes
// that are not a state, and those that a class makes no smaller, are written in
// the plain form, without loss; head says so.
func (k *kit) writeFile(dir, name string, head *header, data []byte, class codec.Class) (int64, error) {
	if class != 0 {
		payload, err := k.codec.Encode(k.payload[:0], data, *k.form, class, k.basis)
		if err == nil {
			k.payload = payload
		}
		if err == nil && len(payload) < len(data) {
			head.code(class, k.basis, len(payload), len(data))
			return writeFile(k.coders[0], dir, name, head, payload, Raw)
		}
	}
	return writeFile(k.coders[0], dir, name, head, data, k.plain)
}

// decode gives the object of the payload.
func (k *kit) decode(dst []byte, h *header) ([]byte, error) {
	if k.form == nil {
		return nil, fmt.Errorf("%w: coded by what the numbers mean, which is not known", ErrForeign)
	}
	data, err := k.codec.Decode(dst[:0], k.payload, *k.form, k.basis)
	switch {
	case errors.Is(err, codec.ErrBasis):
		return nil, fmt.Errorf("%w: %w", ErrForeign, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	case int64(len(data)) != h.original:
		return nil, fmt.Errorf("%w: %d bytes decoded of %d", ErrDamaged, len(data), h.original)
	}
	return data, nil
}

// acceptChange checks a change, and reserves the room of the new file, which is
// no larger than the old one.
func (s *Store) acceptChange(t *task) error {
	j, e := &t.job, t.entry
	switch {
	case e == nil:
		return fmt.Errorf("change object %d: %w: there is none", j.Object, ErrBad)
	case e.busy || e.reading > 0:
		return fmt.Errorf("change object %d: %w", j.Object, ErrBusy)
	}
	if class := s.cfg.classOf(j.Class); class == 0 {
		return fmt.Errorf("change object %d: no class to change to", j.Object)
	} else if err := s.cfg.offers(class); err != nil {
		return fmt.Errorf("change object %d: %w", j.Object, err)
	}
	t.reserve = e.bytes
	if s.used+t.reserve > s.cfg.Budget {
		return fmt.Errorf("change object %d: %w: %d bytes for a while, beside %d of %d", j.Object, ErrBudget, t.reserve, s.used, s.cfg.Budget)
	}
	s.used += t.reserve
	s.lastFile++
	t.name = fmt.Sprintf("%016x", s.lastFile)
	e.busy, e.changing = true, true
	return nil
}

// overtakes has a read go before a change of its object: somebody waits for the read
// and nobody for the change. One that has not begun ends with nothing changed; one
// that has is waited for.
func (s *Store) overtakes(read *task) bool {
	e := read.entry
	if e == nil || !e.changing {
		return false
	}
	i := slices.IndexFunc(s.others, func(t task) bool { return t.job.Kind == Change && t.entry == e })
	if i < 0 {
		e.waiting = append(e.waiting, *read)
		s.awaiting++
		return true
	}
	t := s.others[i]
	s.others = slices.Delete(s.others, i, i+1)
	e.busy, e.changing = false, false
	s.used -= t.reserve
	s.end(Completion{Kind: Change, Object: t.job.Object, Tag: t.job.Tag, Bytes: e.bytes, Class: e.class,
		Err: fmt.Errorf("change object %d: %w", t.job.Object, ErrBusy)})
	s.read(*read)
	return true
}

// resume lets the reads go on that waited for a change.
func (s *Store) resume(id kvcache.ObjectID, e *entry) {
	waiting := e.waiting
	e.waiting = nil
	s.awaiting -= len(waiting)
	for _, t := range waiting {
		if s.index[id] != e { // it was bad
			s.end(Completion{Kind: Read, Object: id, Tag: t.job.Tag, Err: fmt.Errorf("read object %d: %w: it was set aside", id, ErrBad)})
			continue
		}
		s.read(t)
	}
}

// change writes the object anew, and removes the old file when the new one is
// there for good. A crash in between leaves both, and Open takes the first.
func (s *Store) change(r *result, k *kit) {
	e := r.task.entry
	r.name, r.sum, r.done.Bytes, r.done.Class = e.name, e.sum, e.bytes, e.class
	class := s.cfg.classOf(r.task.job.Class)
	if class <= e.class {
		return
	}
	data, old, err := k.readFile(s.path(e.name), s.identity, e.sum, nil)
	if err != nil {
		r.spoilt, r.done.Err = true, err
		return
	}
	payload, err := k.codec.Encode(k.payload[:0], data, *k.form, class, k.basis)
	if err != nil {
		return // it is no state: it stays
	}
	k.payload = payload
	head := *old
	head.code(class, k.basis, len(payload), len(data))
	if int64(head.size()+len(payload)) >= e.bytes {
		return
	}
	size, err := writeFile(k.coders[0], s.cfg.Dir, r.task.name, &head, payload, Raw)
	if err == nil {
		if err = os.Remove(s.path(e.name)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			err = errors.Join(err, os.Remove(s.path(r.task.name)))
		}
	}
	if err != nil {
		r.done.Err = fmt.Errorf("change object %d: %w", r.task.job.Object, err)
		return
	}
	r.name, r.sum, r.done.Bytes, r.done.Class = r.task.name, head.sum, size, class
}

// code makes the header that of a payload.
func (h *header) code(class codec.Class, b *codec.Basis, payload, original int) {
	h.version, h.quality, h.original, h.basis = codedVersion, class, int64(original), [8]byte{}
	if class == codec.Calibrated {
		h.basis = b.Fingerprint()
	}
	h.cut([]section{{payload, 1, 0}})
}

// settleChange enters the result of a change.
func (s *Store) settleChange(r *result) {
	e := r.task.entry
	e.busy, e.changing = false, false
	switch {
	case r.spoilt:
		r.done.Err = s.spoilt(r.task.job.Object, e, r.done.Err)
	case r.done.Err == nil && r.name != e.name:
		s.hold(e, -1)
		s.used += r.done.Bytes - e.bytes
		e.name, e.sum, e.bytes, e.class = r.name, r.sum, r.done.Bytes, r.done.Class
		s.hold(e, 1)
		s.counts.Changed++
	}
}
