package key

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"dure/inference/fetch"
)

// FileName is the file of keys in DURE_HOME. The number goes up when an older
// dure could misread it; the field "format" in it says the same, for files of
// other names.
const FileName = "keys-1.json"

// format is what is written; a file without the field is read as format 1.
const format = 1

// maxFile is more than MaxKeys keys take.
const maxFile = 16 << 20

// Read returns the keys of a file, in its order; none where there is no file.
// What cannot be understood is a *FileError, a file of a later dure a
// *fetch.NewerError.
func Read(path string) ([]Key, error) {
	keys, _, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return keys, err
}

// read also returns what was known of the very file that was read; without one it
// is fs.ErrNotExist.
func read(path string) ([]Key, fs.FileInfo, error) {
	data, info, err := readWhole(path)
	if err != nil {
		return nil, info, fmt.Errorf("keys: %w", err)
	}
	if err := fetch.CheckFormat(path, data, format); err != nil {
		return nil, info, fmt.Errorf("keys: %w", err)
	}
	keys, fault := decode(data)
	if fault != nil {
		fault.Path = path
		return nil, info, fault
	}
	return keys, info, nil
}

func readWhole(path string) ([]byte, fs.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, fmt.Errorf("%s is not a plain file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return data, info, err
}

// Exposed says what is wrong with who can read or write a file of keys; "" for
// nothing, also where there is no file.
func Exposed(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return exposed(path, info)
}

func exposed(path string, info fs.FileInfo) string {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Sprintf("%s has mode %04o: others can see or change who may use the server; run `chmod 600 %s`", path, mode, path)
	}
	return ""
}

// Change replaces the keys of a file by what change makes of them, under a lock
// that one process holds at a time: of two changes at once none is lost. The file
// and its folder are made if they are missing. If change fails, nothing is
// written. Beside the file, lock/ holds the lock and tmp/ unfinished work.
func Change(ctx context.Context, path string, log *slog.Logger, change func([]Key) ([]Key, error)) error {
	f := files(path, log)
	unlock, err := f.Lock(ctx, lockKeys)
	if err != nil {
		return fmt.Errorf("keys %s: %w", path, err)
	}
	defer unlock()
	keys, err := Read(path)
	if err != nil {
		return err
	}
	if keys, err = change(keys); err != nil {
		return err
	}
	keys = append([]Key{}, keys...) // a list in the file, also of none
	all := newRoster()
	for _, k := range keys {
		if err := all.add(k); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(fileForm{format, keys}, "", " ") // a person may edit it
	if err == nil {
		err = writeWhole(f, lockKeys, path, data)
	}
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	return nil
}

// The locks beside a file of keys, and the stages made under them.
const (
	lockKeys  = "keys"
	lockUsage = "keys-usage"
)

// files is whoever locks and publishes in the folder of a file.
func files(path string, log *slog.Logger) *fetch.Fetcher {
	return &fetch.Fetcher{Home: filepath.Dir(path), Log: log}
}

type fileForm struct {
	Format int   `json:"format"`
	Keys   []Key `json:"keys"`
}

// writeWhole replaces a file. The caller holds the lock name.
func writeWhole(f *fetch.Fetcher, name, path string, data []byte) (err error) {
	stage, err := f.Stage(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Discard()) }()
	const part = "part"
	if err := os.WriteFile(filepath.Join(stage.Dir, part), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, fetch.DiskFull(err, f.Home, 0))
	}
	return stage.Publish(part, path)
}
