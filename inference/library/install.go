package library

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"dure/inference/fetch"
)

// Options says what to install and where.
type Options struct {
	Home    string // absolute path of the home folder (DURE_HOME)
	Variant Variant
	// FindLibrary looks for a library of the system by its soname; nil finds
	// none. Parts of CUDA that are found are linked and not fetched.
	FindLibrary func(soname string) (path string, ok bool)
	Progress    fetch.ProgressFunc // may be nil
	Log         *slog.Logger       // may be nil
}

// Install brings a prebuilt set onto the disk and returns it. A set that is
// there and whole is returned as it is; one that is broken or of other pins is
// made anew with a warning. Errors are those of fetch, and *UnavailableError.
func Install(ctx context.Context, o Options) (Set, error) {
	parts, ok := prebuilt[runtime.GOARCH][o.Variant]
	if !ok {
		return Set{}, unavailable(o.Variant, runtime.GOARCH)
	}
	s, err := install(ctx, o, parts)
	if err != nil {
		return Set{}, fmt.Errorf("install engine libraries %s: %w", o.Variant, err)
	}
	return s, nil
}

func install(ctx context.Context, o Options, parts []part) (Set, error) {
	f := &fetch.Fetcher{Home: o.Home, Log: o.Log, Progress: o.Progress}
	name := "engine-" + string(o.Variant)
	unlock, err := f.Lock(ctx, name)
	if err != nil {
		return Set{}, err
	}
	defer unlock()
	s, err := Open(o.Home, o.Variant)
	if err == nil {
		return s, nil
	}
	if err := mayReplace(err); err != nil {
		return Set{}, err
	}
	if !errors.Is(err, ErrNotInstalled) && o.Log != nil {
		o.Log.Warn("installing the engine libraries again", "variant", string(o.Variant), "error", err)
	}
	parts, system := useSystem(parts, o.FindLibrary)
	if err := checkRoom(f, parts); err != nil {
		return Set{}, err
	}
	archives := make([]string, len(parts))
	for i, p := range parts {
		if archives[i], err = f.Fetch(ctx, p.artifact); err != nil {
			return Set{}, err
		}
	}
	stage, err := f.Stage(name)
	if err != nil {
		return Set{}, err
	}
	defer stage.Discard() // what stays after a failure here, the next Stage removes
	m := Manifest{Variant: o.Variant, Llama: LlamaVersion, Links: system, Made: time.Now().UTC().Truncate(time.Second)}
	if err := assemble(ctx, f, stage.Dir, parts, archives, &m); err != nil {
		return Set{}, err
	}
	if err := stage.Publish(".", filepath.Join(o.Home, "engine", o.Variant.folder())); err != nil {
		return Set{}, err
	}
	for _, p := range parts {
		f.Forget(p.artifact)
	}
	return Open(o.Home, o.Variant)
}

// useSystem leaves out the parts whose libraries the system has, all of them,
// and links those. A link is needed even where the loader would find them by
// itself: the usual CUDA folders are not in its cache.
func useSystem(parts []part, find func(string) (string, bool)) (left []part, found []Link) {
	if find == nil {
		return parts, nil
	}
	for _, p := range parts {
		var all []Link
		for _, soname := range p.sonames {
			if file, ok := find(soname); ok {
				all = append(all, Link{Name: soname, Target: file})
			}
		}
		if len(p.sonames) > 0 && len(all) == len(p.sonames) {
			found = append(found, all...)
			continue
		}
		left = append(left, p)
	}
	return left, found
}

// checkRoom wants room for all archives that are still to be fetched, the
// largest one twice while its client works, and for what is taken out of them.
func checkRoom(f *fetch.Fetcher, parts []part) error {
	var need, largest uint64
	for _, p := range parts {
		need += uint64(p.bytes)
		if !f.Have(p.artifact) {
			need += uint64(p.artifact.Bytes)
			largest = max(largest, uint64(p.artifact.Bytes))
		}
	}
	return fetch.CheckSpace(f.Home, need+largest)
}

// assemble fills a set's folder and completes its manifest.
func assemble(ctx context.Context, f *fetch.Fetcher, root string, parts []part, archives []string, m *Manifest) error {
	lib := filepath.Join(root, libFolder)
	if err := os.Mkdir(lib, 0o755); err != nil {
		return err
	}
	var names []string
	for i, p := range parts {
		files, err := fetch.Unpack(ctx, archives[i], lib, fetch.Unpacking{Select: p.take, Limit: p.bytes, Progress: f.Progress})
		if err != nil {
			return err
		}
		m.Packages = append(m.Packages, packageOf(p.artifact))
		for _, file := range files {
			names = append(names, file.Path)
			m.Files = append(m.Files, File{Path: libFolder + "/" + file.Path, Bytes: file.Bytes, SHA256: file.SHA256})
		}
	}
	m.Links = append(links(names), m.Links...)
	for _, l := range m.Links {
		if err := os.Symlink(l.Target, filepath.Join(lib, l.Name)); err != nil {
			return err
		}
	}
	for _, want := range []string{"libllama.so", "libggml.so", "libggml-base.so"} {
		if _, err := os.Stat(filepath.Join(lib, want)); err != nil {
			return fmt.Errorf("the archives do not hold %s: %w", want, err)
		}
	}
	return writeManifest(root, *m)
}

// UnavailableError says that a variant cannot be installed here.
type UnavailableError struct {
	Variant Variant
	Arch    string
	Fix     string
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("there are no prebuilt engine libraries %s for %s: %s", e.Variant, e.Arch, e.Fix)
}

func unavailable(v Variant, arch string) error {
	fix := fmt.Sprintf("prebuilt are %v", Prebuilt(arch))
	switch {
	case v.FromSource():
		fix = fmt.Sprintf("build them: `make engine-source BACKEND=%s`", v[len("source-"):])
	case slices.Contains(Variants, v):
		fix = fmt.Sprintf("build them: `make engine-source BACKEND=%s`, or use one of %v", backendOf(v), Prebuilt(arch))
	}
	return &UnavailableError{Variant: v, Arch: arch, Fix: fix}
}
