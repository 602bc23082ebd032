package merge

// A weaver makes hunks of two lists of changes to one base. Its hunks are the
// changed ones only, until fill puts the kept lines between them.
type weaver struct {
	m     *Merged
	grain Grain
	work  *budget
	hunks []Hunk
}

// weave walks both lists along the base. Where changes of both overlap or touch,
// there is a conflict, unless they are the same change.
func (w *weaver) weave(ours, theirs []Change) {
	if w.work.spent() {
		return
	}
	for len(ours) > 0 && len(theirs) > 0 {
		o, t := ours[0], theirs[0]
		switch {
		case o.A.End < t.A.Start:
			w.add(Hunk{Ours, o.A, o.B, o.A.moved(t.B.Start - t.A.Start)})
			ours = ours[1:]
		case t.A.End < o.A.Start:
			w.add(Hunk{Theirs, t.A, t.A.moved(o.B.Start - o.A.Start), t.B})
			theirs = theirs[1:]
		default:
			if !w.same(o, t) {
				w.add(clash(o, t))
			}
			// The one that ends later may meet more changes of the other side.
			if o.A.End >= t.A.End {
				theirs = theirs[1:]
			}
			if t.A.End >= o.A.End {
				ours = ours[1:]
			}
		}
	}
	for _, o := range ours {
		w.add(Hunk{Ours, o.A, o.B, o.A.moved(w.m.theirs.len() - w.m.base.len())})
	}
	for _, t := range theirs {
		w.add(Hunk{Theirs, t.A, t.A.moved(w.m.ours.len() - w.m.base.len()), t.B})
	}
}

func (r Range) moved(by int) Range { return Range{r.Start + by, r.End + by} }

// same reports whether both sides made the same change: it is in ours already,
// and needs no hunk.
func (w *weaver) same(o, t Change) bool {
	if o.A != t.A || o.B.Len() != t.B.Len() {
		return false
	}
	for i := range o.B.Len() {
		if w.m.ours.class[o.B.Start+i] != w.m.theirs.class[t.B.Start+i] {
			return false
		}
	}
	return true
}

// clash widens two changes to the same lines of the base.
func clash(o, t Change) Hunk {
	base := o.A.join(t.A)
	return Hunk{
		Kind:   Conflict,
		Base:   base,
		Ours:   Range{o.B.Start - (o.A.Start - base.Start), o.B.End + (base.End - o.A.End)},
		Theirs: Range{t.B.Start - (t.A.Start - base.Start), t.B.End + (base.End - t.A.End)},
	}
}

// add appends a hunk, or widens the last one if they touch in either text.
func (w *weaver) add(h Hunk) {
	if len(w.hunks) == 0 {
		w.hunks = append(w.hunks, h)
		return
	}
	last := &w.hunks[len(w.hunks)-1]
	if h.Ours.Start > last.Ours.End && h.Theirs.Start > last.Theirs.End {
		w.hunks = append(w.hunks, h)
		return
	}
	if h.Kind != last.Kind {
		last.Kind = Conflict
	}
	last.Base.End, last.Ours.End, last.Theirs.End = h.Base.End, h.Ours.End, h.Theirs.End
}

// fill puts the kept lines between the changed ones. Where ours and theirs made
// the same change, the lines between are not those of the base; they are ours.
func (w *weaver) fill() []Hunk {
	var out []Hunk
	at := Hunk{}
	between := func(next Hunk) {
		gap := Hunk{
			Base:   Range{at.Base.End, max(at.Base.End, next.Base.Start)},
			Ours:   Range{at.Ours.End, next.Ours.Start},
			Theirs: Range{at.Theirs.End, next.Theirs.Start},
		}
		if gap.Ours.Empty() && gap.Theirs.Empty() && gap.Base.Empty() {
			return
		}
		if !w.unchanged(gap) {
			gap.Kind = Ours
		}
		out = append(out, gap)
	}
	for _, h := range w.hunks {
		between(h)
		out = append(out, h)
		at = h
	}
	b, o, t := w.m.base.len(), w.m.ours.len(), w.m.theirs.len()
	between(Hunk{Base: Range{b, b}, Ours: Range{o, o}, Theirs: Range{t, t}})
	return out
}

func (w *weaver) unchanged(h Hunk) bool {
	if h.Base.Len() != h.Ours.Len() {
		return false
	}
	for i := range h.Base.Len() {
		if w.m.base.class[h.Base.Start+i] != w.m.ours.class[h.Ours.Start+i] {
			return false
		}
	}
	return true
}
