package answer

import "strings"

// head reads what stands between a marker and the arguments, and goes on with the
// body that belongs there.
type head struct {
	p     *Parser
	buf   []byte
	inner body
	// read decides by what was read so far: the body that comes and how many of the
	// last bytes are already its own, or a verdict.
	read func(p *Parser, buf string) (inner body, own int, v verdict)
	// code: it is a block of code, and may be just that.
	code bool
}

// maxName is how long a head can be, in bytes.
const maxName = 256

func (h *head) idle() bool { return h.inner != nil && h.inner.idle() }

func (h *head) push(c byte) verdict {
	if h.inner != nil {
		return h.inner.push(c)
	}
	h.buf = append(h.buf, c)
	inner, own, v := h.read(h.p, string(h.buf))
	if inner == nil {
		if v == more && len(h.buf) > maxName {
			return h.unknown()
		}
		return v
	}
	h.inner = inner
	for i, b := range h.buf[len(h.buf)-own:] {
		h.p.call.unread = own - i - 1
		if v := inner.push(b); v != more {
			if v == over {
				h.p.call.back += own - i - 1
			}
			return v
		}
	}
	return more
}

func (h *head) finish() verdict {
	if h.inner != nil {
		return h.inner.finish()
	}
	return h.unknown()
}

func (h *head) unknown() verdict {
	if h.code {
		return quiet
	}
	return noCall(h.p)
}

// noCall is the verdict for a marker with no call behind it. In thoughts a model
// speaks of markers.
func noCall(p *Parser) verdict {
	if p.thinking {
		return quiet
	}
	return p.fail("there is no call behind what marks one")
}

// newTagged reads what stands within <tool_call>: JSON, or XML.
func newTagged(p *Parser, closer string) body {
	return &head{p: p, read: func(p *Parser, buf string) (body, int, verdict) {
		buf = strings.TrimLeft(buf, " \t\r\n")
		for again := true; again; { // some write the tag twice
			buf, again = strings.CutPrefix(buf, callTag)
			buf = strings.TrimLeft(buf, " \t\r\n")
		}
		switch {
		case strings.HasPrefix(callTag, buf):
			return nil, 0, more
		case buf[0] == '{' || buf[0] == '[':
			return &list{p: p, closer: closer}, 1, more
		case buf == functionTag:
			return newXML(p), 0, more
		case strings.HasPrefix(functionTag, buf):
			return nil, 0, more
		}
		return nil, 0, noCall(p)
	}}
}

// newPythonTag reads what stands behind Llama's <|python_tag|>.
func newPythonTag(p *Parser) body {
	return &head{p: p, read: func(p *Parser, buf string) (body, int, verdict) {
		buf = strings.TrimLeft(buf, " \t\r\n")
		switch {
		case buf == "":
			return nil, 0, more
		case buf[0] == '{' || buf[0] == '[':
			return &list{p: p}, 1, more
		case isWord(buf[0]):
			return &python{p: p}, 1, more
		}
		return nil, 0, noCall(p)
	}}
}

// newMistral reads what stands behind [TOOL_CALLS]: an array, or a name and what
// marks arguments.
func newMistral(p *Parser) body {
	return &head{p: p, read: func(p *Parser, buf string) (body, int, verdict) {
		buf = strings.TrimLeft(buf, " \t\r\n")
		if buf == "" {
			return nil, 0, more
		}
		if buf[0] == '{' || buf[0] == '[' {
			return &list{p: p}, 1, more
		}
		name, rest, marked := strings.Cut(buf, "[")
		if open := strings.IndexByte(name, '{'); open >= 0 {
			name, rest, marked = name[:open], name[open:], false
		}
		name = strings.TrimSpace(name)
		switch {
		case !isName(name):
			return nil, 0, noCall(p)
		case strings.HasPrefix(rest, "{"):
			return &list{p: p, name: name}, 1, more
		case marked && strings.HasSuffix(rest, "ARGS]"):
			return &list{p: p, name: name}, 0, more
		case marked && !strings.HasPrefix(rest, "CALL_ID]") && !strings.HasPrefix("CALL_ID]", rest) && !strings.HasPrefix("ARGS]", rest):
			return nil, 0, noCall(p)
		}
		return nil, 0, more
	}}
}

// newGemma4 reads what stands behind <|tool_call>.
func newGemma4(p *Parser) body {
	return &head{p: p, read: func(p *Parser, buf string) (body, int, verdict) {
		name, _, open := strings.Cut(buf, "{")
		name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "call:"))
		switch {
		case open && isName(name):
			return &list{p: p, name: name, closer: "<tool_call|>"}, 1, more
		case open || strings.ContainsAny(buf, "<\n"):
			return nil, 0, noCall(p)
		}
		return nil, 0, more
	}}
}

// newHarmony reads what stands behind "to=functions.": the name, more of the header,
// and the message.
func newHarmony(p *Parser) body {
	return &head{p: p, read: func(p *Parser, buf string) (body, int, verdict) {
		header, _, whole := strings.Cut(buf, "<|message|>")
		if !whole {
			return nil, 0, more
		}
		name := header
		if end := strings.IndexAny(header, " <\t\r\n"); end >= 0 {
			name = header[:end]
		}
		if !isName(name) {
			return nil, 0, noCall(p)
		}
		return &list{p: p, name: name, closer: "<|call|>"}, 0, more
	}}
}

// newFence reads a block of code, by the word behind its opening.
func newFence(p *Parser) body {
	return &head{p: p, code: true, read: func(p *Parser, buf string) (body, int, verdict) {
		info, text, line := strings.Cut(buf, "\n")
		text = strings.TrimLeft(text, " \t\r\n")
		if !line || text == "" {
			if len(info) > len("tool_calls")+2 || strings.Contains(info, "`") {
				return nil, 0, quiet
			}
			return nil, 0, more
		}
		items := strings.TrimLeft(text[1:], " \t\r\n")
		if text[0] == '[' && items == "" {
			return nil, 0, more
		}
		info = strings.TrimSpace(info)
		code := info == "tool_code" || info == "python"
		switch object := text[0] == '{' || text[0] == '[' && items[0] == '{'; {
		case object && (code || info == "" || info == "json" || info == "tool_call" || info == "tool_calls"):
			return &list{p: p, bare: info != "tool_code", closer: fence}, len(text), more
		case code:
			return &python{p: p, fenced: true, bare: info == "python"}, len(text), more
		}
		return nil, 0, quiet
	}}
}

// isName says that a text can be the name of a tool.
func isName(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]) && s[i] != '-' && s[i] != '.' && s[i] != ':' && s[i] != '/' {
			return false
		}
	}
	return s != ""
}
