package whisper

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// tensor is one variable of a model.bin.
type tensor struct {
	shape []int64
	kind  byte // CTranslate2's number of the element type
	raw   []byte
}

// Element types of CTranslate2.
const (
	kindFloat32 = 0
	kindFloat16 = 4
)

// Limits of what is read, so that a damaged file ends in an error: large-v3, the largest
// model there is, has 1.6 billion numbers in under two thousand variables.
const (
	maxVariables = 10_000
	maxName      = 512
	maxRank      = 4
	maxBytes     = 8 << 30
	binVersion   = 6
)

// readWeights reads the variables of a model.bin of version 6, the format since
// CTranslate2 2.0: a name, a shape, an element type and the numbers of each.
func readWeights(r io.Reader) (map[string]tensor, error) {
	b := &binReader{r: r}
	if v := b.u32(); b.err == nil && v != binVersion {
		return nil, fmt.Errorf("model.bin is of version %d, want %d: convert the model with a current ct2-transformers-converter", v, binVersion)
	}
	if spec := b.name(); b.err == nil && spec != "WhisperSpec" {
		return nil, fmt.Errorf("model.bin holds a %q, want a WhisperSpec", spec)
	}
	b.u32() // revision: 3 has all that is read here and later ones add to it
	n := b.u32()
	if b.err == nil && n > maxVariables {
		return nil, fmt.Errorf("model.bin claims %d variables", n)
	}
	all := make(map[string]tensor)
	for range n {
		name := b.name()
		t := b.tensor()
		if b.err != nil {
			return nil, fmt.Errorf("model.bin: variable %q: %w", name, b.err)
		}
		all[name] = t
	}
	return all, b.aliases(all)
}

// binReader keeps the first error.
type binReader struct {
	r   io.Reader
	err error
	buf [8]byte
}

func (b *binReader) read(n int) []byte {
	if b.err != nil {
		return b.buf[:n]
	}
	if _, err := io.ReadFull(b.r, b.buf[:n]); err != nil {
		b.err = fmt.Errorf("it ends too early: %w", err)
		clear(b.buf[:])
	}
	return b.buf[:n]
}

func (b *binReader) u32() uint32 { return binary.LittleEndian.Uint32(b.read(4)) }

// name is a length and that many bytes, the last of them zero.
func (b *binReader) name() string {
	n := int(binary.LittleEndian.Uint16(b.read(2)))
	if b.err == nil && (n == 0 || n > maxName) {
		b.err = fmt.Errorf("a name of %d bytes", n)
	}
	if b.err != nil {
		return ""
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(b.r, text); err != nil {
		b.err = fmt.Errorf("it ends too early: %w", err)
		return ""
	}
	return string(text[:n-1])
}

func (b *binReader) tensor() tensor {
	var t tensor
	rank := int(b.read(1)[0])
	if b.err == nil && rank > maxRank {
		b.err = fmt.Errorf("%d dimensions", rank)
	}
	if b.err != nil {
		return t
	}
	for range rank {
		t.shape = append(t.shape, int64(b.u32()))
	}
	t.kind = b.read(1)[0]
	n := int64(b.u32())
	if b.err != nil || n > maxBytes {
		return t
	}
	// Read as it comes: a length that a damaged file claims is not allocated at once.
	t.raw, b.err = io.ReadAll(io.LimitReader(b.r, n))
	if b.err == nil && int64(len(t.raw)) != n {
		b.err = fmt.Errorf("it ends too early: %w", io.ErrUnexpectedEOF)
	}
	return t
}

// aliases are names for variables that were written once.
func (b *binReader) aliases(all map[string]tensor) error {
	n := b.u32()
	for range min(n, maxVariables) {
		alias, name := b.name(), b.name()
		if b.err != nil {
			break
		}
		if t, ok := all[name]; ok {
			all[alias] = t
		}
	}
	if b.err != nil {
		return fmt.Errorf("model.bin: %w", b.err)
	}
	return nil
}

// check is an error for numbers that cannot be used, or that are not as many as the shape
// says.
func (t tensor) check() error {
	n, width := int64(1), int64(4)
	for _, d := range t.shape {
		if d > 1<<31 || n*max(d, 1) > 1<<33 {
			return fmt.Errorf("a shape of %v", t.shape)
		}
		n *= d
	}
	switch t.kind {
	case kindFloat32:
	case kindFloat16:
		width = 2
	default:
		return fmt.Errorf("element type %d; use a model in float16 or float32", t.kind)
	}
	if int64(len(t.raw)) != width*n {
		return fmt.Errorf("%d bytes for a shape of %v", len(t.raw), t.shape)
	}
	return nil
}

// floats are the tensor's numbers.
func (t tensor) floats() ([]float32, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	var out []float32
	if t.kind == kindFloat32 {
		for raw := t.raw; len(raw) > 0; raw = raw[4:] {
			out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
		}
		return out, nil
	}
	for raw := t.raw; len(raw) > 0; raw = raw[2:] {
		out = append(out, float16(binary.LittleEndian.Uint16(raw)))
	}
	return out, nil
}

// float16 reads a half-precision number.
func float16(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exponent {
	case 0: // zero and what is smaller than the smallest normal number
		v := float32(fraction) / (1 << 24)
		if sign != 0 {
			v = -v
		}
		return v
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}
