package gguf

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"regexp"
	"strconv"
)

// Model is a model in one file or in several shards. Methods may be called
// from several goroutines, except Close.
type Model struct {
	// Files in the order of the shards; the first holds the metadata.
	Files []*File
}

// Open opens a model. path is its only file or any of its shards; the others
// are looked for beside it, under the names that the engine expects.
func Open(path string) (*Model, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	m := &Model{Files: []*File{f}}
	no, count, err := f.shard()
	if err == nil && count > 1 {
		err = m.openShards(path, no, count)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("gguf: open %s: %w", path, err), m.Close())
	}
	return m, nil
}

// Path is the file to hand to the engine.
func (m *Model) Path() string { return m.Files[0].Path }

// Metadata of the model: that of the first file.
func (m *Model) Metadata() *Metadata { return &m.Files[0].Metadata }

// Tensors yields the tensors of all files in order, each with its file.
func (m *Model) Tensors() iter.Seq2[*File, *Tensor] {
	return func(yield func(*File, *Tensor) bool) {
		for _, f := range m.Files {
			for i := range f.Tensors {
				if !yield(f, &f.Tensors[i]) {
					return
				}
			}
		}
	}
}

// Close closes all files.
func (m *Model) Close() error {
	var errs []error
	for _, f := range m.Files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// shard reads the split keys: the number of this shard and of all shards. A
// file without them is the only one.
func (f *File) shard() (no, count uint64, err error) {
	if count, err = f.Metadata.uintOr(KeySplitCount, 1); err != nil || count <= 1 {
		return 0, 1, err
	}
	if no, err = f.Metadata.uintOr(KeySplitNo, 0); err != nil {
		return 0, 0, err
	}
	if count > 1<<16-1 || no >= count {
		return 0, 0, fmt.Errorf("%w: %s is %d, %s is %d", ErrShards, KeySplitNo, no, KeySplitCount, count)
	}
	return no, count, nil
}

// openShards opens the shards beside path, which is open already as number no.
func (m *Model) openShards(path string, no, count uint64) error {
	prefix, n, c, ok := SplitShardPath(path)
	if !ok || n != int(no) || c != int(count) {
		return fmt.Errorf("%w: this is shard %d of %d, so its name must end in %q", ErrShards, no+1, count, ShardPath("", int(no), int(count)))
	}
	files := make([]*File, count)
	files[no], m.Files = m.Files[0], files
	if err := missingShards(prefix, int(count)); err != nil {
		return err
	}
	for i := range files {
		if uint64(i) == no {
			continue
		}
		f, err := OpenFile(ShardPath(prefix, i, int(count)))
		if err != nil {
			return err
		}
		files[i] = f
		if n, c, err := f.shard(); err != nil || n != uint64(i) || c != count {
			return errors.Join(fmt.Errorf("%w: %s says shard %d of %d", ErrShards, f.Path, n+1, c), err)
		}
	}
	return m.checkShards()
}

// missingShards names what is not there, so that one message is enough to
// fetch it all.
func missingShards(prefix string, count int) error {
	var missing []string
	more := 0
	for i := range count {
		path := ShardPath(prefix, i, count)
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			continue // there, or opening it says more
		}
		if len(missing) == 8 {
			more++
			continue
		}
		missing = append(missing, path)
	}
	if missing == nil {
		return nil
	}
	err := fmt.Errorf("%w: missing %q", ErrShards, missing)
	if more > 0 {
		err = fmt.Errorf("%w and %d more", err, more)
	}
	return err
}

// checkShards compares the tensors found with what the first shard announces.
func (m *Model) checkShards() error {
	seen := make(map[string]*File)
	for f, t := range m.Tensors() {
		if other := seen[t.Name]; other != nil {
			return fmt.Errorf("%w: tensor %q is in %s and in %s", ErrShards, t.Name, other.Path, f.Path)
		}
		seen[t.Name] = f
	}
	want, err := m.Metadata().uintOr(KeySplitTensors, 0)
	if err != nil {
		return err
	}
	if uint64(len(seen)) != want {
		return fmt.Errorf("%w: %d tensors, %s says %d", ErrShards, len(seen), KeySplitTensors, want)
	}
	return nil
}

// ShardPath is the name of shard no (from 0) of count, as the engine builds it.
func ShardPath(prefix string, no, count int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.gguf", prefix, no+1, count)
}

var shardName = regexp.MustCompile(`(?s)^(.*)-(\d{5})-of-(\d{5})\.gguf$`)

// SplitShardPath takes the name of a shard apart; no counts from 0.
func SplitShardPath(path string) (prefix string, no, count int, ok bool) {
	m := shardName.FindStringSubmatch(path)
	if m == nil {
		return "", 0, 0, false
	}
	no, _ = strconv.Atoi(m[2]) // five digits
	count, _ = strconv.Atoi(m[3])
	if no < 1 || no > count {
		return "", 0, 0, false
	}
	return m[1], no - 1, count, true
}
