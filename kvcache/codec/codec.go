package codec

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"dure/kvcache/blob"
)

// Coder codes states with several goroutines. It is used by one at a time.
type Coder struct{ workers []*worker }

// NewCoder makes one with so many goroutines.
func NewCoder(workers int) *Coder {
	c := &Coder{}
	for range max(1, workers) {
		c.workers = append(c.workers, &worker{})
	}
	return c
}

// Encode appends the coded form of a state: bytes as blob.Append gives them, or
// the engine, Whole or Partial. The basis is for Calibrated only. Planes of
// numbers that are not finite, or of a type that has lost as much already, are
// coded without further loss.
func Encode(dst, state []byte, f Form, c Class, b *Basis) ([]byte, error) {
	return NewCoder(1).Encode(dst, state, f, c, b)
}

// Decode appends the state that coded bytes are of. It has the size, positions
// and types of the one that was encoded.
func Decode(dst, coded []byte, f Form, b *Basis) ([]byte, error) {
	return NewCoder(1).Decode(dst, coded, f, b)
}

// Encode is like the function.
func (c *Coder) Encode(dst, state []byte, f Form, class Class, b *Basis) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("encode state as %v: %w", class, err)
	}
	if !class.valid() {
		return fail(fmt.Errorf("no such class; take one of %v", Classes()))
	}
	if err := f.validate(); err != nil {
		return fail(err)
	}
	if len(state) > maxState {
		return fail(fmt.Errorf("%d bytes are more than %d", len(state), maxState))
	}
	p, part, err := partOf(f, state)
	if err != nil {
		return fail(err)
	}
	h := head{class: class, part: part, first: firstRows, last: lastRows, size: len(state), fixed: len(p.fixed)}
	if class == Calibrated {
		if err := b.fits(f); err != nil {
			return fail(err)
		}
		h.basis = b.Fingerprint()
	}
	w := c.workers[0]
	var tables []byte
	for _, t := range p.tables {
		tables = w.ent.appendTable(tables, state[t.at:t.at+t.cells*t.record], t)
	}
	h.tables = len(tables)
	start := len(dst)
	dst = append(append(h.append(dst), p.fixed...), tables...)
	job := newJob(f, p.planes, h)
	job.class, job.basis = class, b
	coded := job.encode(c.workers, state)
	lengths := make([]int, len(coded))
	for i := range coded {
		lengths[i] = len(coded[i])
	}
	dst = appendLengths(dst, lengths)
	for _, b := range coded {
		dst = append(dst, b...)
	}
	if (len(dst)-start)*maxGain < len(state) {
		h.stored, h.fixed, h.tables = true, 0, 0
		dst = append(h.append(dst[:start]), state...)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli)), nil
}

// Decode is like the function.
func (c *Coder) Decode(dst, coded []byte, f Form, b *Basis) ([]byte, error) {
	out, err := c.decode(dst, coded, f, b)
	if err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	return out, nil
}

func (c *Coder) decode(dst, coded []byte, f Form, b *Basis) ([]byte, error) {
	h, err := parseHead(coded)
	if err != nil {
		return nil, err
	}
	if err := f.validate(); err != nil {
		return nil, err
	}
	body, sum := coded[:len(coded)-4], binary.LittleEndian.Uint32(coded[len(coded)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, fmt.Errorf("%w: checksum", ErrCoded)
	}
	if h.class == Calibrated {
		if err := b.fits(f); err != nil {
			return nil, err
		}
		if b.Fingerprint() != h.basis {
			return nil, fmt.Errorf("%w: coded with %x, this is %x", ErrBasis, h.basis, b.Fingerprint())
		}
	}
	start := len(dst)
	if dst, err = c.decodeBody(dst, body[headBytes:], f, h, b); err != nil {
		return nil, err
	}
	if _, err := blob.Parse(f.Layout, dst[start:], h.part); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCoded, err)
	}
	return dst, nil
}

func (c *Coder) decodeBody(dst, body []byte, f Form, h head, b *Basis) ([]byte, error) {
	if h.stored {
		if len(body) != h.size {
			return nil, fmt.Errorf("%w: %d bytes stored of %d", ErrCoded, len(body), h.size)
		}
		return append(dst, body...), nil
	}
	if h.fixed > len(body) || h.tables > len(body)-h.fixed {
		return nil, fmt.Errorf("%w: %d fixed bytes and %d of tables in %d", ErrCoded, h.fixed, h.tables, len(body))
	}
	start := len(dst)
	fixed, tables, body := body[:h.fixed], body[h.fixed:h.fixed+h.tables], body[h.fixed+h.tables:]
	dst, planes, err := c.workers[0].ent.join(dst, h.size, f, h.part, fixed, tables)
	if err != nil {
		return nil, err
	}
	coded, err := cut(body, len(planes))
	if err != nil {
		return nil, err
	}
	job := newJob(f, planes, h)
	job.class, job.basis = h.class, b
	return dst, job.decode(c.workers, dst[start:], coded)
}

// cut gives each plane its bytes.
func cut(body []byte, planes int) ([][]byte, error) {
	if len(body)/4 < planes {
		return nil, fmt.Errorf("%w: no lengths of %d planes", ErrCoded, planes)
	}
	lengths, body := body[:4*planes], body[4*planes:]
	out := make([][]byte, planes)
	for i := range out {
		n := binary.LittleEndian.Uint32(lengths[4*i:])
		if uint64(n) > uint64(len(body)) {
			return nil, fmt.Errorf("%w: plane %d of %d bytes, %d are left", ErrCoded, i, n, len(body))
		}
		out[i], body = body[:n], body[n:]
	}
	if len(body) > 0 {
		return nil, fmt.Errorf("%w: %d bytes after the last plane", ErrCoded, len(body))
	}
	return out, nil
}
