package jinja

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
// itself. conditional says whether "x if y" may be among them. A last comma may
// stand before the end of the tag or a closing parenthesis.
func (p *parser) tuple(conditional bool) (expr, error) {
	one := p.orExprNested
	if conditional {
		one = p.expression
	}
	var items []expr
	for {
		if len(items) > 0 && (p.is(tokVarEnd) || p.is(tokBlockEnd) || p.is(")")) {
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
