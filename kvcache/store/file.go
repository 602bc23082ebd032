package store

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"dure/kvcache/codec"
)

// ErrNoSpace: the disk is full, or a quota or limit of the system is reached.
var ErrNoSpace = errors.New("no space left on the disk; free some, or lower the budget of the disk tier")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// plan makes the header of an object, its blocks cut but not coded yet.
func plan(identity []byte, j *Job, cut []section) *header {
	h := &header{
		version: plainVersion, quality: codec.Exact,
		identity: identity, from: j.From, to: len(j.Path), state: j.State, last: j.Last,
		prefix: pathSum(j.Path[:j.From]), path: pathSum(j.Path), own: j.Path[j.From:],
	}
	h.cut(cut)
	return h
}

// cut makes blocks of sections.
func (h *header) cut(sections []section) {
	h.blocks = nil
	for _, s := range sections {
		step := blockBytes / s.record * s.record
		for at := 0; at < s.bytes; at += step {
			h.blocks = append(h.blocks, block{raw: min(step, s.bytes-at), section: section{0, s.record, s.head}})
		}
	}
}

// codedMore is what the header of a coded object has beyond that of a plain one.
const codedMore = 16

// most is the most that the file of an object can take.
func (h *header) most() int64 {
	raw, _ := h.content()
	return int64(h.size()) + codedMore + raw
}

// writeFile writes an object as dir/name: all of it and for good, or nothing.
func writeFile(c *coder, dir, name string, h *header, data []byte, codec Codec) (size int64, err error) {
	tmp := filepath.Join(dir, name+tmpSuffix)
	final := filepath.Join(dir, name+fileSuffix)
	defer func() {
		if err != nil {
			// What cannot be removed now, Open removes.
			_ = os.Remove(tmp)
			if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
				err = fmt.Errorf("%w: %w", ErrNoSpace, err)
			}
			err = fmt.Errorf("write %s: %w", final, err)
		}
	}()
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	size, err = writeBlocks(f, c, h, data, codec)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	if err := os.Rename(tmp, final); err != nil {
		return 0, err
	}
	if err := syncDir(dir); err != nil {
		// It may or may not survive a crash: as it was not acknowledged, it goes.
		return 0, errors.Join(err, os.Remove(final))
	}
	return size, nil
}

// writeBlocks leaves room for the header, which it writes last.
func writeBlocks(f *os.File, c *coder, h *header, data []byte, codec Codec) (int64, error) {
	at := int64(h.size())
	for i := range h.blocks {
		b := &h.blocks[i]
		raw := data[:b.raw]
		data = data[b.raw:]
		var coded []byte
		coded, b.codec = c.encode(raw, b.section, codec)
		b.coded, b.sumCoded, b.sumRaw = len(coded), crc32.Checksum(coded, castagnoli), crc32.ChecksumIEEE(raw)
		if _, err := f.WriteAt(coded, at); err != nil {
			return 0, err
		}
		at += int64(len(coded))
	}
	_, err := f.WriteAt(h.append(make([]byte, 0, h.size())), 0)
	return at, err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// scanBytes is what is read of a file at first: nearly always the whole header.
const scanBytes = 4 << 10

// readHeader reads and verifies the header of a file.
func readHeader(f io.ReaderAt, size int64, identity []byte) (*header, error) {
	buf := make([]byte, min(scanBytes, size))
	if err := readAll(f, 0, buf); err != nil {
		return nil, err
	}
	n, err := prefixOf(buf, size)
	if err != nil {
		return nil, err
	}
	if got := len(buf); n > got {
		buf = append(buf, make([]byte, n-got)...)
		if err := readAll(f, int64(got), buf[got:]); err != nil {
			return nil, err
		}
	}
	return parseHeader(buf[:n], size, identity)
}

// readAll fills b, or says that the file is not what its size promised.
func readAll(f io.ReaderAt, at int64, b []byte) error {
	n, err := f.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: at byte %d", ErrTruncated, at+int64(n))
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// readFile reads an object and verifies all of it, with several goroutines. sum
// is that of the header it must have.
func (k *kit) readFile(path string, identity []byte, sum [sumBytes]byte, dst []byte) ([]byte, *header, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	h, err := readHeader(f, info.Size(), identity)
	if err == nil && h.sum != sum {
		err = fmt.Errorf("%w: it is another object", ErrDamaged)
	}
	var data []byte
	if err == nil {
		data, err = k.readBody(f, h, dst)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, h, nil
}

// readBody reads what the blocks hold, and decodes it where it is coded.
func (k *kit) readBody(f io.ReaderAt, h *header, dst []byte) ([]byte, error) {
	if h.version == plainVersion {
		return readBlocks(f, k.coders, h, dst)
	}
	var err error
	if k.payload, err = readBlocks(f, k.coders, h, k.payload); err != nil {
		return nil, err
	}
	return k.decode(dst, h)
}

func readBlocks(f io.ReaderAt, coders []*coder, h *header, dst []byte) ([]byte, error) {
	raw, _ := h.content()
	if int64(cap(dst)) < raw {
		dst = make([]byte, raw)
	}
	dst = dst[:raw]
	var (
		next   atomic.Int64
		failed atomic.Bool
		group  sync.WaitGroup
		starts = make([][2]int64, len(h.blocks))
		errs   = make([]error, len(coders))
	)
	at := [2]int64{0, int64(h.bytes)}
	for i, b := range h.blocks {
		starts[i] = at
		at[0] += int64(b.raw)
		at[1] += int64(b.coded)
	}
	for k, c := range coders {
		group.Go(func() {
			buf := make([]byte, blockBytes)
			for errs[k] == nil && !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= len(h.blocks) {
					return
				}
				b := &h.blocks[i]
				if err := c.read(dst[starts[i][0]:][:b.raw], f, starts[i][1], b, buf[:b.coded]); err != nil {
					errs[k] = fmt.Errorf("block %d: %w", i, err)
					failed.Store(true)
				}
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return dst, nil
}

// read reads one block. Nothing reaches the decoder before its checksum holds.
func (c *coder) read(dst []byte, f io.ReaderAt, at int64, b *block, buf []byte) error {
	if err := readAll(f, at, buf); err != nil {
		return err
	}
	if crc32.Checksum(buf, castagnoli) != b.sumCoded {
		return fmt.Errorf("%w: checksum of the coded bytes", ErrDamaged)
	}
	if err := c.decode(dst, buf, b.codec, b.section); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if crc32.ChecksumIEEE(dst) != b.sumRaw {
		return fmt.Errorf("%w: checksum of the decoded bytes", ErrDamaged)
	}
	return nil
}

// span says which rows of a path an object holds.
func span(from, to int, state bool) string {
	if state {
		return fmt.Sprintf("[%d, %d) with state", from, to)
	}
	return fmt.Sprintf("[%d, %d)", from, to)
}

// checkJob refuses what the reader would.
func checkJob(j *Job) error {
	n := len(j.Path)
	if n == 0 || j.From < 0 || j.From > n || j.From == n && !j.State || len(j.Data) == 0 {
		return fmt.Errorf("write object %d: nothing in %s of %d tokens with %d bytes", j.Object, span(j.From, n, j.State), n, len(j.Data))
	}
	return nil
}
