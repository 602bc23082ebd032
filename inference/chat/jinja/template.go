package jinja

import (
	"strings"
)

// Limits bound what one rendering may use. Each is exceeded by an error that
// wraps ErrLimit.
type Limits struct {
	// Output is the largest result in bytes.
	Output int
	// Memory is the number of bytes that may be made in all: every string and
	// list that is built counts with its size, also when it is dropped again.
	// So it bounds the memory in use and the work of building.
	Memory int
	// Steps is the number of nodes of the template that may be evaluated. Work
	// that is not constant, such as comparing long strings, counts as a step
	// for every 16 bytes.
	Steps int
	// Depth is how deep evaluations may be nested: macros that call themselves,
	// loops in loops, operators in operators.
	Depth int
}

// DefaultLimits are far above what a chat template needs for a prompt of a
// million tokens, and reached within a second or two.
func DefaultLimits() Limits {
	return Limits{Output: 64 << 20, Memory: 256 << 20, Steps: 20_000_000, Depth: 2000}
}

// maxSource is the longest template that Compile takes, in bytes. The longest
// chat templates of real models have about 30,000.
const maxSource = 256 << 10

// Template is a compiled template.
type Template struct{ body []stmt }

// Compile parses a template. Errors are *Error and name the line.
func Compile(source string) (*Template, error) {
	if len(source) > maxSource {
		return nil, &Error{Message: "the template is longer than 256 KiB", Err: ErrLimit}
	}
	tokens, err := lex(source)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	body, _, err := p.block()
	if err != nil {
		return nil, err
	}
	if len(p.unknown) > 0 {
		return nil, p.unknown[0]
	}
	return &Template{body}, nil
}

// Render renders the template with variables, which it does not change. Errors
// are *Error; one made by a host function is wrapped.
func (t *Template) Render(variables map[string]Value, limits Limits) (string, error) {
	m := &machine{limits: limits}
	var out strings.Builder
	f := &frame{machine: m, out: &out, scope: &scope{vars: map[string]Value{}}}
	for k, v := range globals {
		f.scope.vars[k] = v
	}
	for k, v := range variables {
		f.scope.vars[k] = v
	}
	if err := f.run(t.body); err != nil {
		return "", err
	}
	return out.String(), nil
}
