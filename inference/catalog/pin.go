package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"dure/inference/fetch"
)

// pin is what was learned about the files of an entry that names no hash: from
// the first pull on, only these bytes are the model. It stays when the model is
// removed.
type pin struct {
	Format   int       `json:"format"`
	Repo     string    `json:"repo"`
	Revision string    `json:"revision"` // as the entry has it
	Commit   string    `json:"commit,omitempty"`
	Files    []pinFile `json:"files"`
}

// pinFile is one file of a repository with the hash that the hub told.
type pinFile struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// noteFormat is that of pins and of notes of places; it goes up when an earlier
// dure must not act on one. Without the field, from before it, the rest is the
// same.
const noteFormat = 1

// pinPath is where the pin of a model lies.
func pinPath(home, name string) string { return filepath.Join(home, "pins", name+".json") }

// readPin returns the pin of the entry; false where there is none of this
// repository, revision and file.
func readPin(home string, e Entry) (pin, bool) {
	h := e.Source.HuggingFace
	data, err := os.ReadFile(pinPath(home, e.Name))
	if h == nil || err != nil || fetch.CheckFormat(pinPath(home, e.Name), data, noteFormat) != nil {
		return pin{}, false
	}
	var p pin
	if json.Unmarshal(data, &p) != nil || p.Repo != h.Repo || p.Revision != h.revision() {
		return pin{}, false
	}
	files := h.files()
	if len(files) != len(p.Files) {
		return pin{}, false
	}
	for i, f := range p.Files {
		if f.File != files[i] || f.Bytes <= 0 || !sha256RE.MatchString(f.SHA256) {
			return pin{}, false
		}
	}
	return p, true
}

// writePin publishes a pin.
func writePin(home, name string, stage *fetch.Stage, p pin) error {
	p.Format = noteFormat
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	const part = "pin.json"
	if err := os.WriteFile(filepath.Join(stage.Dir, part), append(data, '\n'), 0o644); err != nil {
		return fetch.DiskFull(err, home, 0)
	}
	return stage.Publish(part, pinPath(home, name))
}

// checkNotes refuses to pull what a later dure made notes of. A pin that cannot be
// read must not count as none: then whatever the hub has now would be trusted.
// With repin that is what the user asks for.
func checkNotes(home string, e Entry, repin bool) error {
	data, err := os.ReadFile(pinPath(home, e.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := fetch.CheckFormat(pinPath(home, e.Name), data, noteFormat); err != nil {
			return err
		}
		var p pin
		if err := json.Unmarshal(data, &p); err != nil && !repin && e.Source.HuggingFace != nil && e.SHA256 == "" {
			return fmt.Errorf("the pin %s cannot be read: %w; `dure pull --repin %s` takes what the hub has now", pinPath(home, e.Name), err, e.Name)
		}
	}
	for _, w := range wants(home, e) {
		note := filepath.Join(folder(home, e.Name), w.name+whereSuffix)
		data, err := os.ReadFile(note)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = fetch.CheckFormat(note, data, noteFormat)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// PinError says that a hub no longer has the file that was pinned here.
type PinError struct {
	Model string
	Pin   string // path
	Err   error  // a *fetch.HashError or *fetch.SizeError
}

func (e *PinError) Error() string {
	return fmt.Sprintf("the hub has another file than the one pinned in %s: %v; if that is meant, `dure pull --repin %s`", e.Pin, e.Err, e.Model)
}

func (e *PinError) Unwrap() error { return e.Err }

// otherFile reports whether the error is that a server has another file.
func otherFile(err error) bool {
	var hash *fetch.HashError
	var size *fetch.SizeError
	return errors.As(err, &hash) || errors.As(err, &size)
}
