package jinja

// macroStatement parses {% macro name(a, b=1) %}.
func (p *parser) macroStatement(line int) (stmt, error) {
	n, err := p.expect(tokName)
	if err != nil {
		return nil, err
	}
	m := &macro{name: n.text}
	if m.params, err = p.params(); err != nil {
		return nil, err
	}
	return &macroStmt{line, m}, p.macroBody(m, "endmacro")
}

// callStatement parses {% call(a) macro(...) %}.
func (p *parser) callStatement(line int) (stmt, error) {
	m := &macro{name: "caller"}
	var err error
	if p.is("(") {
		if m.params, err = p.params(); err != nil {
			return nil, err
		}
	}
	x, err := p.expression()
	if err != nil {
		return nil, err
	}
	c, ok := x.(*call)
	if !ok {
		return nil, syntaxError(line, "call needs a call of a macro")
	}
	return &callStmt{line, c, m}, p.macroBody(m, "endcall")
}

// macroBody parses the end of the opening tag and the body of a macro, and
// finds out which of the special names it uses.
func (p *parser) macroBody(m *macro, end string) error {
	if _, err := p.expect(tokBlockEnd); err != nil {
		return err
	}
	loops := p.loops
	p.loops = 0
	used := map[string]bool{}
	p.used = append(p.used, used)
	body, err := p.closed(end)
	p.used = p.used[:len(p.used)-1]
	p.loops = loops
	m.body = body
	m.caller, m.usesVarargs, m.usesKw = used["caller"], used["varargs"], used["kwargs"]
	return err
}

func (p *parser) params() ([]param, error) {
	if _, err := p.expect("("); err != nil {
		return nil, err
	}
	var out []param
	for !p.is(")") {
		if len(out) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
		}
		n, err := p.expect(tokName)
		if err != nil {
			return nil, err
		}
		x := param{name: n.text}
		if p.skip("=") {
			if x.value, err = p.expression(); err != nil {
				return nil, err
			}
		} else if len(out) > 0 && out[len(out)-1].value != nil {
			return nil, syntaxError(n.line, "the parameter %s without a default follows one with a default", n.text)
		}
		out = append(out, x)
	}
	p.next()
	return out, nil
}

func (p *parser) filterStatement(line int) (stmt, error) {
	x, err := p.filter(&hole{})
	if err == nil {
		x, err = p.filters(x)
	}
	if err != nil {
		return nil, err
	}
	if _, err := p.expect(tokBlockEnd); err != nil {
		return nil, err
	}
	body, err := p.closed("endfilter")
	return &filterBlock{line, x, body}, err
}

func (p *parser) withStatement(line int) (stmt, error) {
	s := &withStmt{line: line}
	for !p.is(tokBlockEnd) {
		if len(s.targets) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
		}
		t, err := p.target(false)
		if err != nil {
			return nil, err
		}
		if _, err := p.expect("="); err != nil {
			return nil, err
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		s.targets, s.values = append(s.targets, t), append(s.values, x)
	}
	p.next()
	var err error
	s.body, err = p.closed("endwith")
	return s, err
}

// target parses what is assigned to: a name, a tuple of names, or, where a
// namespace may be meant, name.attr.
func (p *parser) target(namespace bool) (target, error) {
	var items []target
	tuple := false
	for {
		if len(items) > 0 && (p.is(tokBlockEnd) || p.is(")")) {
			break // a trailing comma
		}
		t, err := p.oneTarget(namespace)
		if err != nil {
			return target{}, err
		}
		items = append(items, t)
		if !p.skip(",") {
			break
		}
		tuple = true
	}
	if !tuple {
		return items[0], nil
	}
	return target{items: items}, nil
}

func (p *parser) oneTarget(namespace bool) (target, error) {
	if p.skip("(") {
		if err := p.enter(); err != nil {
			return target{}, err
		}
		defer p.leave()
		t, err := p.target(namespace)
		if err != nil {
			return target{}, err
		}
		_, err = p.expect(")")
		return t, err
	}
	n, err := p.expect(tokName)
	if err != nil {
		return target{}, err
	}
	switch n.text {
	case "true", "false", "none", "True", "False", "None":
		return target{}, syntaxError(n.line, "cannot assign to %s", n.text)
	}
	if namespace && p.skip(".") {
		p.use(n.text)
		a, err := p.expect(tokName)
		return target{name: n.text, attr: a.text}, err
	}
	return target{name: n.text}, nil
}

// use notes that the macros around read a name.
func (p *parser) use(name string) {
	for _, used := range p.used {
		used[name] = true
	}
}
