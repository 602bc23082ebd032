package merge

import "fmt"

// A Change says that lines A of one text became lines B of another. One of the
// two may be empty, not both.
type Change struct{ A, B Range }

// Diff compares two texts. The changes are in order and do not touch: between two
// there is at least one line that both texts have. Errors: ErrTooLarge, ErrBinary.
func Diff(a, b []byte, limits Limits) ([]Change, error) {
	if err := limits.check("the first text", a); err != nil {
		return nil, err
	}
	if err := limits.check("the second text", b); err != nil {
		return nil, err
	}
	d, work := newDictionary(), limits.budget()
	changes := compare(cut(a, d).class, cut(b, d).class, work)
	if work.spent() {
		return nil, fmt.Errorf("comparison of %d with %d bytes: %w", len(a), len(b), ErrTooLarge)
	}
	return changes, nil
}

// compare finds the changes from a to b. They mean nothing if the work is spent
// afterwards.
func compare(a, b []int32, work *budget) []Change {
	work.spend(len(a) + len(b))
	goneA, goneB := newMarks(len(a)), newMarks(len(b))
	mark(a, b, goneA, goneB, work)
	slide(firstGroup(a, goneA), firstGroup(b, goneB), work)
	slide(firstGroup(b, goneB), firstGroup(a, goneA), work)
	if work.spent() {
		return nil
	}
	return collect(goneA, goneB)
}

// mark finds what is gone from a and what is new in b.
func mark(a, b []int32, goneA, goneB marks, work *budget) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	inA, inB := count(a), count(b)
	keptA := keep(a, head, len(a)-tail, inB)
	keptB := keep(b, head, len(b)-tail, inA)
	for i := head; i < len(a)-tail; i++ {
		goneA.set(i, true)
	}
	for i := head; i < len(b)-tail; i++ {
		goneB.set(i, true)
	}
	s := newSearch(pick(a, keptA, goneA), pick(b, keptB, goneB),
		func(i int) { goneA.set(int(keptA[i]), true) },
		func(i int) { goneB.set(int(keptB[i]), true) }, work)
	s.run(0, len(keptA), 0, len(keptB), false)
}

// pick takes the kept lines and marks them as not gone, so far.
func pick(class []int32, kept []int32, gone marks) []int32 {
	out := make([]int32, len(kept))
	for i, at := range kept {
		out[i] = class[at]
		gone.set(int(at), false)
	}
	return out
}

// count says how often each class is in a text.
func count(class []int32) func(int32) int {
	if len(class) == 0 {
		return func(int32) int { return 0 }
	}
	most := int32(0)
	for _, c := range class {
		most = max(most, c)
	}
	n := make([]int32, most+1)
	for _, c := range class {
		n[c]++
	}
	return func(c int32) int {
		if c > most {
			return 0
		}
		return int(n[c])
	}
}

// collect makes changes of marks.
func collect(goneA, goneB marks) []Change {
	var out []Change
	a, b := 0, 0
	lenA, lenB := len(goneA)-2, len(goneB)-2
	for a < lenA || b < lenB {
		if !goneA.at(a) && !goneB.at(b) {
			a, b = a+1, b+1
			continue
		}
		c := Change{Range{a, a}, Range{b, b}}
		for goneA.at(c.A.End) {
			c.A.End++
		}
		for goneB.at(c.B.End) {
			c.B.End++
		}
		a, b = c.A.End, c.B.End
		out = append(out, c)
	}
	return out
}
