package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dure/inference/fetch"
)

// Manifest is written last into a set's folder and describes what belongs to it.
type Manifest struct {
	// Format is manifestFormat; 0 where it was written before there was one.
	Format  int     `json:"format"`
	Variant Variant `json:"variant"`
	// Llama is the version of llama.cpp.
	Llama string `json:"llama_version"`
	// Packages are the pinned archives it was made from.
	Packages []Package `json:"packages"`
	Files    []File    `json:"files"`
	Links    []Link    `json:"links"`
	// Architectures are the chips it was built for, where Build was told.
	Architectures []string  `json:"architectures,omitempty"`
	Made          time.Time `json:"made"`
}

// Package is a pinned archive.
type Package struct {
	Client  string `json:"client"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Hash    string `json:"hash"`
}

// File is a file below the set's folder.
type File struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Link is a symbolic link in lib. Target is a file beside it, or the absolute
// path of a library of the system.
type Link struct {
	Name   string `json:"name"`
	Target string `json:"target"`
}

// Set is a set of libraries on disk.
type Set struct {
	Manifest
	// Root is the set's folder; for a Custom set the user's.
	Root string
}

// manifestFormat goes up when an earlier dure must not judge a set by its
// manifest. Without the field, from before it, the rest is the same.
const manifestFormat = 1

const (
	manifestFile = "manifest.json"
	libFolder    = "lib"
	toolFolder   = "bin"
)

// Lib is the folder with libllama.so, libggml.so and libggml-base.so, ready for
// the engine to load.
func (s Set) Lib() string {
	if s.Variant == Custom {
		return s.Root
	}
	return filepath.Join(s.Root, libFolder)
}

// ErrNotInstalled says that there is no such set.
var ErrNotInstalled = errors.New("not installed")

// BrokenError says that a set is there but cannot be used.
type BrokenError struct {
	Root string
	Err  error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("engine libraries in %s are not usable: %v", e.Root, e.Err)
}

func (e *BrokenError) Unwrap() error { return e.Err }

// Open returns the set of a variant after a cheap look at it: the manifest is of
// the present pins, all files are there in their size, all links lead somewhere.
// The error is ErrNotInstalled or a *BrokenError.
func Open(home string, v Variant) (Set, error) {
	root := filepath.Join(home, "engine", v.folder())
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return Set{}, fmt.Errorf("engine libraries %s: %w", v, ErrNotInstalled)
	}
	s, err := readSet(root)
	if err == nil {
		err = s.check(v)
	}
	if err != nil {
		return Set{}, &BrokenError{Root: root, Err: err}
	}
	return s, nil
}

// Installed returns the sets that can be used, and besides them a joined
// *BrokenError for each that cannot.
func Installed(home string) ([]Set, error) {
	var sets []Set
	var broken []error
	for _, v := range Variants {
		s, err := Open(home, v)
		switch {
		case err == nil:
			sets = append(sets, s)
		case !errors.Is(err, ErrNotInstalled):
			broken = append(broken, err)
		}
	}
	return sets, errors.Join(broken...)
}

// OpenDir takes the user's own folder (DURE_ENGINE_DIR). Only the names are
// checked here; the engine checks the version when it loads them.
func OpenDir(dir string) (Set, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Set{}, fmt.Errorf("engine folder %s: %w", dir, err)
	}
	for _, name := range []string{"libllama.so", "libggml.so", "libggml-base.so"} {
		if _, err := os.Stat(filepath.Join(abs, name)); err != nil {
			return Set{}, &BrokenError{Root: abs, Err: fmt.Errorf("%w; the folder must hold libllama.so, libggml.so, libggml-base.so and the backends of llama.cpp %s", err, LlamaVersion)}
		}
	}
	return Set{Root: abs, Manifest: Manifest{Variant: Custom}}, nil
}

func readSet(root string) (Set, error) {
	data, err := os.ReadFile(filepath.Join(root, manifestFile))
	if err != nil {
		return Set{}, err
	}
	if err := fetch.CheckFormat(filepath.Join(root, manifestFile), data, manifestFormat); err != nil {
		return Set{}, err
	}
	s := Set{Root: root}
	if err := json.Unmarshal(data, &s.Manifest); err != nil {
		return Set{}, fmt.Errorf("%s: %w", manifestFile, err)
	}
	return s, nil
}

func (s Set) check(v Variant) error {
	if s.Variant != v || s.Llama != LlamaVersion {
		return fmt.Errorf("the manifest is of %s %s, not of %s %s", s.Variant, s.Llama, v, LlamaVersion)
	}
	if len(s.Files) == 0 {
		return errors.New("the manifest lists no files")
	}
	for _, p := range s.Packages {
		if !slices.Contains(pinned(v), p) {
			return fmt.Errorf("made from %s %s (%s), which is not pinned any more", p.Name, p.Version, p.Hash)
		}
	}
	for _, f := range s.Files {
		info, err := os.Lstat(filepath.Join(s.Root, f.Path))
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || info.Size() != f.Bytes {
			return fmt.Errorf("%s has %d bytes, the manifest says %d", f.Path, info.Size(), f.Bytes)
		}
	}
	for _, l := range s.Links {
		path := filepath.Join(s.Root, libFolder, l.Name)
		if target, err := os.Readlink(path); err != nil || target != l.Target {
			return fmt.Errorf("link %s leads to %q, the manifest says %q", l.Name, target, l.Target)
		}
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("link %s: %w", l.Name, err)
		}
	}
	return nil
}

// pinned are the packages that a variant may be made of.
func pinned(v Variant) []Package {
	all := []Package{}
	if v.FromSource() {
		return append(all, packageOf(sourceArchive))
	}
	for _, variants := range prebuilt {
		for _, p := range variants[v] {
			all = append(all, packageOf(p.artifact))
		}
	}
	return all
}

func packageOf(a fetch.Artifact) Package {
	return Package{Client: string(a.Client), Name: a.Package, Version: a.Version, Hash: a.Hash.String()}
}

// Verify reads every file of the set and compares it with the manifest. A
// difference is a *BrokenError.
func (s Set) Verify(ctx context.Context) error {
	for _, f := range s.Files {
		want, err := fetch.ParseHash("sha256:" + f.SHA256)
		if err == nil {
			err = want.Verify(ctx, filepath.Join(s.Root, f.Path))
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return &BrokenError{Root: s.Root, Err: err}
		}
	}
	return nil
}

// mayReplace refuses to make a set anew where a later dure made it.
func mayReplace(err error) error {
	var newer *fetch.NewerError
	if errors.As(err, &newer) {
		return err
	}
	return nil
}

// writeManifest makes the folder a set.
func writeManifest(root string, m Manifest) error {
	m.Format = manifestFormat
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, manifestFile), append(data, '\n'), 0o644)
}
