package merge

import (
	"errors"
	"fmt"
)

// A Piece says to which file a run of lines of a file that was split has gone.
type Piece struct {
	Lines Range
	Path  string
}

// A Part is a waiting change, carried to one file of a split: what that file had
// of the split file, and what the change makes of it. With what the file holds
// now it is a three-way merge.
type Part struct {
	Path         string
	Base, Theirs []byte
}

// ErrPieces: pieces overlap, are out of order, or lie outside of the text.
var ErrPieces = errors.New("not a map of the file's lines")

// Carry takes a change of a file that was split to where its lines went. source
// is the file as it was split, changed what the change makes of it. Changes that
// touch lines of no file, or of more than one, are returned as lost. Errors:
// ErrPieces, ErrTooLarge, ErrBinary.
func Carry(pieces []Piece, source, changed []byte, limits Limits) (parts []Part, lost []Change, err error) {
	changes, err := Diff(source, changed, limits)
	if err != nil {
		return nil, nil, err
	}
	d := newDictionary()
	from, to := cut(source, d), cut(changed, d)
	if err := checkPieces(pieces, from.len()); err != nil {
		return nil, nil, err
	}
	mine := make([][]Change, len(pieces))
	touched := map[string]bool{}
	for _, c := range changes {
		i := home(pieces, c.A)
		if i < 0 {
			lost = append(lost, c)
			continue
		}
		mine[i] = append(mine[i], c)
		touched[pieces[i].Path] = true
	}
	at := map[string]int{}
	for i, p := range pieces {
		if !touched[p.Path] {
			continue
		}
		n, ok := at[p.Path]
		if !ok {
			n = len(parts)
			at[p.Path] = n
			parts = append(parts, Part{Path: p.Path})
		}
		parts[n].Base = append(parts[n].Base, from.span(p.Lines)...)
		parts[n].Theirs = applied(parts[n].Theirs, from, to, p.Lines, mine[i])
	}
	return parts, lost, nil
}

func checkPieces(pieces []Piece, lines int) error {
	at := 0
	for _, p := range pieces {
		if p.Lines.Start < at || p.Lines.End < p.Lines.Start || p.Lines.End > lines {
			return fmt.Errorf("%w: lines %d to %d of %d, of %q", ErrPieces, p.Lines.Start, p.Lines.End, lines, p.Path)
		}
		at = p.Lines.End
	}
	return nil
}

// home is the piece that lines lie in; an insertion between two belongs to the
// upper one. -1: none.
func home(pieces []Piece, r Range) int {
	for i, p := range pieces {
		if p.Lines.Start <= r.Start && r.End <= p.Lines.End && !p.Lines.Empty() {
			return i
		}
	}
	return -1
}

// applied appends lines of from, with changes carried out.
func applied(out []byte, from, to *lines, r Range, changes []Change) []byte {
	at := r.Start
	for _, c := range changes {
		out = append(out, from.span(Range{at, c.A.Start})...)
		out = append(out, to.span(c.B)...)
		at = c.A.End
	}
	return append(out, from.span(Range{at, r.End})...)
}
