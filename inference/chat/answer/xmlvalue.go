package answer

import "strings"

// open begins the value of a parameter.
func (x *xml) open(key string) {
	separator := ", "
	if len(x.given) == 0 {
		separator = "{"
	}
	x.given[key] = true
	x.key, x.fresh, x.state = key, true, xmlValue
	x.stream = x.tool.text(key)
	x.value, x.held = x.value[:0], x.held[:0]
	x.p.argument([]byte(separator + jsonString(key) + ": ")...)
	if x.stream {
		x.p.argument('"')
	}
}

// inValue takes a byte of a value, or of what ends it.
func (x *xml) inValue(c byte) verdict {
	if x.fresh {
		x.fresh = false
		if c == '\n' {
			return more
		}
	}
	if len(x.held) == 0 && c != '\n' && c != '<' {
		x.take(c)
		return more
	}
	x.held = append(x.held, c)
	for len(x.held) > 0 {
		v, n := x.ends(string(x.held), false)
		switch v {
		case more:
			return more
		case done:
			rest := x.held[n:]
			x.close()
			x.held, x.since, x.state = nil, 0, xmlBetween
			return x.refeed(rest)
		}
		x.take(x.held[0])
		x.held = x.held[:copy(x.held, x.held[1:])]
	}
	return more
}

// take adds a byte to the value.
func (x *xml) take(c byte) {
	if !x.stream {
		x.value = append(x.value, c)
		return
	}
	x.buf = quoteJSON(x.buf[:0], c)
	x.p.argument(x.buf...)
}

// close ends the value.
func (x *xml) close() {
	if x.stream {
		x.p.argument('"')
		return
	}
	x.p.argument([]byte(x.tool.value(x.key, string(x.value)))...)
}

// ends says whether a value ends where the text begins, which is a line break or a
// tag: done with the number of bytes that belong to the end, quiet if it goes on,
// more if that depends on what comes. A closing tag that nothing of a call follows
// is text of the value, and so is the tag of another parameter unless the tool has
// one of that name.
func (x *xml) ends(text string, last bool) (v verdict, n int) {
	rest := strings.TrimPrefix(text, "\n")
	n = len(text) - len(rest)
	wait := more
	if last {
		wait = quiet
	}
	if len(text) > maxSpace {
		return quiet, 0
	}
	follow := func(after string, tags ...string) verdict {
		after = strings.TrimLeft(after, " \t\r\n")
		if after == "" && last {
			return done
		}
		return begins(after, last, tags...)
	}
	if after, ok := strings.CutPrefix(rest, parameterEnd); ok {
		return follow(after, parameterTag, functionEnd, callEnd, functionTag, callTag), n + len(parameterEnd)
	}
	if after, ok := strings.CutPrefix(rest, functionEnd); ok {
		return follow(after, callEnd), n
	}
	if after, ok := strings.CutPrefix(rest, callEnd); ok {
		return follow(after, callTag), n
	}
	if name, ok := strings.CutPrefix(rest, parameterTag); ok {
		return x.another(name, wait), n
	}
	if rest == "" && last {
		return done, n
	}
	for _, tag := range []string{parameterEnd, functionEnd, callEnd, parameterTag} {
		if strings.HasPrefix(tag, rest) {
			return wait, n
		}
	}
	return quiet, 0
}

// another says whether a name, and what follows it, is that of a parameter which
// was not given yet.
func (x *xml) another(text string, wait verdict) verdict {
	name, _, whole := strings.Cut(text, ">")
	for key := range x.tool.properties {
		if x.given[key] {
			continue
		}
		if whole && key == name {
			return done
		}
		if !whole && strings.HasPrefix(key, name) {
			return wait
		}
	}
	return quiet
}

// begins says whether a text begins with one of the tags.
func begins(text string, last bool, tags ...string) verdict {
	for _, tag := range tags {
		if strings.HasPrefix(text, tag) {
			return done
		}
		if strings.HasPrefix(tag, text) {
			if last {
				return done
			}
			return more
		}
	}
	return quiet
}
