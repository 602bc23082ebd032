package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dure/gguf"
	"dure/inference/fetch"
)

// Removed is what Remove did.
type Removed struct {
	Files []string
	Bytes int64 // what they took on the disk
	// Kept are files in the model's folder that dure did not make.
	Kept []string
}

// Remove takes a model off the disk: the files that dure pulled or verified,
// their notes and its downloads. Files of other programs that were used in place
// stay, and only the note of them goes; so does whatever else somebody put into
// the folder. The pin stays: a later pull gets the same bytes.
func Remove(ctx context.Context, f *fetch.Fetcher, name string) (Removed, error) {
	r, err := remove(ctx, f, name)
	if err != nil {
		return r, fmt.Errorf("remove model %s: %w", name, err)
	}
	return r, nil
}

func remove(ctx context.Context, f *fetch.Fetcher, name string) (Removed, error) {
	var r Removed
	if !nameRE.MatchString(name) {
		return r, errors.New("not the name of a model")
	}
	unlock, err := f.Lock(ctx, "model-"+name)
	if err != nil {
		return r, err
	}
	defer unlock()
	made, others, err := madeIn(folder(f.Home, name))
	if err != nil {
		return r, err
	}
	parts, err := names(f.Downloads())
	if err != nil {
		return r, err
	}
	for _, d := range parts {
		if strings.HasPrefix(d.Name(), name+"+") {
			made = append(made, filepath.Join(f.Downloads(), d.Name()))
		}
	}
	r.Kept = others
	for _, file := range made {
		bytes, err := DiskUse(file)
		if err == nil {
			err = os.Remove(file)
		}
		if err != nil {
			return r, err
		}
		r.Files, r.Bytes = append(r.Files, file), r.Bytes+bytes
	}
	if len(others) == 0 {
		if err := os.Remove(folder(f.Home, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	return r, nil
}

// ErrNotHere says that a model is not on this machine.
var ErrNotHere = errors.New("it is not on this machine")

// DamagedError says that a file is no longer what it was verified to be.
type DamagedError struct {
	Model string
	Path  string
	// Aside is where it was moved; empty for a file that is not dure's, which is
	// left alone.
	Aside string
	Err   error
}

func (e *DamagedError) Error() string {
	if e.Aside == "" {
		return fmt.Sprintf("%s is damaged and was left where it is, since it is not dure's: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s was damaged and is now %s: %v; get it again with `dure pull %s`", e.Path, e.Aside, e.Err, e.Model)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Verified is a file that was read through.
type Verified struct {
	Path   string
	SHA256 string // empty where none is known: then only the header was read
}

// Verify reads all files of a model again and compares them with their hashes. A
// damaged file of dure's own is set aside, so that nothing loads it. Where no hash
// is known, and for a user's own file, the header must be sound and nothing that
// it announces be missing; its architecture must always be the entry's. Errors
// are ErrRemote, ErrNotHere, a *DamagedError for each damaged file, what speaks
// against a whole file, or ctx's cause.
func Verify(ctx context.Context, f *fetch.Fetcher, e Entry) ([]Verified, error) {
	all, err := verifyEntry(ctx, f, e)
	if err != nil {
		return all, fmt.Errorf("verify model %s: %w", e.Name, err)
	}
	return all, nil
}

func verifyEntry(ctx context.Context, f *fetch.Fetcher, e Entry) ([]Verified, error) {
	if e.Remote() {
		return nil, ErrRemote
	}
	if e.Source.Path == "" {
		unlock, err := f.Lock(ctx, "model-"+e.Name)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	first, ok := Local(f.Home, e)
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNotHere, e.HowToGet())
	}
	var all []Verified
	var errs []error
	files := wants(f.Home, e)
	for i, w := range files {
		file := first
		if i > 0 {
			file = filepath.Join(filepath.Dir(first), w.name)
		}
		err := check(ctx, f, file, w.sha256)
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		if err != nil {
			errs = append(errs, setAside(f.Home, e, file, w, err))
			continue
		}
		all = append(all, Verified{file, w.sha256})
	}
	if len(errs) == 0 && (e.Architecture != "" || files[0].sha256 == "" || e.Source.Path != "") {
		if err := checkHeader(e, first); err != nil { // shards are missing, or it is another model: nothing is damaged
			return nil, err
		}
	}
	return all, errors.Join(errs...)
}

// check reads a file through, or only its header where no hash is known.
func check(ctx context.Context, f *fetch.Fetcher, file, sha256 string) error {
	if sha256 != "" {
		return verify(ctx, f, sha256, file)
	}
	m, err := gguf.OpenFile(file)
	if err != nil {
		return err
	}
	return m.Close()
}

// setAside makes sure that a damaged file is not loaded.
func setAside(home string, e Entry, file string, w wanted, cause error) error {
	d := &DamagedError{Model: e.Name, Path: file, Err: cause}
	if e.Source.Path != "" {
		return d
	}
	if !Owned(home, file) {
		return errors.Join(d, os.Remove(filepath.Join(folder(home, e.Name), w.name+whereSuffix)))
	}
	aside := file + damagedSuffix
	if err := os.Rename(file, aside); err != nil {
		return errors.Join(d, err)
	}
	d.Aside = aside
	if err := os.Remove(noteOf(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(d, err)
	}
	return d
}
