package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Progress is how far one step is. Done and Total are bytes, except where the
// maker of the step says otherwise; Total is 0 where it is not known.
type Progress struct {
	Step        string // "download", "verify", "fetch", "unpack" and others of the callers
	Name        string // what is worked on
	Done, Total int64
}

// ProgressFunc receives progress, from one goroutine at a time. It must return
// quickly.
type ProgressFunc func(Progress)

// Fetcher fetches into one home folder. The zero value but for Home is usable.
type Fetcher struct {
	Home     string       // absolute path of the home folder (DURE_HOME)
	Log      *slog.Logger // warnings and long steps; nil drops them
	Progress ProgressFunc // may be nil
	Web      Web          // for Probe, ReadRange and Download
}

func (f *Fetcher) log() *slog.Logger {
	if f.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return f.Log
}

// Report passes progress on where somebody listens.
func (f *Fetcher) Report(p Progress) {
	if f.Progress != nil {
		f.Progress(p)
	}
}

// Downloads is the folder of the archives.
func (f *Fetcher) Downloads() string { return filepath.Join(f.Home, "downloads") }

// Have reports whether the archive lies in downloads, unverified.
func (f *Fetcher) Have(a Artifact) bool {
	info, err := os.Stat(filepath.Join(f.Downloads(), a.File))
	return err == nil && info.Mode().IsRegular()
}

// Fetch returns the path of the verified archive in downloads. One that is
// there already is verified and used; a corrupt one is discarded with a warning
// and fetched again. Errors: *ToolError, *ClientError, *HashError,
// *DiskFullError, or ctx's cause.
func (f *Fetcher) Fetch(ctx context.Context, a Artifact) (string, error) {
	path, err := f.fetch(ctx, a)
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", a.Spec(), err)
	}
	return path, nil
}

func (f *Fetcher) fetch(ctx context.Context, a Artifact) (string, error) {
	name := "download-" + a.File
	unlock, err := f.Lock(ctx, name)
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(f.Downloads(), a.File)
	ok, err := f.reuse(ctx, a, path)
	if err != nil || ok {
		return path, err
	}
	if err := CheckSpace(f.Home, room(a)); err != nil {
		return "", err
	}
	stage, err := f.Stage(name)
	if err != nil {
		return "", err
	}
	defer stage.Discard() // what stays after a failure here, the next Stage removes
	if err := f.runClient(ctx, a, stage.Dir); err != nil {
		return "", err
	}
	if err := f.verify(ctx, a, filepath.Join(stage.Dir, a.File)); err != nil {
		return "", err
	}
	if err := stage.Publish(a.File, path); err != nil {
		return "", err
	}
	return path, nil
}

// FetchAll fetches the artifacts one after the other and returns their paths in
// the same order. The progress is one of step "fetch", of this name, over the
// bytes of all, and never goes back. What was fetched before a failure stays in
// downloads, so that the next attempt goes on from there. Errors are Fetch's.
func (f *Fetcher) FetchAll(ctx context.Context, name string, all []Artifact) ([]string, error) {
	var total, before, done int64
	for _, a := range all {
		total += a.Bytes
	}
	one := *f
	one.Progress = func(p Progress) {
		done = max(done, before+p.Done)
		f.Report(Progress{Step: "fetch", Name: name, Done: done, Total: total})
	}
	if f.Progress == nil {
		one.Progress = nil // nobody listens: nothing is to be watched
	}
	var paths []string
	for _, a := range all {
		path, err := one.Fetch(ctx, a)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
		before += a.Bytes
	}
	return paths, nil
}

// Room is what FetchAll needs on the disk for those that are not there yet.
func (f *Fetcher) Room(all ...Artifact) uint64 {
	missing := slices.DeleteFunc(slices.Clone(all), f.Have)
	return room(missing...)
}

// room is what a client needs on the disk for archives that it fetches one
// after the other: both hold the one at hand twice for a moment.
func room(all ...Artifact) uint64 {
	var sum, largest uint64
	for _, a := range all {
		sum += uint64(a.Bytes)
		largest = max(largest, uint64(a.Bytes))
	}
	return sum + largest
}

// reuse looks for the archive in downloads.
func (f *Fetcher) reuse(ctx context.Context, a Artifact, path string) (bool, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err := f.verify(ctx, a, path)
	if err == nil {
		return true, nil
	}
	var wrong *HashError
	if !errors.As(err, &wrong) {
		return false, err
	}
	f.log().Warn("discarding a corrupt archive", "path", path, "expected", wrong.Want, "got", wrong.Got)
	if err := os.Remove(path); err != nil {
		return false, err
	}
	return false, nil
}

func (f *Fetcher) verify(ctx context.Context, a Artifact, path string) error {
	return f.Verify(ctx, path, a.Hash, a.Bytes)
}

// Verify is h.Verify with progress of the step "verify"; bytes is the file's
// size, for the progress only.
func (f *Fetcher) Verify(ctx context.Context, path string, h Hash, bytes int64) error {
	name := filepath.Base(path)
	f.Report(Progress{Step: "verify", Name: name, Total: bytes})
	var done, told int64
	count := func(n int) {
		if done += int64(n); done-told >= verifyEvery && done < bytes {
			told = done
			f.Report(Progress{Step: "verify", Name: name, Done: done, Total: bytes})
		}
	}
	if err := h.verify(ctx, path, count); err != nil {
		return err
	}
	f.Report(Progress{Step: "verify", Name: name, Done: bytes, Total: bytes})
	return nil
}

// verifyEvery is how many bytes are hashed between two reports.
const verifyEvery = 64 << 20

func (f *Fetcher) runClient(ctx context.Context, a Artifact, stage string) error {
	p, err := a.command(ctx, stage, f.Downloads())
	if err != nil {
		return err
	}
	var output tail
	p.Output = &output
	f.log().Info("fetching", "package", a.Spec(), "client", string(a.Client), "bytes", a.Bytes)
	stop := f.watch(stage, a)
	err = Run(ctx, p)
	stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return a.clientError(p, err, output.String(), stage, f.Downloads())
	}
	if _, err := os.Stat(filepath.Join(stage, a.File)); err != nil {
		return &ClientError{Command: p.String(), Status: "no file " + a.File, Failure: FailureOther, Output: output.String(),
			Fix: "the registry gave another file than the pinned one; " + a.copyHint(f.Downloads())}
	}
	f.Report(Progress{Step: "download", Name: a.File, Done: a.Bytes, Total: a.Bytes})
	return nil
}

// watchEvery is often enough for a progress bar.
const watchEvery = 200 * time.Millisecond

// watch reports the size of the largest file under stage until stop is called:
// neither client has a progress output that all its versions share.
func (f *Fetcher) watch(stage string, a Artifact) (stop func()) {
	if f.Progress == nil {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			f.Report(Progress{Step: "download", Name: a.File, Done: min(largest(stage), a.Bytes), Total: a.Bytes})
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	}()
	return func() { close(quit); <-done }
}

// largest is the size of the largest file under dir. Files come and go while it
// looks, so an error only means that there is nothing to count.
func largest(dir string) int64 {
	var most int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			most = max(most, info.Size())
		}
		return nil
	})
	return most
}

// Forget removes an archive whose contents are published. Failing to is only a
// waste of room, so it is logged.
func (f *Fetcher) Forget(a Artifact) {
	err := os.Remove(filepath.Join(f.Downloads(), a.File))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.log().Warn("cannot remove an archive that is no longer needed", "error", err)
	}
}
