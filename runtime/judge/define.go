package judge

import (
	"errors"
	"maps"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// declare reads export, declare, local and their like.
func (r *reader) declare(c *syntax.DeclClause) error {
	a := act{program: c.Variant.Value, full: c.Variant.Value}
	for _, assign := range c.Args {
		if err := r.substitutions(assign); err != nil {
			return err
		}
		name, value := r.assigned(assign)
		if name == "" {
			if assign.Value != nil && assign.Naked {
				a.args = append(a.args, r.literal(assign.Value))
			}
			continue
		}
		if assign.Value != nil || assign.Array != nil {
			r.set(name, value)
			a.sets = append(a.sets, name+"="+value)
		}
	}
	return r.add(a)
}

func (r *reader) set(name, value string) {
	if len(value) > maxValue {
		value = unknown
	}
	r.vars[name] = value
	delete(r.lists, name)
}

// function reads a body where it is declared. One that calls itself twice, side by
// side, never ends: it is told by the name fork-bomb.
func (r *reader) function(c *syntax.FuncDecl, p pipe) error {
	name, calls, background := c.Name.Value, 0, false
	r.funcs[name] = c
	syntax.Walk(c.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 && n.Args[0].Lit() == name {
				calls++
			}
		case *syntax.Stmt:
			background = background || n.Background
		}
		return true
	})
	if calls >= 2 || calls == 1 && background {
		if err := r.add(act{program: "fork-bomb", full: name}); err != nil {
			return err
		}
	}
	return r.statement(c.Body, p)
}

// known reads what a name stands for that the script itself made: an alias or a
// function, with its arguments. Shells differ about aliases, so the name is read as a
// program as well.
func (r *reader) known(a act, p pipe) error {
	if a.program == "alias" {
		for _, arg := range a.args {
			if name, value, ok := strings.Cut(arg, "="); ok {
				r.aliases[name] = value
			}
		}
	}
	if value, ok := r.aliases[a.full]; ok && r.called["alias "+a.full] < maxCalled {
		r.called["alias "+a.full]++
		words := []string{value}
		for _, arg := range a.args {
			quoted, err := syntax.Quote(arg, syntax.LangBash)
			if err != nil {
				quoted = "'" + unknown + "'"
			}
			words = append(words, quoted)
		}
		if err := r.inner(strings.Join(words, " "), p); err != nil && errors.Is(err, errTooMuch) {
			return err
		}
	}
	f, ok := r.funcs[a.full]
	if !ok || r.called[a.full] >= maxCalled {
		return nil
	}
	r.called[a.full]++
	before := map[string]string{}
	for i := range 9 {
		before[strconv.Itoa(i+1)] = r.vars[strconv.Itoa(i+1)]
	}
	list, had := r.lists["@"]
	r.positional(a.args)
	err := r.statement(f.Body, p)
	maps.Copy(r.vars, before)
	if delete(r.lists, "@"); had {
		r.lists["@"], r.lists["*"] = list, list
	}
	return err
}

// maxCalled is how often a function or alias is read with the arguments of a call.
const maxCalled = 8

func (r *reader) assigned(a *syntax.Assign) (name, value string) {
	if a.Name == nil {
		return "", ""
	}
	switch {
	case a.Array != nil && a.Index == nil && !a.Append:
		r.list(a)
		return "", ""
	case a.Array != nil || a.Index != nil:
		value = unknown
	case a.Value != nil:
		value = r.literal(a.Value)
	}
	if a.Append {
		value = r.vars[a.Name.Value] + value
	}
	return a.Name.Value, value
}

// list reads an array that is given as a whole.
func (r *reader) list(a *syntax.Assign) {
	var words []*syntax.Word
	for _, e := range a.Array.Elems {
		if e.Index != nil || e.Value == nil {
			r.set(a.Name.Value, unknown)
			return
		}
		words = append(words, e.Value)
	}
	values := r.fields(words...)
	delete(r.vars, a.Name.Value)
	r.lists[a.Name.Value] = values
}
