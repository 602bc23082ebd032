package gguf

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
)

const (
	samples     = 256      // of a file's tensor data
	sampleBytes = 16 << 10 // each
)

// Fingerprint tells the weights of one model from those of another: a SHA-256
// over the header of each file, its size, and samples of its tensor data from
// beginning to end. It reads a few megabytes however large the file is; that it
// is undamaged is not proven by it.
func (m *Model) Fingerprint() ([]byte, error) {
	h := sha256.New()
	for _, f := range m.Files {
		file, err := os.Open(f.Path)
		if err != nil {
			return nil, fmt.Errorf("fingerprint: %w", err)
		}
		defer file.Close()
		binary.Write(h, binary.LittleEndian, f.Size)
		buf := make([]byte, sampleBytes)
		read := func(at, n uint64) error {
			for n > 0 {
				k := min(n, sampleBytes)
				if _, err := file.ReadAt(buf[:k], int64(at)); err != nil {
					return fmt.Errorf("fingerprint of %s: %w", f.Path, err)
				}
				h.Write(buf[:k])
				at, n = at+k, n-k
			}
			return nil
		}
		if err := read(0, f.DataOffset); err != nil {
			return nil, err
		}
		data := f.Size - f.DataOffset
		for i := range uint64(samples) {
			at := data / samples * i
			if err := read(f.DataOffset+at, min(sampleBytes, data-at)); err != nil {
				return nil, err
			}
		}
	}
	return h.Sum(nil), nil
}
