package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Program is another program that keeps GGUF files.
type Program string

// The programs whose folders are understood.
const (
	Ollama   Program = "ollama"      // models: manifests and blobs
	LMStudio Program = "lmstudio"    // models/PUBLISHER/REPO/FILE.gguf
	HubCache Program = "huggingface" // hub: models--OWNER--NAME/snapshots
)

// Store is a folder of another program. It is read and never changed.
type Store struct {
	Program Program
	Dir     string
}

// Found is a GGUF file of another program.
type Found struct {
	Program Program `json:"program"`
	// Name is what that program calls it, for people.
	Name string `json:"name"`
	// Repo and File are where it comes from, as far as its place tells.
	Repo  string `json:"repo,omitempty"`
	File  string `json:"file,omitempty"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	// SHA256 is what the program's own names say; nobody has verified it.
	SHA256 string `json:"sha256,omitempty"`
}

// Find lists the GGUF files in the stores. A store that is not there is empty;
// what cannot be read is in the error, besides what was found.
func Find(stores []Store) ([]Found, error) {
	var all []Found
	var errs []error
	for _, s := range stores {
		found, err := s.find()
		all = append(all, found...)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("look for models of %s: %w", s.Program, err))
		}
	}
	return all, errors.Join(errs...)
}

func (s Store) find() ([]Found, error) {
	switch s.Program {
	case Ollama:
		return s.findOllama()
	case LMStudio:
		return s.findLMStudio()
	case HubCache:
		return s.findHub()
	}
	return nil, fmt.Errorf("%q is not a program that is known", s.Program)
}

// ggufs calls take for each GGUF file, links followed, below dir. rel has slashes.
func ggufs(dir string, take func(rel, path string, info fs.FileInfo)) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !strings.HasSuffix(d.Name(), ".gguf") || strings.HasPrefix(d.Name(), "mmproj") {
			return nil
		}
		info, err := os.Stat(p)
		if err != nil || !info.Mode().IsRegular() {
			return nil // a link into nowhere
		}
		rel, err := filepath.Rel(dir, p)
		if err == nil {
			take(filepath.ToSlash(rel), p, info)
		}
		return err
	})
}

func (s Store) findLMStudio() ([]Found, error) {
	var all []Found
	err := ggufs(s.Dir, func(rel, p string, info fs.FileInfo) {
		f := Found{Program: s.Program, Name: rel, Path: p, Bytes: info.Size()}
		if parts := strings.SplitN(rel, "/", 3); len(parts) == 3 {
			f.Repo, f.File = parts[0]+"/"+parts[1], parts[2]
		}
		all = append(all, f)
	})
	return all, err
}

// findHub reads models--OWNER--NAME/snapshots/COMMIT/FILE; the file is a link to
// a blob that is named by its SHA-256 where it is large.
func (s Store) findHub() ([]Found, error) {
	repos, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, err
	}
	var all []Found
	var errs []error
	for _, repo := range repos {
		name, ok := strings.CutPrefix(repo.Name(), "models--")
		if !ok {
			continue
		}
		name = strings.Replace(name, "--", "/", 1)
		err := ggufs(filepath.Join(s.Dir, repo.Name(), "snapshots"), func(rel, p string, info fs.FileInfo) {
			_, file, _ := strings.Cut(rel, "/")
			f := Found{Program: s.Program, Name: name + "/" + file, Repo: name, File: file, Path: p, Bytes: info.Size()}
			if blob, err := filepath.EvalSymlinks(p); err == nil && sha256RE.MatchString(filepath.Base(blob)) {
				f.SHA256 = filepath.Base(blob)
			}
			all = append(all, f)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return all, errors.Join(errs...)
}

// ollamaManifest is the part of a manifest that names the weights.
type ollamaManifest struct {
	Layers []struct {
		MediaType string `json:"mediaType"`
		Digest    string `json:"digest"`
		Size      int64  `json:"size"`
	} `json:"layers"`
}

// findOllama reads manifests/HOST/NAMESPACE/NAME/TAG; the weights are a blob
// that is named by its SHA-256.
func (s Store) findOllama() ([]Found, error) {
	var all []Found
	root := filepath.Join(s.Dir, "manifests")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		all = append(all, s.ollamaModel(filepath.ToSlash(rel), p)...)
		return nil
	})
	return all, err
}

// ollamaModel returns the weights of one manifest; none where it is no manifest
// or its blob is missing.
func (s Store) ollamaModel(rel, manifest string) []Found {
	data, err := os.ReadFile(manifest)
	var m ollamaManifest
	if err != nil || json.Unmarshal(data, &m) != nil {
		return nil
	}
	dir, tag := path.Split(rel)
	_, name, _ := strings.Cut(path.Clean(dir), "/") // without the host
	name = strings.TrimPrefix(name, "library/") + ":" + tag
	var all []Found
	for _, l := range m.Layers {
		sum, ok := strings.CutPrefix(l.Digest, "sha256:")
		if l.MediaType != "application/vnd.ollama.image.model" || !ok || !sha256RE.MatchString(sum) {
			continue
		}
		blob := filepath.Join(s.Dir, "blobs", "sha256-"+sum)
		info, err := os.Stat(blob)
		if err != nil || !info.Mode().IsRegular() || info.Size() != l.Size || checkGGUF(blob) != nil {
			continue
		}
		all = append(all, Found{Program: s.Program, Name: name, Path: blob, Bytes: info.Size(), SHA256: sum})
	}
	return all
}

// Serves reports whether the found file may be the entry's, by its hash or by
// its place in a repository; only Pull's look at its bytes decides.
func (f Found) Serves(home string, e Entry) bool {
	h := e.Source.HuggingFace
	for i, w := range wants(home, e) {
		file := ""
		if h != nil {
			file = h.files()[i]
		}
		if f.may(w, h, file) {
			return true
		}
	}
	return false
}

func (f Found) may(w wanted, h *HuggingFace, file string) bool {
	if w.bytes != 0 && f.Bytes != w.bytes {
		return false
	}
	if f.SHA256 != "" && w.sha256 != "" {
		return f.SHA256 == w.sha256
	}
	return h != nil && f.Repo == h.Repo && f.File == file
}

// inPlace looks for the wanted files, whose hashes are known, in the stores. What
// is found is read through once; then only a note of its place is kept.
func (p *puller) inPlace(ctx context.Context, all []wanted) (string, bool, error) {
	found, err := Find(p.o.Stores)
	if err != nil && p.f.Log != nil {
		p.f.Log.Warn("other programs' models cannot all be read", "error", err)
	}
	var places []place
	for i, w := range all {
		at, ok, err := p.placeOf(ctx, found, i, w, len(all) > 1)
		if err != nil || !ok {
			return "", false, err
		}
		places = append(places, at)
	}
	for i, w := range all {
		if filepath.Dir(places[i].Path) != filepath.Dir(places[0].Path) && len(all) > 1 {
			return "", false, nil
		}
		if err := p.noteWhere(w, places[i]); err != nil {
			return "", false, err
		}
	}
	path, ok := elsewhere(p.f.Home, p.e)
	return path, ok, nil
}

// placeOf finds one file and verifies it.
func (p *puller) placeOf(ctx context.Context, found []Found, i int, w wanted, shard bool) (place, bool, error) {
	h, file := p.e.Source.HuggingFace, ""
	if h != nil {
		file = h.files()[i]
	}
	for _, f := range found {
		if !f.may(w, h, file) || shard && filepath.Base(f.Path) != w.name {
			continue
		}
		info, err := os.Stat(f.Path)
		if err == nil {
			err = verify(ctx, p.f, w.sha256, f.Path)
		}
		if ctx.Err() != nil {
			return place{}, false, context.Cause(ctx)
		}
		if err == nil {
			return place{Format: noteFormat, Path: f.Path, Bytes: info.Size(), Changed: info.ModTime().UnixNano(), SHA256: w.sha256}, true, nil
		}
		if p.f.Log != nil {
			p.f.Log.Warn("a file of another program is not the entry's", "model", p.e.Name, "path", f.Path, "error", err)
		}
	}
	return place{}, false, nil
}

func (p *puller) noteWhere(w wanted, at place) error {
	data, err := json.Marshal(at)
	if err != nil {
		return err
	}
	note := w.name + whereSuffix
	if err := os.WriteFile(filepath.Join(p.stage.Dir, note), append(data, '\n'), 0o644); err != nil {
		return err
	}
	return p.stage.Publish(note, filepath.Join(folder(p.f.Home, p.e.Name), note))
}
