package answer

import "strings"

// Texts around calls as some families write them.
const (
	kimiSection    = "<|tool_calls_section_begin|>"
	kimiSectionEnd = "<|tool_calls_section_end|>"
	kimiCall       = "<|tool_call_begin|>"
	kimiArguments  = "<|tool_call_argument_begin|>"
	kimiEnd        = "<|tool_call_end|>"

	deepseekCalls    = "<｜tool▁calls▁begin｜>"
	deepseekCallsEnd = "<｜tool▁calls▁end｜>"
	deepseekCall     = "<｜tool▁call▁begin｜>"
	deepseekName     = "<｜tool▁sep｜>"
	deepseekEnd      = "<｜tool▁call▁end｜>"

	lfmCall = "<|tool_call_start|>"
	lfmEnd  = "<|tool_call_end|>"
)

// newKimi reads what stands behind <|tool_call_begin|>: a name with its number, and an
// object.
func newKimi(p *Parser) body {
	return &head{p: p, read: func(p *Parser, buf string) (body, int, verdict) {
		name, _, whole := strings.Cut(buf, kimiArguments)
		if !whole {
			return nil, 0, more
		}
		name = strings.TrimSpace(name)
		if at := strings.LastIndexByte(name, ':'); at > 0 && strings.Trim(name[at+1:], "0123456789") == "" {
			name = name[:at]
		}
		if !isName(name) {
			return nil, 0, noCall(p)
		}
		return &list{p: p, name: name, closer: kimiEnd}, 0, more
	}}
}

// newDeepseek reads what stands behind <｜tool▁call▁begin｜>: a name, or the word
// function and the name behind it, then an object, which may be in a block of code.
func newDeepseek(p *Parser) body {
	return &head{p: p, read: func(p *Parser, buf string) (body, int, verdict) {
		name, rest, whole := strings.Cut(buf, deepseekName)
		if !whole {
			return nil, 0, more
		}
		closer := deepseekEnd
		if name = strings.TrimSpace(name); name == "function" {
			var line bool
			if name, rest, line = strings.Cut(rest, "\n"); !line {
				return nil, 0, more
			}
		}
		rest = strings.TrimLeft(rest, " \t\r\n")
		if strings.HasPrefix(fence+"json", rest) {
			return nil, 0, more // also where there is nothing yet
		}
		if inner, ok := strings.CutPrefix(rest, fence+"json"); ok {
			rest, closer = strings.TrimLeft(inner, " \t\r\n"), fence+deepseekEnd
		}
		switch {
		case rest == "":
			return nil, 0, more
		case rest[0] != '{' || !isName(strings.TrimSpace(name)):
			return nil, 0, noCall(p)
		}
		return &list{p: p, name: strings.TrimSpace(name), closer: closer}, 1, more
	}}
}

// newLFM reads what stands between <|tool_call_start|> and its end: calls as Python
// writes them, or JSON.
func newLFM(p *Parser) body {
	return &head{p: p, read: func(p *Parser, buf string) (body, int, verdict) {
		buf = strings.TrimLeft(buf, " \t\r\n")
		items := strings.TrimLeft(strings.TrimPrefix(buf, "["), " \t\r\n")
		switch {
		case items == "":
			return nil, 0, more
		case items[0] == '{':
			return &list{p: p, closer: lfmEnd}, len(buf), more
		case isWord(items[0]):
			return &python{p: p, closer: lfmEnd}, len(buf), more
		}
		return nil, 0, noCall(p)
	}}
}
