package fetch

import (
	"encoding/json"
	"fmt"
)

// NewerError says that a file was written by a later dure. Nobody writes over
// such a file, or removes it: what it says is not known here.
type NewerError struct {
	Path          string
	Format, Known int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s was written by a later dure (format %d, this one knows up to %d): use that one, or move the file away", e.Path, e.Format, e.Known)
}

// CheckFormat looks for the field "format" of a JSON file that dure wrote, and
// refuses a later one than known with a *NewerError. Files from before there was
// such a field have format 0. What is no such JSON is the caller's to judge.
func CheckFormat(path string, data []byte, known int) error {
	var f struct {
		Format int `json:"format"`
	}
	if json.Unmarshal(data, &f) == nil && f.Format > known {
		return &NewerError{path, f.Format, known}
	}
	return nil
}
