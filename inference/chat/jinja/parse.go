package jinja

import (
	"slices"
	"strings"
)

// maxNesting bounds how deep brackets and blocks may be nested in a template,
// and so the stack of the parser.
const maxNesting = 100

// parser builds the tree of a template by recursive descent, with the grammar
// and the precedences of jinja2.parser.
type parser struct {
	tokens  []token
	pos     int
	nesting int
	// soft counts the conditions around. An unknown filter or test there is an
	// error only when it is reached, as in Python; elsewhere it is in unknown.
	soft    int
	unknown []error
	// used holds, for each macro around, the names its body reads.
	used []map[string]bool
	// loops counts the loops around, within the innermost macro.
	loops int
}

func (p *parser) peek() token { return p.tokens[p.pos] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != tokEOF {
		p.pos++
	}
	return t
}

func (p *parser) is(kind tokenKind) bool { return p.peek().kind == kind }

func (p *parser) isName(names ...string) bool {
	return p.is(tokName) && slices.Contains(names, p.peek().text)
}

func (p *parser) skip(kind tokenKind) bool {
	if p.is(kind) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) skipName(name string) bool {
	if p.isName(name) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(kind tokenKind) (token, error) {
	t := p.next()
	if t.kind != kind {
		return t, p.unexpected(t, string(kind))
	}
	return t, nil
}

func (p *parser) unexpected(t token, wanted string) error {
	got := string(t.kind)
	if t.kind == tokName {
		got = t.text
	}
	return syntaxError(t.line, "unexpected %q, expected %s", got, wanted)
}

func (p *parser) enter() error {
	if p.nesting++; p.nesting > maxNesting {
		return &Error{Line: p.peek().line, Message: "nested too deep", Err: ErrLimit}
	}
	return nil
}

func (p *parser) leave() { p.nesting-- }

// block parses statements up to a tag with one of the names, and takes that
// tag's name (its arguments and end are the caller's). With no names it parses
// to the end of the template.
func (p *parser) block(ends ...string) ([]stmt, string, error) {
	if err := p.enter(); err != nil {
		return nil, "", err
	}
	defer p.leave()
	var body []stmt
	for {
		t := p.next()
		switch t.kind {
		case tokData:
			body = append(body, &text{t.text})
		case tokVarBegin:
			x, err := p.tuple(true)
			if err != nil {
				return nil, "", err
			}
			if _, err := p.expect(tokVarEnd); err != nil {
				return nil, "", err
			}
			body = append(body, &output{t.line, x})
		case tokBlockBegin:
			tag, err := p.expect(tokName)
			if err != nil {
				return nil, "", err
			}
			if slices.Contains(ends, tag.text) {
				return body, tag.text, nil
			}
			s, err := p.statement(tag)
			if err != nil {
				return nil, "", err
			}
			body = append(body, s...)
		default: // the end of the template: the lexer gives nothing else here
			if len(ends) > 0 {
				return nil, "", syntaxError(t.line, "the template ends where %s is missing", strings.Join(ends, " or "))
			}
			return body, "", nil
		}
	}
}

// closed parses a block that ends with one tag, and that tag.
func (p *parser) closed(end string) ([]stmt, error) {
	body, _, err := p.block(end)
	if err != nil {
		return nil, err
	}
	_, err = p.expect(tokBlockEnd)
	return body, err
}

// statement parses what follows the name of a tag.
func (p *parser) statement(tag token) ([]stmt, error) {
	one := func(s stmt, err error) ([]stmt, error) { return []stmt{s}, err }
	switch tag.text {
	case "if":
		return one(p.ifStatement(tag.line))
	case "for":
		return one(p.forStatement(tag.line))
	case "set":
		return one(p.setStatement(tag.line))
	case "macro":
		return one(p.macroStatement(tag.line))
	case "call":
		return one(p.callStatement(tag.line))
	case "filter":
		return one(p.filterStatement(tag.line))
	case "with":
		return one(p.withStatement(tag.line))
	case "print":
		var body []stmt
		items, err := p.list(tokBlockEnd)
		for _, x := range items {
			body = append(body, &output{tag.line, x})
		}
		return body, err
	case "break", "continue":
		if p.loops == 0 {
			return nil, syntaxError(tag.line, "%s outside of a loop", tag.text)
		}
		err := errBreak
		if tag.text == "continue" {
			err = errContinue
		}
		_, e := p.expect(tokBlockEnd)
		return []stmt{&loopControl{tag.line, err}}, e
	case "generation": // marks the assistant's part for training
		if _, err := p.expect(tokBlockEnd); err != nil {
			return nil, err
		}
		body, err := p.closed("endgeneration")
		return []stmt{&withStmt{line: tag.line, body: body}}, err
	case "include", "import", "from", "extends", "block", "autoescape", "trans":
		return nil, syntaxError(tag.line, "the tag %s is not supported in chat templates", tag.text)
	}
	return nil, syntaxError(tag.line, "unknown tag %s", tag.text)
}

func (p *parser) ifStatement(line int) (stmt, error) {
	test, err := p.tuple(false)
	if err != nil {
		return nil, err
	}
	if _, err := p.expect(tokBlockEnd); err != nil {
		return nil, err
	}
	p.soft++
	defer func() { p.soft-- }()
	body, end, err := p.block("elif", "else", "endif")
	if err != nil {
		return nil, err
	}
	s := &ifStmt{line: line, test: test, body: body}
	switch end {
	case "elif":
		if err := p.enter(); err != nil { // a long chain nests, too
			return nil, err
		}
		defer p.leave()
		next, err := p.ifStatement(p.peek().line)
		s.otherwise = []stmt{next}
		return s, err
	case "else":
		if _, err := p.expect(tokBlockEnd); err != nil {
			return nil, err
		}
		s.otherwise, err = p.closed("endif")
		return s, err
	}
	_, err = p.expect(tokBlockEnd)
	return s, err
}

func (p *parser) forStatement(line int) (stmt, error) {
	s := &forStmt{line: line}
	var err error
	if s.target, err = p.target(false); err != nil {
		return nil, err
	}
	if !p.skipName("in") {
		return nil, p.unexpected(p.peek(), "in")
	}
	if s.iter, err = p.tuple(false); err != nil {
		return nil, err
	}
	if p.skipName("if") {
		if s.test, err = p.expression(); err != nil {
			return nil, err
		}
	}
	s.recursive = p.skipName("recursive")
	if _, err := p.expect(tokBlockEnd); err != nil {
		return nil, err
	}
	p.loops++
	body, end, err := p.block("endfor", "else")
	p.loops--
	if err != nil {
		return nil, err
	}
	s.body = body
	if _, err := p.expect(tokBlockEnd); err != nil {
		return nil, err
	}
	if end == "else" {
		s.otherwise, err = p.closed("endfor")
	}
	return s, err
}

func (p *parser) setStatement(line int) (stmt, error) {
	t, err := p.target(true)
	if err != nil {
		return nil, err
	}
	if p.skip("=") {
		x, err := p.tuple(true)
		if err != nil {
			return nil, err
		}
		_, err = p.expect(tokBlockEnd)
		return &setStmt{line, t, x}, err
	}
	filter, err := p.filters(&hole{})
	if err != nil {
		return nil, err
	}
	if _, err := p.expect(tokBlockEnd); err != nil {
		return nil, err
	}
	body, err := p.closed("endset")
	return &setBlock{line, t, filter, body}, err
}
