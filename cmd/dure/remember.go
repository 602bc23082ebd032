package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// remembered is a row of what was measured on this machine. A newer one of the same
// takes its place.
type remembered[R any] interface{ same(R) bool }

// readRows reads the rows of a file; one that is not there has none.
func readRows[R any](file string) (rows []R, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &rows)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return rows, nil
}

// rowLike is the row that is the same as another; false where there is none. What
// was measured of another model, engine or load is no guide: nothing near is taken.
func rowLike[R remembered[R]](rows []R, like R) (R, bool) {
	for _, r := range rows {
		if r.same(like) {
			return r, true
		}
	}
	return like, false
}

// rememberRow puts a row into a file, in the place of the same one; the latest
// mostMeasured stay. A file that cannot be read is set aside first, and the error
// says so though the row is kept.
func rememberRow[R remembered[R]](file string, row R) error {
	rows, err := readRows[R](file)
	if err != nil {
		err = setAside(file, err)
	}
	kept := []R{row}
	for _, r := range rows {
		if !r.same(row) {
			kept = append(kept, r)
		}
	}
	return errors.Join(err, writeJSON(file, kept[:min(len(kept), mostMeasured)]))
}
