package merge

import (
	"bytes"
	"strings"
)

// Labels name the sides behind the markers. Base is used by the grain Whole only.
type Labels struct{ Ours, Base, Theirs string }

// Render writes the merge with markers around conflicts, as `git merge-file -p`
// does: for people to read. Nothing that is committed comes from here.
func (m *Merged) Render(l Labels, grain Grain) []byte {
	var out bytes.Buffer
	for _, h := range m.Hunks {
		switch h.Kind {
		case Theirs:
			out.Write(m.theirs.span(h.Theirs))
		case Conflict:
			m.conflict(&out, h, l, grain)
		default:
			out.Write(m.ours.span(h.Ours))
		}
	}
	return out.Bytes()
}

func (m *Merged) conflict(out *bytes.Buffer, h Hunk, l Labels, grain Grain) {
	end := "\n"
	if m.endsInCR(h) {
		end = "\r\n"
	}
	// A last line without newline gets one, lest a marker stand behind it.
	part := func(mark byte, label string, text []byte) {
		out.WriteString(strings.Repeat(string(mark), 7))
		if label != "" {
			out.WriteString(" " + label)
		}
		out.WriteString(end)
		out.Write(text)
		if len(text) > 0 && text[len(text)-1] != '\n' {
			out.WriteString(end)
		}
	}
	base, ours, theirs := m.Lines(h)
	part('<', l.Ours, ours)
	if grain == Whole {
		part('|', l.Base, base)
	}
	part('=', "", theirs)
	part('>', l.Theirs, nil)
}

// endsInCR reports whether the lines around a conflict end in "\r\n": those
// before it in ours and theirs, else the first line of the base.
func (m *Merged) endsInCR(h Hunk) bool {
	for _, at := range []struct {
		l *lines
		i int
	}{{m.ours, h.Ours.Start - 1}, {m.theirs, h.Theirs.Start - 1}, {m.base, 0}} {
		if cr, known := at.l.endsInCR(max(at.i, 0)); known && !cr {
			return false
		} else if at.l == m.base {
			return known && cr
		}
	}
	return false
}

// endsInCR says of line i, or of the one before if i has no end.
func (l *lines) endsInCR(i int) (cr, known bool) {
	if l.len() == 0 {
		return false, false
	}
	if !bytes.HasSuffix(l.line(i), []byte("\n")) {
		if i == 0 {
			return false, false
		}
		i--
	}
	return bytes.HasSuffix(l.line(i), []byte("\r\n")), true
}
