package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// container writes one object as a file and returns its bytes and the object's.
func container(t testing.TB, data []byte) []byte {
	t.Helper()
	dir := t.TempDir()
	identity, err := testIdentity().canonical()
	if err != nil {
		t.Fatal(err)
	}
	j := &Job{Kind: Write, Path: tokens(9, 1), From: 4, Data: data}
	h := plan(identity, j, []section{{len(data), 2, 2}})
	if _, err := writeFile(&coder{}, dir, "x", h, data, Planes); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "x"+fileSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// open reads all of a container.
func open(b []byte) (*header, []byte, error) {
	identity, err := testIdentity().canonical()
	if err != nil {
		return nil, nil, err
	}
	h, err := readHeader(bytes.NewReader(b), int64(len(b)), identity)
	if err != nil {
		return nil, nil, err
	}
	data, err := readBlocks(bytes.NewReader(b), []*coder{{}}, h, nil)
	return h, data, err
}

// payload is a small object of which one half can be coded.
func payload(n int) []byte {
	data := noise(n, 5)
	for i := 1; i < n; i += 2 {
		data[i] &= 3
	}
	return data
}

func TestEveryFlippedBitIsNoticed(t *testing.T) {
	data := payload(4000)
	b := container(t, data)
	h, got, err := open(b)
	if err != nil || !bytes.Equal(got, data) || h.blocks[0].codec != Planes {
		t.Fatalf("as written: %v, %+v", err, h.blocks)
	}
	for i := range 8 * len(b) {
		b[i/8] ^= 1 << (i % 8)
		if _, _, err := open(b); reasonOf(err) == Unreadable {
			t.Fatalf("bit %d of byte %d of %d: %v", i%8, i/8, len(b), err)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

func TestEveryOtherLengthIsNoticed(t *testing.T) {
	b := container(t, payload(3000))
	for n := range b {
		if _, _, err := open(b[:n]); !errors.Is(err, ErrTruncated) {
			t.Fatalf("%d bytes of %d: %v", n, len(b), err)
		}
	}
	_, _, err := open(append(bytes.Clone(b), 0))
	wantErr(t, err, ErrDamaged)
}

// reseal gives a changed header the checksum it should have.
func reseal(b []byte) []byte {
	n := int(binary.LittleEndian.Uint32(b[len(magic)+4:]))
	if n >= prefixBytes+sumBytes && n <= len(b) {
		sum := sha256.Sum256(b[:n-sumBytes])
		copy(b[n-sumBytes:n], sum[:])
	}
	return b
}

func TestNewerAndForeignAreTold(t *testing.T) {
	b := container(t, payload(3000))
	newer := bytes.Clone(b)
	newer[len(magic)] = version + 1
	_, _, err := open(newer)
	wantErr(t, err, ErrNewer)
	lossy := bytes.Clone(b)
	h, _, err := open(b)
	if err != nil {
		t.Fatal(err)
	}
	lossy[prefixBytes+sumBytes+4+len(h.identity)+9]++
	_, _, err = open(reseal(lossy))
	wantErr(t, err, ErrNewer)
	other := testIdentity()
	other.Rope.Base++
	identity, err := other.canonical()
	if err != nil {
		t.Fatal(err)
	}
	_, err = readHeader(bytes.NewReader(b), int64(len(b)), identity)
	wantErr(t, err, ErrForeign)
	if !bytes.Contains([]byte(err.Error()), []byte("rope")) {
		t.Errorf("the error does not say what differs: %v", err)
	}
}

// Damage that carries the right checksums of the header must still not pass, or
// else be what it says: the blocks have their own.
func TestEveryByteOfAResealedHeader(t *testing.T) {
	data := payload(3000)
	b := container(t, data)
	n := int(binary.LittleEndian.Uint32(b[len(magic)+4:]))
	for i := range n - sumBytes {
		for _, flip := range []byte{1, 0x80, 0xff} {
			c := bytes.Clone(b)
			c[i] ^= flip
			if _, got, err := open(reseal(c)); err == nil && !bytes.Equal(got, data) {
				t.Fatalf("byte %d ^ %x of the header gives other data", i, flip)
			}
		}
	}
}

func FuzzContainer(f *testing.F) {
	b := container(f, payload(3000))
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add(container(f, noise(200, 1)))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		for range 2 {
			h, data, err := open(b)
			if err != nil && data != nil {
				t.Fatal("data beside an error")
			}
			if err == nil && !bytes.Equal(h.append(nil), b[:h.bytes]) {
				t.Fatal("a header is not written as it was read")
			}
			if len(data) > maxGain*len(b) {
				t.Fatalf("%d bytes of %d", len(data), len(b))
			}
			if len(b) < prefixBytes {
				return
			}
			b = reseal(bytes.Clone(b)) // and past the checksum
		}
	})
}
