package answer

import "strings"

// list reads one object of a call, or several: one after the other or as an array,
// up to a closing text or to what cannot belong to it.
type list struct {
	p *Parser
	// name: the one object is the arguments of a call of that name. Otherwise each
	// holds a name.
	name string
	// closer marks the end; empty: the end is where the objects end.
	closer string
	// bare: the objects stand in plain text, and may be just that.
	bare   bool
	array  bool
	object *object
	calls  int
	tail   []byte // may be the closer, and white space behind it
	since  int    // bytes behind the last one that is the list's own
}

func newBare(p *Parser, first byte) body {
	l := &list{p: p, bare: true}
	l.step(first) // a brace or a bracket: it begins an object or an array
	return l
}

func (l *list) idle() bool { return l.object == nil }

func (l *list) push(c byte) verdict {
	if l.closer == "" {
		return l.step(c)
	}
	l.tail = append(l.tail, c)
	for len(l.tail) > 0 {
		switch l.closes() {
		case more:
			return more
		case done:
			return l.closed()
		}
		first := l.tail[0]
		l.tail = l.tail[:copy(l.tail, l.tail[1:])]
		l.p.call.unread = len(l.tail)
		if v := l.step(first); v != more {
			if v == over {
				l.p.call.back += len(l.tail)
			}
			return v
		}
	}
	return more
}

// closes says whether the tail is the closer (done), may become it (more), or is
// not (quiet). Within a string it is one only if the text ends behind it or another
// call begins.
func (l *list) closes() verdict {
	tail := string(l.tail)
	if l.inString() { // a line break before the closer is its own
		if tail = strings.TrimPrefix(tail, "\n"); tail == "" {
			return more
		}
	}
	if len(tail) <= len(l.closer) {
		if tail == l.closer && !l.inString() {
			return done
		}
		if strings.HasPrefix(l.closer, tail) {
			return more
		}
		return quiet
	}
	const next = "<tool_call"
	rest := strings.TrimLeft(tail[len(l.closer):], " \t\r\n")
	switch {
	case len(tail) > maxSpace || !strings.HasPrefix(rest, next) && !strings.HasPrefix(next, rest):
		return quiet
	case len(rest) < len(next):
		return more
	}
	return done
}

func (l *list) inString() bool { return l.object != nil && l.object.m.inString() }

// closed acts on the closer; what is behind it in the tail is text again.
func (l *list) closed() verdict {
	back := len(l.tail) - len(l.closer)
	if l.tail[0] == '\n' {
		back--
	}
	l.tail, l.p.call.unread = nil, back
	if v := l.end(true); v != done {
		return v
	}
	return l.p.giveBack(back)
}

// end is the end of the list, marked as such if tagged.
func (l *list) end(tagged bool) verdict {
	if l.object != nil {
		if v := l.object.end(tagged); v != done {
			return v
		}
		l.object = nil
		l.calls++
	}
	switch {
	case l.calls > 0:
		return done
	case l.name != "":
		o := newArguments(l.p, l.name)
		o.args = []byte("{}")
		if v := o.release(); v != more {
			return v
		}
		return done
	case l.bare:
		return quiet
	}
	return l.p.fail("what looks like a call is empty")
}

// step takes a byte that is none of the closer's.
func (l *list) step(c byte) verdict {
	if l.object != nil {
		v := l.object.push(c)
		if v == done {
			l.object, v = nil, more
			l.calls++
			l.own()
		}
		return v
	}
	l.since++
	switch {
	case isSpace(c):
		return more
	case c == '{' && (l.name == "" || l.calls == 0):
		return l.begin(c)
	case l.calls == 0:
		if c == '[' && !l.array && l.name == "" {
			l.array = true
			return more
		}
	case c == ']' && l.array:
		l.array = false
		l.own()
		if l.closer == "" {
			return done
		}
		return more
	case l.separates(c):
		l.own()
		return more
	}
	switch {
	case l.calls > 0:
		return l.p.giveBack(l.since)
	case l.bare:
		return quiet
	}
	return l.p.fail("what looks like a call is no JSON object")
}

// own says that all up to here belongs to complete calls.
func (l *list) own() {
	l.since = 0
	l.p.settle()
}

func (l *list) begin(c byte) verdict {
	if l.name != "" {
		l.object = newArguments(l.p, l.name)
	} else {
		l.object = newObject(l.p, l.bare)
	}
	return l.object.push(c)
}

// separates says that a byte can stand behind an object without beginning text:
// a comma in an array, a semicolon as Llama writes it, a brace too many.
func (l *list) separates(c byte) bool {
	switch c {
	case ',':
		return l.array || l.closer != ""
	case ';':
		return l.name == ""
	case '}', ']':
		return l.closer != "" || !l.bare
	}
	return false
}

func (l *list) finish() verdict {
	tail := string(l.tail)
	l.tail = nil
	closed := l.closer != "" && strings.HasPrefix(strings.TrimPrefix(tail, "\n"), l.closer)
	if !closed && l.inString() {
		for i := range len(tail) { // it was text of the string
			if v := l.step(tail[i]); v != more {
				return v
			}
		}
	}
	return l.end(closed)
}
