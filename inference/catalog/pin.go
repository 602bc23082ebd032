package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"dure/inference/fetch"
)

// pin is what was learned about the files of an entry that names no hash: from
// the first pull on, only these bytes are the model. It stays when the model is
// removed.
type pin struct {
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

// pinPath is where the pin of a model lies.
func pinPath(home, name string) string { return filepath.Join(home, "pins", name+".json") }

// readPin returns the pin of the entry; false where there is none of this
// repository, revision and file.
func readPin(home string, e Entry) (pin, bool) {
	h := e.Source.HuggingFace
	data, err := os.ReadFile(pinPath(home, e.Name))
	if h == nil || err != nil {
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
