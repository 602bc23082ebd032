package card

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Write puts card.json, card.md and the drawings into a folder, each whole.
func (r *Report) Write(dir string) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	err = replace(filepath.Join(dir, "card.json"), append(data, '\n'))
	for _, f := range r.Figures {
		var b bytes.Buffer
		drawn, more := r.SVG(&b, f)
		if drawn && more == nil {
			more = replace(filepath.Join(dir, f.Name+".svg"), b.Bytes())
		}
		err = errors.Join(err, more)
	}
	var b bytes.Buffer
	err = errors.Join(err, r.Markdown(&b, func(f Figure) string { return f.Name + ".svg" }))
	return errors.Join(err, replace(filepath.Join(dir, "card.md"), b.Bytes()))
}

// replace a file whole.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
