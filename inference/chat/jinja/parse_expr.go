package jinja

import (
	"math/big"
	"strconv"
	"strings"
)

// expression parses the lowest precedence: x if test else y.
func (p *parser) expression() (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	unknown := len(p.unknown)
	x, err := p.orExpr()
	if err != nil {
		return nil, err
	}
	for p.skipName("if") {
		p.unknown = p.unknown[:unknown] // they are conditional, it turns out
		p.soft++
		test, err := p.orExpr()
		if err != nil {
			return nil, err
		}
		c := &conditional{test: test, then: x}
		if p.skipName("else") {
			if c.otherwise, err = p.expression(); err != nil {
				return nil, err
			}
		}
		p.soft--
		x = c
	}
	return x, nil
}

// tuple parses expressions with commas between them; one without a comma is
// itself. conditional says whether "x if y" may be among them. It ends before
// the end of the tag, a closing parenthesis or one of the names.
func (p *parser) tuple(conditional bool, ends ...string) (expr, error) {
	one := p.orExprNested
	if conditional {
		one = p.expression
	}
	var items []expr
	for {
		if len(items) > 0 && (p.is(tokVarEnd) || p.is(tokBlockEnd) || p.is(")") || p.isName(ends...)) {
			break
		}
		x, err := one()
		if err != nil {
			return nil, err
		}
		if items = append(items, x); !p.is(",") {
			if len(items) == 1 {
				return x, nil
			}
			break
		}
		p.next()
	}
	return &tupleExpr{items}, nil
}

func (p *parser) orExprNested() (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	return p.orExpr()
}

func (p *parser) orExpr() (expr, error) {
	x, err := p.andExpr()
	for err == nil && p.skipName("or") {
		var y expr
		y, err = p.andExpr()
		x = &or{x, y}
	}
	return x, err
}

func (p *parser) andExpr() (expr, error) {
	x, err := p.notExpr()
	for err == nil && p.skipName("and") {
		var y expr
		y, err = p.notExpr()
		x = &and{x, y}
	}
	return x, err
}

func (p *parser) notExpr() (expr, error) {
	if !p.skipName("not") {
		return p.compareExpr()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	x, err := p.notExpr()
	return &not{x}, err
}

func (p *parser) compareExpr() (expr, error) {
	x, err := p.sumExpr()
	if err != nil {
		return nil, err
	}
	c := &comparison{x: x}
	for {
		op := ""
		switch t := p.peek(); {
		case t.kind == "==" || t.kind == "!=" || t.kind == "<" || t.kind == "<=" || t.kind == ">" || t.kind == ">=":
			op = string(p.next().kind)
		case p.skipName("in"):
			op = "in"
		case p.isName("not") && p.tokens[p.pos+1].kind == tokName && p.tokens[p.pos+1].text == "in":
			p.pos += 2
			op = "not in"
		}
		if op == "" {
			break
		}
		y, err := p.sumExpr()
		if err != nil {
			return nil, err
		}
		c.rest = append(c.rest, relation{op, y})
	}
	if c.rest == nil {
		return x, nil
	}
	return c, nil
}

// sumExpr, concatExpr, productExpr, powerExpr: each binds tighter than the one
// before.
func (p *parser) sumExpr() (expr, error) { return p.leftAssociative(p.concatExpr, "+", "-") }

func (p *parser) concatExpr() (expr, error) {
	x, err := p.productExpr()
	if err != nil || !p.is("~") {
		return x, err
	}
	c := &concat{items: []expr{x}}
	for p.skip("~") {
		y, err := p.productExpr()
		if err != nil {
			return nil, err
		}
		c.items = append(c.items, y)
	}
	return c, nil
}

func (p *parser) productExpr() (expr, error) {
	return p.leftAssociative(p.powerExpr, "*", "/", "//", "%")
}

func (p *parser) powerExpr() (expr, error) {
	return p.leftAssociative(func() (expr, error) { return p.unaryExpr(true) }, "**")
}

func (p *parser) leftAssociative(operand func() (expr, error), ops ...tokenKind) (expr, error) {
	x, err := operand()
next:
	for err == nil {
		for _, op := range ops {
			if p.skip(op) {
				var y expr
				y, err = operand()
				x = &binary{op, x, y}
				continue next
			}
		}
		break
	}
	return x, err
}

// unaryExpr parses signs and what follows them. Filters apply to the whole,
// sign included, as in Jinja: -1|abs is 1.
func (p *parser) unaryExpr(withFilters bool) (expr, error) {
	var x expr
	var err error
	if p.is("-") || p.is("+") {
		op := p.next().kind
		if err := p.enter(); err != nil {
			return nil, err
		}
		x, err = p.unaryExpr(false)
		p.leave()
		x = &unary{op, x}
	} else {
		x, err = p.primary()
	}
	if err == nil {
		x, err = p.postfix(x)
	}
	if err == nil && withFilters {
		x, err = p.filtersAndTests(x)
	}
	return x, err
}

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
