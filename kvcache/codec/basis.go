package codec

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"dure/gguf"
)

// Basis is the directions in which the keys and values of a model vary: for each
// layer an orthonormal matrix for each block of a row, calibrated once. In them
// few numbers are large, and the others cost next to nothing.
type Basis struct {
	form   [sha256.Size]byte
	sum    [sha256.Size]byte
	planes map[planeID]*directions
}

// planeID names a plane of every state of a form.
type planeID struct {
	kind        kind
	pool, layer int
}

// directions of a plane. Blocks of equal width make up a row.
type directions struct {
	block int
	// rows has the directions of each block, one behind the other; columns the
	// same, transposed.
	rows, columns [][]float32
}

const (
	basisMagic = "dkvb\x00\x00\x00\x01"
	mostBlock  = 256
)

// blockOf a row: as many whole heads as mostBlock has room for, and that divide
// the row; of wider heads a part.
func blockOf(h Heads) int {
	for n := h.Count; n >= 1; n-- {
		if h.Count%n == 0 && n*h.Dim <= mostBlock {
			return n * h.Dim
		}
	}
	for n := mostBlock; n > 1; n-- {
		if h.Dim%n == 0 {
			return n
		}
	}
	return 1
}

// formSum stands for a form in a basis: other layers, heads or angles have other
// directions. Types of cells do not matter: a basis made with cells of f16 serves
// those of q8_0.
func formSum(f Form) [sha256.Size]byte {
	var text []byte
	for i, p := range f.Layout.Pools {
		text = fmt.Appendf(text, "window %d\n", p.Window)
		for _, h := range slices.Concat(f.Keys[i], f.Values[i]) {
			text = fmt.Appendf(text, "%d*%d %+v\n", h.Count, h.Dim, h.Rotary)
		}
	}
	return sha256.Sum256(text)
}

// Fingerprint tells bases apart.
func (b *Basis) Fingerprint() [8]byte { return [8]byte(b.sum[:8]) }

func (b *Basis) fits(f Form) error {
	if b == nil {
		return fmt.Errorf("%w: there is none; calibrate the model first", ErrBasis)
	}
	if b.form != formSum(f) {
		return fmt.Errorf("%w: of another model or form", ErrBasis)
	}
	return nil
}

func (b *Basis) of(p *plane) *directions {
	if b == nil {
		return nil
	}
	return b.planes[planeID{p.kind, p.pool, p.layer}]
}

// each calls do for every plane of a form, in the order of the file.
func eachPlane(f Form, do func(id planeID, h Heads) error) error {
	for i := range f.Layout.Pools {
		for k, list := range [2][]Heads{f.Keys[i], f.Values[i]} {
			for layer, h := range list {
				if err := do(planeID{kind(k), i, layer}, h); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (d *directions) add(rows []float32) {
	columns := make([]float32, len(rows))
	for r := range d.block {
		for c := range d.block {
			columns[c*d.block+r] = rows[r*d.block+c]
		}
	}
	d.rows, d.columns = append(d.rows, rows), append(d.columns, columns)
}

// turn expresses rows of numbers in the directions, or, back, as they were.
func (d *directions) turn(x, scratch []float32, back bool) {
	scratch = scratch[:d.block]
	blocks := d.columns
	if back {
		blocks = d.rows
	}
	width := d.block * len(blocks)
	for at := 0; at < len(x); at += width {
		for k, m := range blocks {
			part := x[at+k*d.block : at+(k+1)*d.block]
			combine(scratch, part, m)
			copy(part, scratch)
		}
	}
}

// body is the file without its checksum.
func (b *Basis) body(f Form) []byte {
	out := append([]byte(basisMagic), b.form[:]...)
	_ = eachPlane(f, func(id planeID, _ Heads) error {
		d := b.planes[id]
		for _, rows := range d.rows {
			for _, v := range rows {
				out = binary.LittleEndian.AppendUint16(out, toHalf(v))
			}
		}
		return nil
	})
	return out
}

// Append appends the basis as a file has it:
//
//	magic and version, SHA-256 of the form, directions of each plane (f16),
//	SHA-256 of all
func (b *Basis) Append(dst []byte, f Form) ([]byte, error) {
	if err := b.fits(f); err != nil {
		return nil, err
	}
	return append(append(dst, b.body(f)...), b.sum[:]...), nil
}

// ParseBasis reads the file of a basis. It refuses what is damaged, or is of
// another form.
func ParseBasis(data []byte, f Form) (*Basis, error) {
	if err := f.validate(); err != nil {
		return nil, err
	}
	const start = len(basisMagic) + sha256.Size
	if len(data) < start+sha256.Size || !bytes.HasPrefix(data, []byte(basisMagic)) {
		return nil, fmt.Errorf("%w: no such file, or of another version", ErrBasis)
	}
	body, sum := data[:len(data)-sha256.Size], [sha256.Size]byte(data[len(data)-sha256.Size:])
	b := &Basis{form: [sha256.Size]byte(body[len(basisMagic):]), sum: sum, planes: map[planeID]*directions{}}
	if sha256.Sum256(body) != sum {
		return nil, fmt.Errorf("%w: damaged (checksum); calibrate again", ErrBasis)
	}
	if err := b.fits(f); err != nil {
		return nil, err
	}
	body = body[start:]
	err := eachPlane(f, func(id planeID, h Heads) error {
		d := &directions{block: blockOf(h)}
		for range h.Count * h.Dim / d.block {
			n := d.block * d.block
			if len(body) < 2*n {
				return fmt.Errorf("%w: truncated", ErrBasis)
			}
			if !allFinite(body[:2*n], gguf.F16) {
				return fmt.Errorf("%w: not finite", ErrBasis)
			}
			rows := make([]float32, n)
			readNumbers(rows, body, gguf.F16)
			if !orthonormal(rows, d.block) {
				return fmt.Errorf("%w: directions of %+v are not orthonormal", ErrBasis, id)
			}
			d.add(rows)
			body = body[2*n:]
		}
		b.planes[id] = d
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", ErrBasis, len(body))
	}
	return b, nil
}

// orthonormal checks the lengths of rows, and neighbours against each other: all
// pairs would take as long as making them. The checksum is what protects them;
// this keeps numbers bounded.
func orthonormal(rows []float32, n int) bool {
	for r := range n {
		length, next := 0.0, 0.0
		for c := range n {
			v := float64(rows[r*n+c])
			length += v * v
			if r > 0 {
				next += v * float64(rows[(r-1)*n+c])
			}
		}
		if math.Abs(length-1) > 0.01 || math.Abs(next) > 0.01 {
			return false
		}
	}
	return true
}
