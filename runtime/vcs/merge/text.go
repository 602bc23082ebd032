package merge

import "fmt"

// A Kind says whose lines a hunk has.
type Kind uint8

// The kinds of a hunk.
const (
	Kept     Kind = iota // neither side changed the lines
	Ours                 // only ours did, or both did the same
	Theirs               // only theirs did
	Conflict             // both did, and not the same
)

func (k Kind) String() string {
	return [...]string{"kept", "ours", "theirs", "conflict"}[k]
}

// A Hunk is lines of the three texts that belong together. The ranges of all
// hunks, one after the other, cover each text; only of a conflict that was cut
// down (Fine) do several hunks share a range of Base, that of the whole conflict.
type Hunk struct {
	Kind               Kind
	Base, Ours, Theirs Range
}

// A Grain says how far conflicts are cut down.
type Grain uint8

const (
	// Fine cuts what both sides have alike out of a conflict, and joins conflicts
	// that are then at most three lines or no letter or digit apart: what
	// `git merge-file` does.
	Fine Grain = iota
	// Whole leaves conflicts as wide as the base's lines that both sides changed,
	// so that the base can be shown too: what `git merge-file --diff3` does.
	Whole
)

// Merged is the merge of two texts with a common base.
type Merged struct {
	Hunks              []Hunk
	base, ours, theirs *lines
}

// Text merges. The grain changes how conflicts look, not whether there are any.
// Errors: ErrTooLarge, ErrBinary.
func Text(base, ours, theirs []byte, grain Grain, limits Limits) (*Merged, error) {
	for _, t := range []struct {
		name string
		data []byte
	}{{"base", base}, {"ours", ours}, {"theirs", theirs}} {
		if err := limits.check(t.name, t.data); err != nil {
			return nil, err
		}
	}
	d, work := newDictionary(), limits.budget()
	m := &Merged{base: cut(base, d), ours: cut(ours, d), theirs: cut(theirs, d)}
	w := weaver{m: m, grain: grain, work: work}
	w.weave(compare(m.base.class, m.ours.class, work), compare(m.base.class, m.theirs.class, work))
	if grain == Fine {
		w.refine()
		w.joinNear()
	}
	if work.spent() {
		return nil, fmt.Errorf("merge of %d and %d bytes on %d: %w", len(ours), len(theirs), len(base), ErrTooLarge)
	}
	m.Hunks = w.fill()
	return m, nil
}

// Conflicts is how many hunks are conflicts.
func (m *Merged) Conflicts() int {
	n := 0
	for _, h := range m.Hunks {
		if h.Kind == Conflict {
			n++
		}
	}
	return n
}

// Lines are the bytes of a hunk in each text.
func (m *Merged) Lines(h Hunk) (base, ours, theirs []byte) {
	return m.base.span(h.Base), m.ours.span(h.Ours), m.theirs.span(h.Theirs)
}

// Bytes is the merged text; ok is false, and there is none, if there are conflicts.
func (m *Merged) Bytes() (merged []byte, ok bool) {
	if m.Conflicts() > 0 {
		return nil, false
	}
	out := make([]byte, 0, max(len(m.ours.data), len(m.theirs.data)))
	for _, h := range m.Hunks {
		if h.Kind == Theirs {
			out = append(out, m.theirs.span(h.Theirs)...)
			continue
		}
		out = append(out, m.ours.span(h.Ours)...)
	}
	return out, true
}
