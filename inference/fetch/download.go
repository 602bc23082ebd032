package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxRestarts is how often a file may change while it is fetched.
const maxRestarts = 3

// Download fetches a file in ranges, several at a time, and returns the path of
// the verified file in downloads; Publish moves it from there. r is what Probe
// said of it. What a killed process, or a machine that lost power, had fetched is
// not fetched again. Progress has the step "download" and begins with what is
// there. Errors: *WebError, *SizeError, *HashError (what was fetched is then
// removed, since nobody knows which bytes are wrong), *NewerError, *DiskFullError,
// or ctx's cause; after all but a *HashError what was fetched stays.
func (f *Fetcher) Download(ctx context.Context, l Link, r Remote) (string, error) {
	path, err := f.download(ctx, l, r)
	if err != nil {
		return "", fmt.Errorf("download %s: %w", l.File, DiskFull(err, f.Home, 0))
	}
	return path, nil
}

func (f *Fetcher) download(ctx context.Context, l Link, r Remote) (string, error) {
	hash := l.Hash
	if hash == (Hash{}) {
		hash = r.Hash
	}
	if hash == (Hash{}) {
		return "", &WebError{URL: l.File, Reason: "no SHA-256 of it is known: the catalogue names none and the server tells none", Failure: FailureOther, Fix: "add sha256 to its entry"}
	}
	unlock, err := f.Lock(ctx, "download-"+l.File)
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(f.Downloads(), l.File)
	if ok, err := f.finished(ctx, path, hash, r.Bytes); err != nil || ok {
		return path, err
	}
	if err := os.MkdirAll(f.Downloads(), 0o755); err != nil {
		return "", err
	}
	if err := f.transferAll(ctx, l, r, hash, path); err != nil {
		return "", err
	}
	if err := f.Verify(ctx, path+partSuffix, hash, r.Bytes); err != nil {
		var wrong *HashError
		if errors.As(err, &wrong) {
			return "", errors.Join(err, f.DropDownload(l))
		}
		return "", err
	}
	if err := os.Rename(path+partSuffix, path); err != nil {
		return "", err
	}
	return path, os.Remove(path + stateSuffix)
}

// finished looks for the whole file, which a process had verified but was killed
// before it published.
func (f *Fetcher) finished(ctx context.Context, path string, hash Hash, bytes int64) (bool, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err := f.Verify(ctx, path, hash, bytes)
	if err == nil {
		return true, nil
	}
	var wrong *HashError
	if !errors.As(err, &wrong) {
		return false, err
	}
	f.log().Warn("discarding a file that is not the pinned one", "path", path, "expected", wrong.Want, "got", wrong.Got)
	return false, os.Remove(path)
}

// transferAll fetches until all bytes are in the part file. A file that changes
// meanwhile is asked for anew.
func (f *Fetcher) transferAll(ctx context.Context, l Link, r Remote, hash Hash, path string) error {
	var most int64
	for restarts := 0; ; restarts++ {
		t, err := f.begin(l, r, hash, path)
		if err != nil {
			return err
		}
		err = errors.Join(t.run(ctx), t.close())
		if done := t.part.done(); done > most { // only its ETag changes
			most, restarts = done, 0
		}
		if !errors.Is(err, errChanged) {
			return err
		}
		if restarts == maxRestarts {
			return &WebError{URL: l.File, Reason: "the file on the server changes again and again", Failure: FailureOther, Err: errChanged}
		}
		f.log().Warn("the file on the server has changed, asking for it anew", "path", l.File)
		if r, err = f.probe(ctx, l, t.judge); err != nil {
			return err
		}
		if r.Hash != (Hash{}) && r.Hash != hash {
			return &HashError{Path: l.File + " on the server", Want: hash.String(), Got: r.Hash.String()}
		}
	}
}

// begin opens the part file and finds out what of it can be used.
func (f *Fetcher) begin(l Link, r Remote, hash Hash, path string) (*transfer, error) {
	// First: the state of a file of absurd size would fill the memory.
	if err := CheckSpace(f.Home, f.Missing(l, r.Bytes)); err != nil {
		return nil, err
	}
	state := path + stateSuffix
	if err := mayReplacePart(state); err != nil {
		return nil, err
	}
	old, there := readPart(state, path+partSuffix)
	p := newPart(r, hash, f.Web.segment())
	switch {
	case there && old.continues(r, hash):
		p = old
		p.ETag = r.ETag
	case there && !r.Ranges:
		f.log().Warn("beginning again: the server cannot send a part of a file", "path", l.File, "bytes", old.done())
	case there:
		f.log().Warn("beginning again: the file on the server is not the one that was begun", "path", l.File, "bytes", old.done())
	default:
		if _, err := os.Lstat(state); err == nil {
			f.log().Warn("beginning again: what was noted of the part cannot be used", "path", state)
		}
	}
	// The old state goes before bytes of another file come.
	if err := os.Remove(state); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	file, err := openPart(path+partSuffix, r.Bytes)
	if err != nil {
		return nil, err
	}
	t := &transfer{f: f, link: l, remote: r, file: file, state: state, part: p, from: l.URL}
	if err := p.write(state); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return t, nil
}

// Publish flushes a file of downloads to the disk and moves it to dst, an
// absolute path in the home folder.
func (f *Fetcher) Publish(path, dst string) error {
	err := func() error {
		if err := syncPath(path); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
			return err
		}
		if err := os.Rename(path, dst); err != nil {
			return err
		}
		return syncPath(filepath.Dir(dst))
	}()
	if err != nil {
		return fmt.Errorf("publish %s: %w", dst, DiskFull(err, f.Home, 0))
	}
	return nil
}
