package codec

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/klauspost/compress/fse"
	"github.com/klauspost/compress/huff0"
)

// How a run of symbols is stored.
const (
	runRaw      = iota // its bytes
	runConstant        // one byte
	runHuffman         // u32 length, huff0 with four streams
	runStates          // u32 length, finite state entropy
)

// runBytes is the most symbols coded with one table: huff0 takes twice as many.
const runBytes = 128 << 10

// fewest symbols for which a table pays.
const fewSymbols = 64

// entropy codes runs of symbols. It belongs to one goroutine.
type entropy struct {
	huff huff0.Scratch
	fse  fse.Scratch
}

// append codes symbols, in as many runs as they need.
func (e *entropy) append(dst, symbols []byte) []byte {
	for len(symbols) > 0 {
		n := min(len(symbols), runBytes)
		dst = e.appendRun(dst, symbols[:n])
		symbols = symbols[n:]
	}
	return dst
}

func (e *entropy) appendRun(dst, symbols []byte) []byte {
	if len(symbols) < fewSymbols {
		return append(append(dst, runRaw), symbols...)
	}
	bits, most := measure(symbols)
	switch {
	case most == len(symbols):
		return append(dst, runConstant, symbols[0])
	case bits > 7.9:
		return append(append(dst, runRaw), symbols...)
	}
	mode, coded := byte(runHuffman), []byte(nil)
	var err error
	if bits < statesBelow {
		mode = runStates
		coded, err = fse.Compress(symbols, &e.fse)
	} else {
		e.huff.Reuse = huff0.ReusePolicyNone
		coded, _, err = huff0.Compress4X(symbols, &e.huff)
	}
	if err != nil || len(coded)+4 >= len(symbols) {
		return append(append(dst, runRaw), symbols...)
	}
	dst = binary.LittleEndian.AppendUint32(append(dst, mode), uint32(len(coded)))
	return append(dst, coded...)
}

// statesBelow this entropy in bits a Huffman code, which gives each symbol whole
// bits, wastes too much.
const statesBelow = 4

// measure gives the entropy of symbols in bits and how often the commonest comes.
func measure(symbols []byte) (bits float64, most int) {
	var count [4][256]uint32
	i := 0
	for ; i+4 <= len(symbols); i += 4 {
		count[0][symbols[i]]++
		count[1][symbols[i+1]]++
		count[2][symbols[i+2]]++
		count[3][symbols[i+3]]++
	}
	for ; i < len(symbols); i++ {
		count[0][symbols[i]]++
	}
	n := float64(len(symbols))
	for s := range 256 {
		c := int(count[0][s] + count[1][s] + count[2][s] + count[3][s])
		if c > 0 {
			bits -= float64(c) / n * math.Log2(float64(c)/n)
		}
		most = max(most, c)
	}
	return bits, most
}

// read fills dst with symbols and returns what follows them.
func (e *entropy) read(dst, coded []byte) (rest []byte, err error) {
	for len(dst) > 0 {
		n := min(len(dst), runBytes)
		if coded, err = e.readRun(dst[:n:n], coded); err != nil {
			return nil, err
		}
		dst = dst[n:]
	}
	return coded, nil
}

func (e *entropy) readRun(dst, coded []byte) (rest []byte, err error) {
	if len(coded) < 2 {
		return nil, fmt.Errorf("%w: no symbols left", ErrCoded)
	}
	mode, coded := coded[0], coded[1:]
	switch mode {
	case runRaw:
		if copy(dst, coded) < len(dst) {
			return nil, fmt.Errorf("%w: %d symbols, %d bytes are left", ErrCoded, len(dst), len(coded))
		}
		return coded[len(dst):], nil
	case runConstant:
		for i := range dst {
			dst[i] = coded[0]
		}
		return coded[1:], nil
	case runHuffman, runStates:
		if len(coded) < 4 {
			return nil, fmt.Errorf("%w: no length of coded symbols", ErrCoded)
		}
		size := binary.LittleEndian.Uint32(coded)
		if coded = coded[4:]; uint64(size) > uint64(len(coded)) {
			return nil, fmt.Errorf("%w: %d bytes of coded symbols, %d are left", ErrCoded, size, len(coded))
		}
		if mode == runHuffman {
			err = e.readHuffman(dst, coded[:size])
		} else {
			err = e.readStates(dst, coded[:size])
		}
		return coded[size:], err
	}
	return nil, fmt.Errorf("%w: symbols of kind %d", ErrCoded, mode)
}

func (e *entropy) readHuffman(dst, coded []byte) error {
	_, data, err := huff0.ReadTable(coded, &e.huff)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCoded, err)
	}
	out, err := e.huff.Decoder().Decompress4X(dst[:0], data)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCoded, err)
	}
	if len(out) != len(dst) {
		return fmt.Errorf("%w: %d symbols decoded, not %d", ErrCoded, len(out), len(dst))
	}
	return nil
}

func (e *entropy) readStates(dst, coded []byte) error {
	e.fse.DecompressLimit = runBytes + 1024 // checked by whole pieces of 256
	out, err := fse.Decompress(coded, &e.fse)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCoded, err)
	}
	if len(out) != len(dst) {
		return fmt.Errorf("%w: %d symbols decoded, not %d", ErrCoded, len(out), len(dst))
	}
	copy(dst, out)
	return nil
}
