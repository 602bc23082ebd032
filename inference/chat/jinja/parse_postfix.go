package jinja

import "strconv"

// postfix parses .name, [key] and (args) behind an expression.
func (p *parser) postfix(x expr) (expr, error) {
	for {
		var err error
		switch {
		case p.skip("."):
			x, err = p.dot(x)
		case p.skip("["):
			x, err = p.subscript(x)
		case p.skip("("):
			x, err = p.call(x)
		default:
			return x, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) dot(x expr) (expr, error) {
	t := p.next()
	switch t.kind {
	case tokName:
		return &attribute{x, t.text}, nil
	case tokInt:
		n, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			return nil, syntaxError(t.line, "bad number %s", t.text)
		}
		return &item{x, &constant{n}}, nil
	}
	return nil, p.unexpected(t, "a name or a number")
}

// subscript parses what is between brackets: a key, a slice, or several of
// them, which make a tuple.
func (p *parser) subscript(x expr) (expr, error) {
	var keys []expr
	for !p.is("]") {
		if len(keys) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
		}
		k, err := p.key()
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	p.next()
	switch len(keys) {
	case 0:
		return nil, syntaxError(p.peek().line, "a subscript is empty")
	case 1:
		return &item{x, keys[0]}, nil
	}
	return &item{x, &tupleExpr{keys}}, nil
}

func (p *parser) key() (expr, error) {
	var parts [3]expr
	n, colons := 0, 0
	for n < 3 {
		if !p.is(":") && !p.is("]") && !p.is(",") {
			x, err := p.expression()
			if err != nil {
				return nil, err
			}
			parts[n] = x
		}
		if colons == 2 || !p.skip(":") {
			break
		}
		colons++
		n++
	}
	if colons == 0 {
		if parts[0] == nil {
			return nil, p.unexpected(p.peek(), "an expression")
		}
		return parts[0], nil
	}
	return &sliceExpr{parts[0], parts[1], parts[2]}, nil
}

func (p *parser) call(fn expr) (expr, error) {
	args, err := p.arguments()
	return &call{fn, args}, err
}

// arguments parses what follows an opening parenthesis, and the closing one.
func (p *parser) arguments() ([]argument, error) {
	var out []argument
	for !p.is(")") {
		if len(out) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
			if p.is(")") {
				break
			}
		}
		a := argument{}
		switch {
		case p.skip("**"):
			a.name = "**"
		case p.skip("*"):
			a.name = "*"
		case p.is(tokName) && p.tokens[p.pos+1].kind == "=":
			a.name = p.next().text
			p.next()
		default:
			if len(out) > 0 && out[len(out)-1].name != "" && out[len(out)-1].name != "*" {
				return nil, syntaxError(p.peek().line, "a positional argument follows a keyword argument")
			}
		}
		var err error
		if a.value, err = p.expression(); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	p.next()
	return out, nil
}

func (p *parser) filtersAndTests(x expr) (expr, error) {
	for {
		var err error
		switch {
		case p.skip("|"):
			x, err = p.filter(x)
		case p.skipName("is"):
			x, err = p.test(x)
		case p.skip("("):
			x, err = p.call(x)
		default:
			return x, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// filters parses | filter | filter ...
func (p *parser) filters(x expr) (expr, error) {
	for p.skip("|") {
		var err error
		if x, err = p.filter(x); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// filter parses the name and the arguments of a filter.
func (p *parser) filter(x expr) (expr, error) {
	n, err := p.expect(tokName)
	if err != nil {
		return nil, err
	}
	for p.skip(".") {
		more, err := p.expect(tokName)
		if err != nil {
			return nil, err
		}
		n.text += "." + more.text
	}
	if _, ok := filters[n.text]; !ok && p.soft == 0 {
		p.unknown = append(p.unknown, syntaxError(n.line, "unknown filter %s", n.text))
	}
	f := &filterExpr{x: x, name: n.text}
	if p.skip("(") {
		f.args, err = p.arguments()
	}
	return f, err
}

// test parses what follows "is".
func (p *parser) test(x expr) (expr, error) {
	negated := p.skipName("not")
	n, err := p.expect(tokName)
	if err != nil {
		return nil, err
	}
	if _, ok := tests[n.text]; !ok && p.soft == 0 {
		p.unknown = append(p.unknown, syntaxError(n.line, "unknown test %s", n.text))
	}
	t := &testExpr{x: x, name: n.text}
	switch next := p.peek(); {
	case p.skip("("):
		if t.args, err = p.arguments(); err != nil {
			return nil, err
		}
	case p.isName("else", "or", "and"):
	case p.isName("is"):
		return nil, syntaxError(next.line, "tests cannot be chained with is")
	case next.kind == tokName, next.kind == tokString, next.kind == tokInt, next.kind == tokFloat,
		next.kind == "[", next.kind == "{":
		arg, err := p.primary()
		if err == nil {
			arg, err = p.postfix(arg)
		}
		if err != nil {
			return nil, err
		}
		t.args = []argument{{value: arg}}
	}
	if negated {
		return &not{t}, nil
	}
	return t, nil
}
