package catalog

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"

	"dure/inference/fetch"
)

// wanted is a file that an entry is made of. SHA256 is empty and Bytes 0 where
// nothing is known yet.
type wanted struct {
	name   string // in the model's folder
	bytes  int64
	sha256 string
}

// wants lists the files of an entry that has its files under home: one, or all
// shards.
func wants(home string, e Entry) []wanted {
	h := e.Source.HuggingFace
	if h == nil || e.SHA256 != "" {
		return []wanted{{e.fileName(), e.Bytes, e.SHA256}}
	}
	p, pinned := readPin(home, e)
	var all []wanted
	for i, f := range h.files() {
		w := wanted{name: path.Base(f), bytes: e.Bytes}
		if pinned {
			w.bytes, w.sha256 = p.Files[i].Bytes, p.Files[i].SHA256
		}
		all = append(all, w)
	}
	return all
}

// folder is where the model's files lie.
func folder(home, name string) string { return filepath.Join(home, "models", name) }

// fileOf is where the model's file, or its first shard, lies or would lie.
func fileOf(home string, e Entry) string { return filepath.Join(folder(home, e.Name), e.fileName()) }

// The files that dure writes beside a model's file.
const (
	noteSuffix    = ".sha256"  // which hash it was verified to have
	whereSuffix   = ".where"   // it lies elsewhere, and is used there
	damagedSuffix = ".damaged" // it was found damaged and set aside
)

// noteOf is the file that says which hash a model's file was verified to have.
func noteOf(file string) string { return file + noteSuffix }

// noteText is in the form that sha256sum -c reads.
func noteText(file, sha256 string) string { return sha256 + "  " + filepath.Base(file) + "\n" }

// place says that a file of the model lies in another program's folder. It was
// verified when this was written; as long as size and time of change are the
// same it is taken for the same.
type place struct {
	Format  int    `json:"format"` // noteFormat
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	Changed int64  `json:"changed_ns"` // time of change, nanoseconds since 1970
	SHA256  string `json:"sha256"`
}

// readWhere follows the note beside file, if there is one that still holds.
func readWhere(file string, w wanted) (string, bool) {
	data, err := os.ReadFile(file + whereSuffix)
	var at place
	if err != nil || fetch.CheckFormat(file+whereSuffix, data, noteFormat) != nil || json.Unmarshal(data, &at) != nil || at.SHA256 != w.sha256 {
		return "", false
	}
	info, err := os.Stat(at.Path)
	return at.Path, err == nil && info.Mode().IsRegular() && info.Size() == at.Bytes && info.ModTime().UnixNano() == at.Changed
}

// Local returns the path of the model's file, or of its first shard, if all of
// it is on this machine: for a path, that; for what is pulled, the complete file
// of the entry's or the pinned hash under home or where another program has it.
// It does not read the file. Where it is not here, the path is where it will be,
// or empty for an endpoint.
func Local(home string, e Entry) (string, bool) {
	switch {
	case e.Remote():
		return "", false
	case e.Source.Path != "":
		info, err := os.Stat(e.Source.Path)
		return e.Source.Path, err == nil && info.Mode().IsRegular() && (e.Bytes == 0 || info.Size() == e.Bytes)
	case e.Source.Manual != "" && e.SHA256 == "":
		file := fileOf(home, e)
		return file, checkGGUF(file) == nil
	}
	if path, ok := own(home, e); ok {
		return path, true
	}
	if path, ok := elsewhere(home, e); ok {
		return path, true
	}
	return fileOf(home, e), false
}

// own looks for the files in the model's folder.
func own(home string, e Entry) (string, bool) {
	for _, w := range wants(home, e) {
		if !w.here(filepath.Join(folder(home, e.Name), w.name)) {
			return "", false
		}
	}
	return fileOf(home, e), true
}

// here reports whether file is there, with a note of the wanted hash.
func (w wanted) here(file string) bool {
	info, err := os.Stat(file)
	if err != nil || w.sha256 == "" || !info.Mode().IsRegular() || w.bytes != 0 && info.Size() != w.bytes {
		return false
	}
	note, err := os.ReadFile(noteOf(file))
	return err == nil && string(note) == noteText(file, w.sha256)
}

// elsewhere follows the notes to another program's folder. The shards of a set
// must lie side by side there, as the engine looks for them.
func elsewhere(home string, e Entry) (string, bool) {
	first, all := "", wants(home, e)
	for _, w := range all {
		at, ok := readWhere(filepath.Join(folder(home, e.Name), w.name), w)
		if !ok {
			return "", false
		}
		if first == "" {
			first = at
		}
		if len(all) > 1 && (filepath.Dir(at) != filepath.Dir(first) || filepath.Base(at) != w.name) {
			return "", false
		}
	}
	return first, true
}

// Owned reports whether a path that Local returned is a file of dure's own.
func Owned(home, path string) bool {
	return strings.HasPrefix(path, filepath.Join(home, "models")+string(filepath.Separator))
}
