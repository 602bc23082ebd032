package answer

import "strings"

const (
	functionTag  = "<function="
	parameterTag = "<parameter="
	functionEnd  = "</function>"
	parameterEnd = "</parameter>"
	callTag      = "<tool_call>"
	callEnd      = "</tool_call>"
)

// xml reads a call behind <function=, and others that follow it. Arguments that are
// text go out while they are written; the others when they are complete.
type xml struct {
	p        *Parser
	function string
	tool     *tool
	state    xmlState
	word     []byte // a name
	held     []byte // may be a tag
	since    int    // bytes behind the last tag
	given    map[string]bool
	inner    body // arguments as one JSON object
	fresh    bool // the value has no byte yet
	stream   bool // the value goes out while it is written
	key      string
	value    []byte
	buf      []byte
}

type xmlState uint8

const (
	xmlName    xmlState = iota // the name of the function
	xmlBetween                 // a parameter, or the end
	xmlKey                     // the name of a parameter
	xmlValue
	xmlAfter // behind the function
)

func newXML(p *Parser) body { return &xml{p: p} }

func (x *xml) idle() bool { return x.state == xmlAfter || x.state == xmlName && x.p.call.calls > 0 }

func (x *xml) push(c byte) verdict {
	if x.inner != nil {
		return x.object(c)
	}
	switch x.state {
	case xmlName, xmlKey:
		return x.name(c)
	case xmlValue:
		return x.inValue(c)
	}
	return x.between(c)
}

// name reads the name of a function or a parameter.
func (x *xml) name(c byte) verdict {
	if c != '>' {
		x.word = append(x.word, c)
		if c == '<' || c == '\n' || len(x.word) > maxName {
			return x.wrong("it has no name")
		}
		return more
	}
	word := strings.Trim(string(x.word), " \"'")
	x.word = x.word[:0]
	if x.state == xmlKey {
		x.open(word)
		return more
	}
	if word == "" {
		return x.wrong("it has no name")
	}
	if !x.p.allows(word) {
		return broken
	}
	full, _ := x.p.known(word)
	x.function, x.tool, x.given, x.state = full, x.p.tools[full], map[string]bool{}, xmlBetween
	return more
}

// begin puts the call out, with its first argument or its end: a name alone may be
// anything.
func (x *xml) begin() bool {
	return x.p.call.begun || x.p.begin(x.function)
}

// wrong is the verdict for what cannot be read.
func (x *xml) wrong(what string) verdict {
	if x.p.call.named {
		return x.p.fail("a call of %q cannot be read: %s", x.function, what)
	}
	return noCall(x.p)
}

// between reads tags between values.
func (x *xml) between(c byte) verdict {
	x.since++
	if len(x.held) == 0 {
		if isSpace(c) {
			return more
		}
		if c == '{' && x.state == xmlBetween && len(x.given) == 0 {
			x.inner = &list{p: x.p, name: x.function, closer: functionEnd}
			return x.object(c)
		}
	}
	x.held = append(x.held, c)
	held := string(x.held)
	partial := false
	for _, tag := range []string{parameterTag, parameterEnd, functionEnd, functionTag, callEnd, callTag} {
		if tag == held {
			x.held = x.held[:0]
			return x.tag(tag)
		}
		partial = partial || strings.HasPrefix(tag, held)
	}
	switch {
	case partial:
		return more
	case x.state == xmlAfter:
		return x.p.giveBack(x.since)
	}
	return x.wrong("there is text between its arguments")
}

// tag acts on a tag between values.
func (x *xml) tag(tag string) verdict {
	since := x.since
	x.since = 0
	if x.state == xmlAfter {
		switch tag {
		case callEnd:
			return done
		case functionTag:
			x.state = xmlName
			return more
		case functionEnd:
			return more
		}
		return x.p.giveBack(since)
	}
	if tag == callTag { // it was not closed, and another one comes
		x.p.call.unread += len(tag)
	}
	if !x.begin() {
		return broken
	}
	switch tag {
	case parameterTag:
		x.state = xmlKey
		return more
	case parameterEnd: // one too many
		return more
	}
	x.complete()
	switch tag {
	case callTag:
		return x.p.giveBack(len(tag))
	case callEnd:
		return done
	case functionTag:
		x.state = xmlName
	}
	return more
}

// complete ends the arguments.
func (x *xml) complete() {
	if len(x.given) == 0 {
		x.p.argument('{')
	}
	x.p.argument('}')
	x.p.endCall()
	x.state = xmlAfter
}

// object takes a byte of arguments that are one JSON object.
func (x *xml) object(c byte) verdict {
	v := x.inner.push(c)
	if v == done || v == over {
		back := x.p.call.back
		if v == done {
			back = 0
		}
		x.inner, x.state, x.since = nil, xmlAfter, 0
		raw := x.p.call.raw
		return x.refeed(raw[len(raw)-back:])
	}
	return v
}

// refeed reads bytes again that were looked at already.
func (x *xml) refeed(bytes []byte) verdict {
	bytes = append([]byte(nil), bytes...)
	for i, c := range bytes {
		left := len(bytes) - i - 1
		x.p.call.unread = left
		switch v := x.push(c); {
		case v == over:
			return x.p.giveBack(x.p.call.back + left)
		case v == done && left > 0:
			return x.p.giveBack(left)
		case v != more:
			return v
		}
	}
	return more
}

func (x *xml) finish() verdict {
	switch {
	case x.inner != nil:
		return x.inner.finish()
	case x.state == xmlAfter:
		return done
	case x.state == xmlValue:
		if v, _ := x.ends(string(x.held), true); v != done {
			for _, c := range x.held {
				x.take(c)
			}
		}
		x.close()
	case x.state != xmlBetween:
		return x.wrong("it breaks off")
	case !x.begin():
		return broken
	}
	x.complete()
	return done
}
