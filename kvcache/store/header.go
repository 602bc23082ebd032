package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"

	"dure/kvcache"
	"dure/kvcache/codec"
)

const (
	magic = "dure.kv\n"
	// version 1 has blocks of the state's bytes, version 2 of what package codec
	// made of it. Each is written where it says enough, so that what does not need
	// the later one is read by older programs.
	plainVersion = 1
	codedVersion = 2
	version      = codedVersion

	prefixBytes = len(magic) + 8
	entryBytes  = 19
	sumBytes    = sha256.Size
	// maxIdentity and maxHeader bound what is read before anything is verified.
	maxIdentity = 64 << 10
	maxHeader   = 64 << 20
)

// Why a file is not used.
var (
	// ErrForeign: states of another identity.
	ErrForeign = errors.New("of another model or engine")
	// ErrNewer: written by a later version of the format.
	ErrNewer = errors.New("of a later version")
	// ErrTruncated: cut short.
	ErrTruncated = errors.New("truncated")
	// ErrDamaged: not what was written.
	ErrDamaged = errors.New("damaged")
)

// header is all of a file but its blocks.
type header struct {
	identity []byte // canonical
	from, to int
	state    bool
	version  int
	quality  codec.Class
	last     kvcache.Tick
	prefix   [sumBytes]byte  // of the tokens [0, from)
	path     [sumBytes]byte  // of the tokens [0, to)
	own      []kvcache.Token // [from, to)
	basis    [8]byte         // of version 2: fingerprint, zeros for none
	original int64           // of version 2: size of the object's bytes
	blocks   []block
	sum      [sumBytes]byte // of the header itself
	bytes    int            // of the header itself
}

// block is a stretch of an object's bytes.
type block struct {
	raw, coded int
	codec      Codec
	section    section // record and head
	sumCoded   uint32  // CRC-32C
	sumRaw     uint32  // CRC-32, IEEE
}

// content is the size of an object's bytes, and of its blocks in the file.
func (h *header) content() (raw, coded int64) {
	for _, b := range h.blocks {
		raw += int64(b.raw)
		coded += int64(b.coded)
	}
	return raw, coded
}

// size of the header in bytes, which depends on counts only: it is known before
// the blocks are.
func (h *header) size() int {
	more := 0
	if h.version == codedVersion {
		more = codedMore
	}
	return prefixBytes + sumBytes + 4 + len(h.identity) + 4 + 4 + 2 + 8 + more + 2*sumBytes +
		4*len(h.own) + 4 + entryBytes*len(h.blocks) + sumBytes
}

func (h *header) append(dst []byte) []byte {
	start := len(dst)
	le := binary.LittleEndian
	dst = append(dst, magic...)
	dst = le.AppendUint32(dst, uint32(h.version))
	dst = le.AppendUint32(dst, uint32(h.size()))
	id := sha256.Sum256(h.identity)
	dst = append(dst, id[:]...)
	dst = le.AppendUint32(dst, uint32(len(h.identity)))
	dst = append(dst, h.identity...)
	dst = le.AppendUint32(dst, uint32(h.from))
	dst = le.AppendUint32(dst, uint32(h.to))
	flag := byte(0)
	if h.state {
		flag = 1
	}
	dst = append(dst, flag, byte(h.quality))
	dst = le.AppendUint64(dst, uint64(h.last))
	if h.version == codedVersion {
		dst = append(dst, h.basis[:]...)
		dst = le.AppendUint64(dst, uint64(h.original))
	}
	dst = append(dst, h.prefix[:]...)
	dst = append(dst, h.path[:]...)
	for _, t := range h.own {
		dst = le.AppendUint32(dst, uint32(t))
	}
	dst = le.AppendUint32(dst, uint32(len(h.blocks)))
	for _, b := range h.blocks {
		dst = le.AppendUint32(dst, uint32(b.raw))
		dst = le.AppendUint32(dst, uint32(b.coded))
		dst = append(dst, byte(b.codec), byte(b.section.record), byte(b.section.head))
		dst = le.AppendUint32(dst, b.sumCoded)
		dst = le.AppendUint32(dst, b.sumRaw)
	}
	h.sum, h.bytes = sha256.Sum256(dst[start:]), h.size()
	return append(dst, h.sum[:]...)
}

// prefixOf reads magic, version and length of the header from the first bytes of
// a file of this size.
func prefixOf(b []byte, size int64) (length int, err error) {
	if len(b) < prefixBytes {
		if bytes.HasPrefix([]byte(magic), b[:min(len(b), len(magic))]) {
			return 0, fmt.Errorf("%w: %d bytes", ErrTruncated, len(b))
		}
		return 0, fmt.Errorf("%w: no such container", ErrDamaged)
	}
	if string(b[:len(magic)]) != magic {
		return 0, fmt.Errorf("%w: no such container", ErrDamaged)
	}
	if v := binary.LittleEndian.Uint32(b[len(magic):]); v > version {
		return 0, fmt.Errorf("%w: version %d, this program knows %d", ErrNewer, v, version)
	} else if v < plainVersion {
		return 0, fmt.Errorf("%w: version %d", ErrDamaged, v)
	}
	n := int64(binary.LittleEndian.Uint32(b[len(magic)+4:]))
	if n < int64((&header{}).size()) || n > maxHeader {
		return 0, fmt.Errorf("%w: header of %d bytes", ErrDamaged, n)
	}
	if n > size {
		return 0, fmt.Errorf("%w: header of %d bytes in a file of %d", ErrTruncated, n, size)
	}
	return int(n), nil
}

// parseHeader reads a header, all of it and nothing more, of a file of this size.
func parseHeader(b []byte, size int64, identity []byte) (*header, error) {
	n, err := prefixOf(b, size)
	if err != nil {
		return nil, err
	}
	if n != len(b) {
		return nil, fmt.Errorf("%w: header of %d bytes, not %d", ErrDamaged, len(b), n)
	}
	h := &header{bytes: n, sum: sha256.Sum256(b[:n-sumBytes]), version: int(binary.LittleEndian.Uint32(b[len(magic):]))}
	if !bytes.Equal(h.sum[:], b[n-sumBytes:]) {
		return nil, fmt.Errorf("%w: checksum of the header", ErrDamaged)
	}
	f := fields{b: b[prefixBytes : n-sumBytes]}
	id := f.take(sumBytes)
	h.identity = f.take(min(f.u32(), maxIdentity))
	if got := sha256.Sum256(h.identity); !f.short && !bytes.Equal(id, got[:]) {
		return nil, fmt.Errorf("%w: hash of the identity", ErrDamaged)
	}
	if !f.short && !bytes.Equal(h.identity, identity) {
		return nil, fmt.Errorf("%w: %s", ErrForeign, difference(h.identity, identity))
	}
	if err := h.read(&f); err != nil {
		return nil, err
	}
	_, coded := h.content()
	switch want := int64(n) + coded; {
	case size < want:
		return nil, fmt.Errorf("%w: %d bytes of %d", ErrTruncated, size, want)
	case size > want:
		return nil, fmt.Errorf("%w: %d bytes after the end", ErrDamaged, size-want)
	}
	return h, nil
}

// read reads what follows the identity.
func (h *header) read(f *fields) error {
	h.from, h.to = f.u32(), f.u32()
	flags := f.take(2)
	h.last = int64(binary.LittleEndian.Uint64(f.take(8)))
	if h.version == codedVersion {
		h.basis = [8]byte(f.take(8))
		h.original = int64(binary.LittleEndian.Uint64(f.take(8)))
	}
	copy(h.prefix[:], f.take(sumBytes))
	copy(h.path[:], f.take(sumBytes))
	if f.short || h.from > h.to || flags[0] > 1 || h.from == h.to && flags[0] == 0 || h.to == 0 {
		return fmt.Errorf("%w: span [%d, %d)", ErrDamaged, h.from, h.to)
	}
	h.state, h.quality = flags[0] == 1, codec.Class(flags[1])
	if h.quality != codec.Exact && (h.version == plainVersion || !slices.Contains(codec.Classes(), h.quality)) {
		return fmt.Errorf("%w: quality class %d", ErrNewer, h.quality)
	}
	if h.to-h.from > len(f.b)/4 {
		return fmt.Errorf("%w: %d tokens in %d bytes", ErrDamaged, h.to-h.from, len(f.b))
	}
	h.own = make([]kvcache.Token, h.to-h.from)
	for i := range h.own {
		h.own[i] = int32(f.u32())
	}
	n := f.u32()
	if f.short || n*entryBytes != len(f.b) {
		return fmt.Errorf("%w: table of %d blocks in %d bytes", ErrDamaged, n, len(f.b))
	}
	h.blocks = make([]block, n)
	for i := range h.blocks {
		if err := h.blocks[i].read(f); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
	}
	if raw, _ := h.content(); h.version == codedVersion && (h.original < 1 || h.original/maxGain > raw) {
		return fmt.Errorf("%w: %d bytes coded as %d", ErrDamaged, h.original, raw)
	}
	return nil
}

func (b *block) read(f *fields) error {
	b.raw, b.coded = f.u32(), f.u32()
	kind := f.take(3)
	b.codec, b.section = Codec(kind[0]), section{b.raw, int(kind[1]), int(kind[2])}
	b.sumCoded, b.sumRaw = uint32(f.u32()), uint32(f.u32())
	if b.raw < 1 || b.raw > blockBytes || b.coded > b.raw || b.coded*maxGain < b.raw {
		return fmt.Errorf("%w: %d bytes coded as %d", ErrDamaged, b.raw, b.coded)
	}
	if b.codec >= codecs {
		return fmt.Errorf("%w: %v", ErrNewer, b.codec)
	}
	return nil
}

// fields reads from a header. What is missing reads as zeros, and is noted.
type fields struct {
	b     []byte
	short bool
}

func (f *fields) take(n int) []byte {
	if n > len(f.b) {
		f.short, f.b = true, nil
		return make([]byte, n)
	}
	out := f.b[:n:n]
	f.b = f.b[n:]
	return out
}

func (f *fields) u32() int { return int(binary.LittleEndian.Uint32(f.take(4))) }

// addTokens feeds tokens to the hash of a path.
func addTokens(h hash.Hash, tokens []kvcache.Token) {
	var buf [1024]byte
	for len(tokens) > 0 {
		n := min(len(tokens), len(buf)/4)
		for i, t := range tokens[:n] {
			binary.LittleEndian.PutUint32(buf[4*i:], uint32(t))
		}
		h.Write(buf[:4*n])
		tokens = tokens[n:]
	}
}

func pathSum(tokens []kvcache.Token) (out [sumBytes]byte) {
	h := sha256.New()
	addTokens(h, tokens)
	h.Sum(out[:0])
	return out
}
