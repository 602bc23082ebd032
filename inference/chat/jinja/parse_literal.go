package jinja

import (
	"math/big"
	"strconv"
	"strings"
)

func (p *parser) primary() (expr, error) {
	t := p.next()
	switch t.kind {
	case tokName:
		switch t.text {
		case "true", "True":
			return &constant{true}, nil
		case "false", "False":
			return &constant{false}, nil
		case "none", "None":
			return &constant{nil}, nil
		}
		p.use(t.text)
		return &name{t.text}, nil
	case tokString:
		s := t.text
		for p.is(tokString) {
			s += p.next().text
		}
		return &constant{s}, nil
	case tokInt:
		return integer(t)
	case tokFloat:
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil && f == 0 {
			return nil, syntaxError(t.line, "bad number %s", t.text)
		}
		return &constant{f}, nil
	case "(":
		return p.parenthesis()
	case "[":
		items, err := p.list("]")
		return &listExpr{items}, err
	case "{":
		return p.dict()
	}
	return nil, p.unexpected(t, "an expression")
}

func integer(t token) (expr, error) {
	if strings.TrimLeft(t.text, "0") != "" && t.text[0] == '0' && isDigit(t.text[1]) {
		return nil, syntaxError(t.line, "bad number %s", t.text) // octal in Go, nothing in Python
	}
	if n, err := strconv.ParseInt(t.text, 0, 64); err == nil {
		return &constant{n}, nil
	}
	n, ok := new(big.Int).SetString(t.text, 0)
	if !ok || len(t.text) > 100 {
		return nil, syntaxError(t.line, "bad number %s", t.text)
	}
	return &constant{n}, nil
}

func (p *parser) parenthesis() (expr, error) {
	if p.skip(")") {
		return &tupleExpr{}, nil
	}
	x, err := p.tuple(true)
	if err != nil {
		return nil, err
	}
	_, err = p.expect(")")
	return x, err
}

// list parses expressions up to a closing bracket.
func (p *parser) list(end tokenKind) ([]expr, error) {
	var items []expr
	for !p.is(end) {
		if len(items) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
			if p.is(end) {
				break
			}
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		items = append(items, x)
	}
	p.next()
	return items, nil
}

func (p *parser) dict() (expr, error) {
	d := &dictExpr{}
	for !p.is("}") {
		if len(d.keys) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
			if p.is("}") {
				break
			}
		}
		k, err := p.expression()
		if err != nil {
			return nil, err
		}
		if _, err := p.expect(":"); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		d.keys, d.values = append(d.keys, k), append(d.values, v)
	}
	p.next()
	return d, nil
}
