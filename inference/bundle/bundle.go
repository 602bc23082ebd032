// Package bundle keeps folders that are made of files out of pinned archives: libraries and
// models that come in packages of a registry.
//
// It owns what is below one folder of the home folder per bundle: the files and a manifest
// that says which archives they came from. It does not know what the files are for; cmd
// says which bundles there are, and who uses them. Archives are fetched by package fetch.
//
// Invariants: a folder is there whole or not at all; one whose manifest is not of the
// present pins, or whose files have another size, is not opened. Everything here blocks on
// disk and network: call it from commands.
package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dure/inference/fetch"
)

// Part is an archive and what is taken out of it.
type Part struct {
	Artifact fetch.Artifact
	// Files are members of the archive and where they go in the folder. A member that
	// ends in a slash is all files below it, and its place a folder.
	Files map[string]string
	Bytes int64 // of what is taken, exactly
	// Licence is the short name of the terms, as the package's makers state them.
	Licence string
}

// Bundle is a folder to be made.
type Bundle struct {
	Name   string // of the folder, below Folder
	Folder string // below the home folder
	Parts  []Part
}

// Download is the size of the archives in bytes.
func (b Bundle) Download() int64 {
	var n int64
	for _, p := range b.Parts {
		n += p.Artifact.Bytes
	}
	return n
}

// Bytes is the size of the folder.
func (b Bundle) Bytes() int64 {
	var n int64
	for _, p := range b.Parts {
		n += p.Bytes
	}
	return n
}

// Root is the folder in a home folder.
func (b Bundle) Root(home string) string { return filepath.Join(home, b.Folder, b.Name) }

// manifest is written into the folder with the files.
type manifest struct {
	Format   int       `json:"format"`
	Bundle   string    `json:"bundle"`
	Packages []string  `json:"packages"` // client, name, version and hash of each
	Files    []file    `json:"files"`
	Made     time.Time `json:"made"`
}

type file struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

const (
	manifestFile   = "manifest.json"
	manifestFormat = 1
)

// ErrNotInstalled says that a bundle is not there.
var ErrNotInstalled = errors.New("not installed")

// BrokenError says that a bundle is there but cannot be used.
type BrokenError struct {
	Root string
	Err  error
}

func (e *BrokenError) Error() string { return fmt.Sprintf("%s is not usable: %v", e.Root, e.Err) }

// Unwrap is the reason.
func (e *BrokenError) Unwrap() error { return e.Err }

// Open returns the folder of a bundle after a cheap look at it: the manifest is of the
// present pins and all files are there in their size. The error is ErrNotInstalled or a
// *BrokenError.
func (b Bundle) Open(home string) (root string, err error) {
	_, err = b.read(home)
	return b.Root(home), err
}

func (b Bundle) read(home string) (manifest, error) {
	root := b.Root(home)
	var m manifest
	data, err := os.ReadFile(filepath.Join(root, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%s: %w", b.Name, ErrNotInstalled)
	}
	if err == nil {
		err = fetch.CheckFormat(filepath.Join(root, manifestFile), data, manifestFormat)
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err == nil {
		err = b.check(root, m)
	}
	if err != nil {
		return m, &BrokenError{Root: root, Err: err}
	}
	return m, nil
}

func (b Bundle) check(root string, m manifest) error {
	if m.Bundle != b.Name || !slices.Equal(m.Packages, b.packages()) {
		return fmt.Errorf("it was made from %s, pinned are %s", strings.Join(m.Packages, ", "), strings.Join(b.packages(), ", "))
	}
	for _, f := range m.Files {
		info, err := os.Lstat(filepath.Join(root, f.Path))
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || info.Size() != f.Bytes {
			return fmt.Errorf("%s has %d bytes, the manifest says %d", f.Path, info.Size(), f.Bytes)
		}
	}
	return nil
}

func (b Bundle) packages() []string {
	var all []string
	for _, p := range b.Parts {
		all = append(all, fmt.Sprintf("%s %s %s", p.Artifact.Client, p.Artifact.Spec(), p.Artifact.Hash))
	}
	return all
}

// Verify reads every file and compares its hash with the manifest's.
func (b Bundle) Verify(ctx context.Context, home string) error {
	m, err := b.read(home)
	if err != nil {
		return err
	}
	for _, f := range m.Files {
		hash, err := fetch.ParseHash("sha256:" + f.SHA256)
		if err == nil {
			err = hash.Verify(ctx, filepath.Join(b.Root(home), f.Path))
		}
		if err != nil {
			return &BrokenError{Root: b.Root(home), Err: err}
		}
	}
	return nil
}

// Options are how a bundle is installed.
type Options struct {
	Home     string
	Progress fetch.ProgressFunc // may be nil
	Log      *slog.Logger       // may be nil
}

// Install brings a bundle onto the disk and returns its folder. One that is there and
// whole stays as it is; one that is broken or of other pins is made anew with a warning.
// What was fetched before it was broken off is not fetched again.
func (b Bundle) Install(ctx context.Context, o Options) (string, error) {
	root, err := b.install(ctx, o)
	if err != nil {
		return "", fmt.Errorf("install %s: %w", b.Name, err)
	}
	return root, nil
}

func (b Bundle) install(ctx context.Context, o Options) (string, error) {
	f := &fetch.Fetcher{Home: o.Home, Log: o.Log, Progress: o.Progress}
	name := b.Folder + "-" + b.Name
	unlock, err := f.Lock(ctx, name)
	if err != nil {
		return "", err
	}
	defer unlock()
	root, err := b.Open(o.Home)
	if err == nil {
		return root, nil
	}
	if !errors.Is(err, ErrNotInstalled) && o.Log != nil {
		o.Log.Warn("installing again", "package", b.Name, "error", err)
	}
	if err := b.checkRoom(f); err != nil {
		return "", err
	}
	stage, err := f.Stage(name)
	if err != nil {
		return "", err
	}
	defer stage.Discard() // what stays after a failure here, the next Stage removes
	m := manifest{Format: manifestFormat, Bundle: b.Name, Packages: b.packages(), Made: time.Now().UTC().Truncate(time.Second)}
	for _, p := range b.Parts {
		if err := p.unpack(ctx, f, stage.Dir, &m); err != nil {
			return "", err
		}
	}
	data, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(stage.Dir, manifestFile), data, 0o644); err != nil {
		return "", err
	}
	if err := stage.Publish(".", root); err != nil {
		return "", err
	}
	for _, p := range b.Parts {
		f.Forget(p.Artifact)
	}
	return b.Open(o.Home)
}

// checkRoom wants room for the archives that are to be fetched, the largest one twice
// while its client works, and for what is taken out of them.
func (b Bundle) checkRoom(f *fetch.Fetcher) error {
	need, largest := uint64(b.Bytes()), uint64(0)
	for _, p := range b.Parts {
		if !f.Have(p.Artifact) {
			need += uint64(p.Artifact.Bytes)
			largest = max(largest, uint64(p.Artifact.Bytes))
		}
	}
	return fetch.CheckSpace(f.Home, need+largest)
}

// unpack fetches a part and puts its files into dir.
func (p Part) unpack(ctx context.Context, f *fetch.Fetcher, dir string, m *manifest) error {
	archive, err := f.Fetch(ctx, p.Artifact)
	if err != nil {
		return err
	}
	files, err := fetch.Unpack(ctx, archive, dir, fetch.Unpacking{Select: p.place, Limit: p.Bytes, Progress: f.Progress})
	if err != nil {
		return err
	}
	var got int64
	for _, x := range files {
		got += x.Bytes
		m.Files = append(m.Files, file{Path: x.Path, Bytes: x.Bytes, SHA256: x.SHA256})
	}
	if got != p.Bytes {
		return fmt.Errorf("%s held %d bytes of what was wanted, pinned are %d", p.Artifact.Spec(), got, p.Bytes)
	}
	return nil
}

// place is where a member goes; "" is nowhere.
func (p Part) place(member string) string {
	if to, ok := p.Files[member]; ok {
		return to
	}
	for from, to := range p.Files {
		if rest, ok := strings.CutPrefix(member, from); ok && strings.HasSuffix(from, "/") && rest != "" {
			return to + rest
		}
	}
	return ""
}
