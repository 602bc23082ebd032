package board

import (
	"fmt"
	"strconv"
	"strings"
)

// IsCreate reports whether a statement begins as one that creates a table. Such a
// statement is never given to a store.
func IsCreate(sql string) bool {
	t := &tokens{rest: sql}
	first, second := t.next(), t.next()
	return t.err == nil && first.word("create") && second.word("table")
}

// ParseCreate reads the CREATE TABLE that the lead may write:
//
//	CREATE TABLE name (column type [NOT NULL] [DEFAULT literal], ...) [;]
//
// Types are text, integer and real. A name in double quotes is as one without. The
// columns that the store fills are added to it; everything else of SQL's CREATE
// TABLE is refused by name. Errors: ErrDenied for other forms, ErrStatement for
// mistakes.
func ParseCreate(sql string) (Table, error) {
	p := &parser{tokens: tokens{rest: sql}}
	p.advance()
	t := Table{}
	p.expect("create")
	p.expect("table")
	t.Name = p.name("the table's name")
	p.expect("(")
	for p.err == nil {
		t.Columns = append(t.Columns, p.column())
		if p.now.text != "," {
			break
		}
		p.advance()
	}
	p.expect(")")
	if p.now.text == ";" {
		p.advance()
	}
	if p.err == nil && p.now.kind != end {
		p.fail(ErrDenied, "%q after the table: want nothing", p.now.text)
	}
	if p.err != nil {
		return Table{}, p.err
	}
	if err := t.Check(); err != nil {
		return Table{}, Refuse(ErrStatement, nil, "create table: %v", err)
	}
	return t, nil
}

type parser struct {
	tokens
	now token
	err error
}

func (p *parser) fail(reason error, format string, args ...any) {
	if p.err == nil {
		p.err = Refuse(reason, nil, "create table: "+format+
			"; the form is: create table name (column text|integer|real [not null] [default literal], ...)", args...)
	}
}

func (p *parser) advance() {
	p.now = p.next()
	if p.tokens.err != nil {
		p.fail(ErrStatement, "%v", p.tokens.err)
	}
}

// expect passes a word or sign.
func (p *parser) expect(text string) {
	if p.err != nil {
		return
	}
	if !p.now.word(text) && !(p.now.kind == sign && p.now.text == text) {
		p.fail(ErrDenied, "%q where %q is wanted", p.now.text, text)
		return
	}
	p.advance()
}

func (p *parser) name(what string) string {
	if p.err != nil {
		return ""
	}
	if p.now.kind != word && p.now.kind != quoted {
		p.fail(ErrStatement, "%q where %s is wanted", p.now.text, what)
		return ""
	}
	name := p.now.text
	if p.now.kind == word {
		name = strings.ToLower(name)
	}
	p.advance()
	return name
}

func (p *parser) column() Column {
	c := Column{Name: p.name("a column's name")}
	switch typ := p.name("a type"); typ {
	case "text", "varchar", "string":
		c.Type = Text
	case "integer", "int", "bigint":
		c.Type = Integer
	case "real", "double", "float":
		c.Type = Real
	default:
		p.fail(ErrStatement, "type %q", typ)
	}
	for p.err == nil {
		switch {
		case p.now.word("not"):
			p.advance()
			p.expect("null")
			c.Required = true
		case p.now.word("default"):
			p.advance()
			c.Default = p.literal(c.Type)
		default:
			return c
		}
	}
	return c
}

func (p *parser) literal(t Type) any {
	at, minus := p.now, false
	if at.text == "-" && at.kind == sign {
		minus = true
		p.advance()
		at = p.now
	}
	p.advance()
	var v any
	var err error
	reason := ErrStatement
	switch {
	case at.kind == str && !minus && t == Text:
		v = at.text
		err = CheckText(at.text)
	case at.kind == num && (t == Integer || t == Real):
		text := at.text
		if minus {
			text = "-" + text
		}
		if t == Integer {
			v, err = strconv.ParseInt(text, 10, 64)
		} else {
			v, err = strconv.ParseFloat(text, 64)
		}
	case at.word("null") && !minus:
		return nil
	default:
		if at.text == "(" || at.kind == word {
			reason = ErrDenied // an expression
		}
		err = fmt.Errorf("%q is no literal of type %s", at.text, t)
	}
	if err != nil {
		p.fail(reason, "default: %v", err)
	}
	return v
}
