package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/huff0"
)

// Codec says how the bytes of a block are stored. All are lossless.
type Codec uint8

const (
	// Raw: as they are.
	Raw Codec = iota
	// Planes: the bytes of a record apart, each plane in a Huffman code of its
	// own where that pays. Of a float the exponent costs half, the mantissa is
	// noise and stays as it is; a general compressor finds nothing in either.
	Planes
	codecs
)

func (c Codec) String() string {
	if c < codecs {
		return [...]string{"raw", "planes"}[c]
	}
	return fmt.Sprintf("codec %d", uint8(c))
}

// maxGain bounds what a block may grow by when it is decoded, and so what a file
// can make its reader allocate.
const maxGain = 512

// worth is the least a code must save, as a part of a block: less is not worth
// the time to decode it.
const worth = 64

// How a plane is stored.
const (
	planeRaw      = iota // its bytes
	planeConstant        // one byte
	planeCoded           // u32 length, huff0 with four streams
)

var errBlock = errors.New("malformed block")

// coder codes and decodes blocks. It belongs to one goroutine.
type coder struct {
	huff  huff0.Scratch
	plane []byte
	out   []byte
}

// encode gives the coded bytes of a block and the codec, borrowed until the next
// call.
func (c *coder) encode(b []byte, s section, want Codec) ([]byte, Codec) {
	if want == Raw || s.record < 2 || len(b)%s.record != 0 {
		return b, Raw
	}
	c.out = c.out[:0]
	for p := 0; p < s.head; p++ {
		c.plane = gather(c.plane[:0], b, s.record, p, 1)
		c.appendPlane()
	}
	if s.head < s.record {
		c.plane = gather(c.plane[:0], b, s.record, s.head, s.record-s.head)
		c.appendPlane()
	}
	if len(c.out) > len(b)-len(b)/worth || len(c.out)*maxGain < len(b) {
		return b, Raw
	}
	return c.out, Planes
}

func (c *coder) appendPlane() {
	c.huff.Reuse = huff0.ReusePolicyNone
	coded, _, err := huff0.Compress4X(c.plane, &c.huff)
	switch {
	case errors.Is(err, huff0.ErrUseRLE):
		c.out = append(c.out, planeConstant, c.plane[0])
	case err != nil || len(coded)+4 >= len(c.plane):
		c.out = append(append(c.out, planeRaw), c.plane...)
	default:
		c.out = append(c.out, planeCoded)
		c.out = binary.LittleEndian.AppendUint32(c.out, uint32(len(coded)))
		c.out = append(c.out, coded...)
	}
}

// decode fills dst, whose length is that of the block, from its coded bytes.
func (c *coder) decode(dst, coded []byte, codec Codec, s section) error {
	switch codec {
	case Raw:
		if copy(dst, coded) != len(dst) || len(coded) != len(dst) {
			return fmt.Errorf("%w: %d raw bytes for %d", errBlock, len(coded), len(dst))
		}
		return nil
	case Planes:
		return c.decodePlanes(dst, coded, s)
	}
	return fmt.Errorf("%w: %v", errBlock, codec)
}

func (c *coder) decodePlanes(dst, coded []byte, s section) error {
	if s.record < 2 || s.head < 1 || s.head > s.record || len(dst)%s.record != 0 {
		return fmt.Errorf("%w: records of %d bytes in %d", errBlock, s.record, len(dst))
	}
	n := len(dst) / s.record
	for p := 0; p < s.record; {
		width := 1
		if p == s.head {
			width = s.record - p
		}
		plane, rest, err := c.readPlane(coded, n*width)
		if err != nil {
			return err
		}
		scatter(dst, plane, s.record, p, width)
		coded, p = rest, p+width
	}
	if len(coded) > 0 {
		return fmt.Errorf("%w: %d bytes too many", errBlock, len(coded))
	}
	return nil
}

// readPlane gives the next plane of n bytes, borrowed until the next call.
func (c *coder) readPlane(coded []byte, n int) (plane, rest []byte, err error) {
	if len(coded) < 2 {
		return nil, nil, fmt.Errorf("%w: no plane left", errBlock)
	}
	mode, coded := coded[0], coded[1:]
	switch mode {
	case planeRaw:
		if len(coded) < n {
			return nil, nil, fmt.Errorf("%w: plane of %d bytes, %d are left", errBlock, n, len(coded))
		}
		return coded[:n], coded[n:], nil
	case planeConstant:
		c.plane = c.room(n)
		for i := range c.plane {
			c.plane[i] = coded[0]
		}
		return c.plane, coded[1:], nil
	case planeCoded:
		if len(coded) < 4 {
			return nil, nil, fmt.Errorf("%w: no length of a plane", errBlock)
		}
		size := binary.LittleEndian.Uint32(coded)
		if coded = coded[4:]; uint64(size) > uint64(len(coded)) {
			return nil, nil, fmt.Errorf("%w: coded plane of %d bytes, %d are left", errBlock, size, len(coded))
		}
		if err := c.readCoded(coded[:size], n); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errBlock, err)
		}
		return c.plane, coded[size:], nil
	}
	return nil, nil, fmt.Errorf("%w: plane of kind %d", errBlock, mode)
}

func (c *coder) readCoded(coded []byte, n int) error {
	_, data, err := huff0.ReadTable(coded, &c.huff)
	if err != nil {
		return err
	}
	out, err := c.huff.Decoder().Decompress4X(c.room(n)[:0:n], data)
	if err != nil {
		return err
	}
	if len(out) != n {
		return fmt.Errorf("%d bytes decoded, not %d", len(out), n)
	}
	c.plane = out
	return nil
}

func (c *coder) room(n int) []byte {
	if cap(c.plane) < n {
		return make([]byte, n, blockBytes)
	}
	return c.plane[:n]
}

// gather appends bytes [at, at+width) of each record.
func gather(dst, b []byte, record, at, width int) []byte {
	if width == 1 {
		for i := at; i < len(b); i += record {
			dst = append(dst, b[i])
		}
		return dst
	}
	for i := at; i < len(b); i += record {
		dst = append(dst, b[i:i+width]...)
	}
	return dst
}

// scatter is its inverse.
func scatter(dst, plane []byte, record, at, width int) {
	if width == 1 {
		for i := range plane {
			dst[i*record+at] = plane[i]
		}
		return
	}
	for i := 0; i*width < len(plane); i++ {
		copy(dst[i*record+at:], plane[i*width:(i+1)*width])
	}
}
