package answer

import (
	"bytes"
	"strings"
)

// spelling is how a family writes a call whose arguments stand each between tags.
type spelling struct {
	name          []string // what ends the name; the first is not part of what follows
	key, keyEnd   string
	value         string // between the name of an argument and its value; may be empty
	valueEnd, end string
}

var (
	// glmSpelling is that of a call behind <tool_call> (GLM 4.5 and later).
	glmSpelling = spelling{name: []string{"\n", "<arg_key>", callEnd}, key: "<arg_key>", keyEnd: "</arg_key>", value: "<arg_value>", valueEnd: "</arg_value>", end: callEnd}
	// minimaxSpelling is that of a call behind <invoke name=" (MiniMax M2).
	minimaxSpelling = spelling{name: []string{`">`}, key: `<parameter name="`, keyEnd: `">`, valueEnd: parameterEnd, end: "</invoke>"}
	// dsmlSpelling is that of a call behind <｜DSML｜invoke name=" (DeepSeek V3.2 and later).
	dsmlSpelling = spelling{name: []string{`">`}, key: `<｜DSML｜parameter name="`, keyEnd: `">`, valueEnd: `</｜DSML｜parameter>`, end: `</｜DSML｜invoke>`}
)

const (
	minimaxCalls    = "<minimax:tool_call>"
	minimaxCallsEnd = "</minimax:tool_call>"
	minimaxCall     = `<invoke name="`
	dsmlCall        = `<｜DSML｜invoke name="`
	// dsmlText stands in the tag of an argument that is text, dsmlJSON in that of another.
	dsmlText = `" string="true`
	dsmlJSON = `" string="false`
)

// spelled reads one such call. An argument is put out when it is complete.
type spelled struct {
	p     *Parser
	how   *spelling
	state spelledState
	buf   []byte // not read yet
	tool  *tool
	name  string
	key   string
	text  bool // the value is text, whatever the schema says
	given int
	from  int // no end of the value begins in buf before
}

type spelledState uint8

const (
	spelledName    spelledState = iota
	spelledBetween              // an argument, or the end
	spelledKey
	spelledLead // what stands before a value
	spelledValue
)

func newSpelled(p *Parser, how *spelling) body { return &spelled{p: p, how: how} }

// newGLM reads what stands behind GLM's <tool_call>; JSON there is read as Hermes' form.
func newGLM(p *Parser) body {
	return &head{p: p, read: func(p *Parser, buf string) (body, int, verdict) {
		text := strings.TrimLeft(buf, " \t\r\n")
		switch {
		case text == "":
			return nil, 0, more
		case text[0] == '{' || text[0] == '[':
			return &list{p: p, closer: callEnd}, 1, more
		}
		return newSpelled(p, &glmSpelling), len(text), more
	}}
}

func (s *spelled) idle() bool { return false }

func (s *spelled) push(c byte) verdict {
	s.buf = append(s.buf, c)
	return s.read(false)
}

// read takes what is complete of the text; last says that nothing more comes.
func (s *spelled) read(last bool) verdict {
	for {
		before, state := len(s.buf), s.state
		var v verdict
		switch s.state {
		case spelledName:
			v = s.readName()
		case spelledBetween:
			v = s.between()
		case spelledKey:
			v = s.readKey()
		case spelledLead:
			v = s.lead()
		case spelledValue:
			v = s.readValue(last)
		}
		if v != more || len(s.buf) == before && s.state == state {
			return v
		}
	}
}

// take is the text up to an end, which goes too; false where that is not there.
func (s *spelled) take(end string) (text string, ok bool) {
	text, rest, ok := strings.Cut(string(s.buf), end)
	if ok {
		s.buf = []byte(rest)
	}
	return text, ok
}

func (s *spelled) readName() verdict {
	for i, end := range s.how.name {
		text, _, ok := strings.Cut(string(s.buf), end)
		if !ok {
			continue
		}
		n := len(text)
		if i == 0 {
			n += len(end)
		}
		s.buf = s.buf[n:]
		if text = strings.TrimSpace(text); !isName(text) {
			return noCall(s.p)
		}
		if !s.p.allows(text) {
			return broken
		}
		s.name, _ = s.p.known(text)
		s.tool, s.state = s.p.tools[s.name], spelledBetween
		return more
	}
	if len(s.buf) > maxName {
		return noCall(s.p)
	}
	return more
}

func (s *spelled) between() verdict {
	text := strings.TrimLeft(string(s.buf), " \t\r\n")
	s.buf = []byte(text)
	switch {
	case strings.HasPrefix(text, s.how.key):
		s.buf, s.state = s.buf[len(s.how.key):], spelledKey
	case strings.HasPrefix(text, s.how.end):
		s.buf = s.buf[len(s.how.end):]
		return s.complete()
	case !strings.HasPrefix(s.how.key, text) && !strings.HasPrefix(s.how.end, text):
		return s.p.fail("a call of %q cannot be read: there is text between its arguments", s.name)
	}
	return more
}

func (s *spelled) readKey() verdict {
	text, ok := s.take(s.how.keyEnd)
	if !ok {
		if len(s.buf) > maxName {
			return s.p.fail("a call of %q cannot be read: an argument has no name", s.name)
		}
		return more
	}
	text, s.text = strings.CutSuffix(text, dsmlText)
	s.key = strings.TrimSpace(strings.TrimSuffix(text, dsmlJSON))
	s.state = spelledLead
	return more
}

func (s *spelled) lead() verdict {
	if s.how.value == "" {
		s.state = spelledValue
		return more
	}
	text := strings.TrimLeft(string(s.buf), " \t\r\n")
	switch {
	case strings.HasPrefix(text, s.how.value):
		s.buf, s.state = []byte(text[len(s.how.value):]), spelledValue
	case !strings.HasPrefix(s.how.value, text):
		return s.p.fail("a call of %q cannot be read: the argument %q has no value", s.name, s.key)
	}
	return more
}

// readValue takes a value up to its end: the first that another argument or the end of
// the call follows, since a value may hold such tags.
func (s *spelled) readValue(last bool) verdict {
	end := []byte(s.how.valueEnd)
	for {
		i := bytes.Index(s.buf[s.from:], end)
		if i < 0 {
			s.from = max(s.from, len(s.buf)-len(end)+1)
			return more
		}
		at := s.from + i
		rest := bytes.TrimLeft(s.buf[at+len(end):], " \t\r\n")
		switch begins(string(rest), last, s.how.key, s.how.end) {
		case done:
			value := string(s.buf[:at])
			s.buf, s.from, s.state = s.buf[at+len(end):], 0, spelledBetween
			return s.argument(value)
		case more:
			s.from = at
			return more
		}
		s.from = at + len(end)
	}
}

// begin puts the call out, with its first argument or its end.
func (s *spelled) begin() bool {
	s.p.call.unread = len(s.buf)
	return s.p.call.begun || s.p.begin(s.name)
}

func (s *spelled) argument(value string) verdict {
	if !s.begin() {
		return broken
	}
	separator := ", "
	if s.given == 0 {
		separator = "{"
	}
	s.given++
	if s.text || s.tool.text(s.key) {
		value = jsonString(value)
	} else {
		value = s.tool.value(s.key, value)
	}
	s.p.argument([]byte(separator + jsonString(s.key) + ": " + value)...)
	return more
}

func (s *spelled) complete() verdict {
	if !s.begin() {
		return broken
	}
	if s.given == 0 {
		s.p.argument('{')
	}
	s.p.argument('}')
	s.p.endCall()
	if n := len(s.buf); n > 0 {
		return s.p.giveBack(n)
	}
	return done
}

// finish is the end of the text, which closes what can be closed.
func (s *spelled) finish() verdict {
	if s.state == spelledName && len(s.how.name) > 1 { // a name alone, and nothing behind it
		s.buf = append(s.buf, s.how.name[0]...)
	}
	if v := s.read(true); v != more {
		return v
	}
	switch s.state {
	case spelledBetween:
		s.buf = nil
		return s.complete()
	case spelledValue:
		value := string(s.buf)
		if whole, rest, ok := strings.Cut(value, s.how.valueEnd); ok { // and what follows is no call
			s.buf, s.from, s.state = []byte(rest), 0, spelledBetween
			if v := s.argument(whole); v != more {
				return v
			}
			return s.finish()
		}
		for n := min(len(value), len(s.how.valueEnd)); n > 0; n-- { // an end that broke off
			if v, ok := strings.CutSuffix(value, s.how.valueEnd[:n]); ok {
				value = v
				break
			}
		}
		s.buf = nil
		if v := s.argument(value); v != more {
			return v
		}
		return s.complete()
	case spelledName:
		return noCall(s.p)
	}
	return s.p.fail("a call of %q cannot be read: it breaks off", s.name)
}
