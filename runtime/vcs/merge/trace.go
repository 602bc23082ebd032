package merge

import "slices"

// A File is a path and its bytes.
type File struct {
	Path string
	Data []byte
}

// Trace finds where the lines of a split file went: the runs of its lines that
// stand in each of the files. A line that is in several (a brace, a blank line)
// goes with the longest run it is part of. Lines that are in none are in no
// piece. Errors: ErrTooLarge, ErrBinary.
func Trace(source []byte, files []File, limits Limits) ([]Piece, error) {
	var runs []Piece
	total := cut(source, newDictionary()).len()
	for _, f := range files {
		changes, err := Diff(source, f.Data, limits)
		if err != nil {
			return nil, err
		}
		at := 0
		for _, c := range append(changes, Change{A: Range{total, total}}) {
			if c.A.Start > at {
				runs = append(runs, Piece{Range{at, c.A.Start}, f.Path})
			}
			at = c.A.End
		}
	}
	slices.SortStableFunc(runs, func(a, b Piece) int { return b.Lines.Len() - a.Lines.Len() })
	owner := make([]int, total) // run + 1; 0: nobody
	for i, r := range runs {
		for line := r.Lines.Start; line < r.Lines.End; line++ {
			if owner[line] == 0 {
				owner[line] = i + 1
			}
		}
	}
	var pieces []Piece
	for line := 0; line < total; line++ {
		if owner[line] == 0 {
			continue
		}
		path := runs[owner[line]-1].Path
		if n := len(pieces) - 1; n >= 0 && pieces[n].Path == path && pieces[n].Lines.End == line {
			pieces[n].Lines.End++
			continue
		}
		pieces = append(pieces, Piece{Range{line, line + 1}, path})
	}
	return pieces, nil
}
