package merge

// refine compares the two sides of each conflict and leaves of it what differs.
func (w *weaver) refine() {
	var out []Hunk
	for _, h := range w.hunks {
		if h.Kind != Conflict || h.Ours.Empty() || h.Theirs.Empty() {
			out = append(out, h)
			continue
		}
		if w.work.spent() {
			return
		}
		a, b := renumber(w.m.ours.class[h.Ours.Start:h.Ours.End], w.m.theirs.class[h.Theirs.Start:h.Theirs.End])
		changes := compare(a, b, w.work)
		if len(changes) == 0 { // nothing differs after all; it still keeps its neighbours apart
			h.Kind = Ours
			out = append(out, h)
		}
		for _, c := range changes {
			out = append(out, Hunk{Conflict, h.Base, c.A.moved(h.Ours.Start), c.B.moved(h.Theirs.Start)})
		}
	}
	w.hunks = out
}

// renumber gives two short pieces classes from 0, so that a table by class is as
// short as the pieces.
func renumber(a, b []int32) (x, y []int32) {
	class := make(map[int32]int32, len(a))
	again := func(in []int32) []int32 {
		out := make([]int32, len(in))
		for i, c := range in {
			n, ok := class[c]
			if !ok {
				n = int32(len(class))
				class[c] = n
			}
			out[i] = n
		}
		return out
	}
	return again(a), again(b)
}

// near is how many lines between two conflicts are too few to be worth two.
const near = 3

// joinNear joins conflicts that a reader would rather see as one.
func (w *weaver) joinNear() {
	var out []Hunk
	for _, h := range w.hunks {
		if len(out) > 0 {
			last := &out[len(out)-1]
			if last.Kind == Conflict && h.Kind == Conflict && w.slight(Range{last.Ours.End, h.Ours.Start}) {
				last.Base = last.Base.join(h.Base)
				last.Ours.End, last.Theirs.End = h.Ours.End, h.Theirs.End
				continue
			}
		}
		out = append(out, h)
	}
	w.hunks = out
}

// slight reports whether lines of ours are few, or have no letter and no digit.
func (w *weaver) slight(r Range) bool {
	if r.Len() <= near {
		return true
	}
	for _, c := range w.m.ours.span(r) {
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			return false
		}
	}
	return true
}
