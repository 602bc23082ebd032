package schema

import (
	"errors"
	"strconv"
	"strings"

	"dure/inference/schema/grammar"
	"dure/inference/schema/pattern"
)

const (
	// MaxBytes is how large a schema may be.
	MaxBytes = 4 << 20
	// MaxDepth is how deep its JSON may be nested.
	MaxDepth = 200
	// MaxEnum is how many values an enum may have.
	MaxEnum = 20000
	// MaxBranches is how many alternatives a schema may have when those of anyOf,
	// oneOf and allOf are multiplied out.
	MaxBranches = 2000
	// MaxRepeat is the largest finite number of characters, items or members that is
	// counted.
	MaxRepeat = grammar.MaxRepeat
	// maxRules is how many different combinations of subschemas there may be.
	maxRules = 20000
	// maxWork bounds the whole, in merges of two schemas and steps of about that size.
	maxWork = 400000
	// automatonWork is how many states and edges of automata count as one such step,
	// and failureWork what one that grew too large counts for.
	automatonWork = 8
	failureWork   = maxWork / 8
)

// Options of Compile. The zero value is strict.
type Options struct {
	// Loose leaves keywords that cannot be guaranteed to the caller, who validates
	// what was generated: they are in Result.Unchecked instead of being errors.
	Loose bool
	// Compact allows no white space between the tokens of JSON. Otherwise there may
	// be a bounded amount where programs that print JSON write it.
	Compact bool
}

// Result is a schema as a grammar.
type Result struct {
	// Grammar describes the documents. It can be a part of a larger one.
	Grammar grammar.Expr
	// Unchecked are the keywords that Loose left out, in the order in which they were
	// found.
	Unchecked []*Error
	// Ignored are keywords, and formats, that are not known to say anything about
	// which values are valid, and are not mere annotations of the standard either: a
	// caller should show them, since one of them may be misspelt.
	Ignored []Keyword
}

// compiler turns one document into a grammar.
type compiler struct {
	options   Options
	lexicon   *lexicon
	root      *value
	anchors   map[string]*value
	err       error
	noted     map[Keyword]bool
	unchecked []*Error
	ignored   []Keyword
	work      int

	expanded map[*value][]*flat // nil while it is being worked on
	flats    map[string][]*flat
	choices  []choice
	patterns map[string]*pattern.Automaton
	rules    map[string]*grammar.Rule
	texts    map[string]grammar.Expr
	numbers  map[string]grammar.Expr
	classes  map[string]grammar.Expr
	queue    []job
}

// job is a rule that has a name and no meaning yet.
type job struct {
	rule *grammar.Rule
	of   set
}

// Compile turns a JSON Schema into the grammar of the documents that fulfil it. All
// errors are *Error.
func Compile(raw []byte, options Options) (*Result, error) {
	root, err := decode(raw)
	if err != nil {
		return nil, err
	}
	c := &compiler{
		options: options, lexicon: newLexicon(options.Compact), root: root, anchors: map[string]*value{}, noted: map[Keyword]bool{},
		expanded: map[*value][]*flat{}, flats: map[string][]*flat{}, patterns: map[string]*pattern.Automaton{},
		rules: map[string]*grammar.Rule{}, texts: map[string]grammar.Expr{}, numbers: map[string]grammar.Expr{}, classes: map[string]grammar.Expr{},
	}
	e := c.compile()
	if c.err != nil {
		return nil, c.err
	}
	return &Result{Grammar: e, Unchecked: c.unchecked, Ignored: c.ignored}, nil
}

func (c *compiler) compile() grammar.Expr {
	c.findAnchors(c.root)
	root := c.rule(set{c.root})
	for len(c.queue) > 0 && c.err == nil {
		next := c.queue[0]
		c.queue = c.queue[1:]
		next.rule.Define(c.define(next.of))
	}
	c.checkChoices()
	if c.err != nil {
		return nil
	}
	// That it can be compiled is known here, where it can be said of the schema.
	if _, err := grammar.Compile(root); err != nil {
		c.explain(err)
		return nil
	}
	return root
}

// explain says what an error of the grammar means for the schema.
func (c *compiler) explain(err error) {
	switch {
	case errors.Is(err, grammar.ErrEmpty):
		c.fail(c.root, "", "no value can fulfil it (a required part has contradictory or endless demands)")
	case errors.Is(err, grammar.ErrTooLarge):
		c.fail(c.root, "", "it is too large: its grammar has more than %d parts; shorten enums, patterns, or the number of properties", grammar.MaxNodes)
	case errors.Is(err, grammar.ErrTooDeep):
		c.fail(c.root, "", "even the smallest value is nested too deep")
	default:
		c.fail(c.root, "", "%v", err)
	}
}

// spend counts work, and gives up when it is too much.
func (c *compiler) spend(n int) {
	if c.work += n; c.work > maxWork {
		c.fail(c.root, "", "it is too complex: its alternatives, references and patterns combine in too many ways; use fewer allOf and anyOf within each other")
	}
}

// rule returns the rule of values that fulfil all schemas of a set.
func (c *compiler) rule(of set) grammar.Expr {
	of = c.simplify(of)
	if len(of) == 0 {
		return c.lexicon.value
	}
	key := of.key()
	r := c.rules[key]
	if r == nil {
		if len(c.rules) >= maxRules {
			c.fail(of[0], "", "there are more than %d combinations of subschemas; use fewer allOf and anyOf within each other", maxRules)
			return c.lexicon.value
		}
		r = grammar.NewRule("#" + of[0].path)
		c.rules[key] = r
		c.queue = append(c.queue, job{r, of})
	}
	return r
}

func (s set) key() string {
	var b strings.Builder
	for _, v := range s {
		b.WriteString(strconv.Itoa(v.id))
		b.WriteByte(' ')
	}
	return b.String()
}

// simplify follows references that say nothing else, and leaves out what any value
// fulfils, so that equal sets look alike.
func (c *compiler) simplify(of set) set {
	var out set
	for _, v := range of {
		for range MaxDepth {
			to := c.onlyReference(v)
			if to == nil {
				break
			}
			v = to
		}
		if v.kind == boolean && v.is || v.kind == object && onlyAnnotations(v) {
			continue
		}
		out = union(out, set{v})
	}
	return out
}

// flatten returns the alternatives of values that fulfil all schemas of a set.
func (c *compiler) flatten(of set) []*flat {
	of = c.simplify(of)
	if len(of) == 1 {
		return c.expand(of[0])
	}
	key := of.key()
	if flats, ok := c.flats[key]; ok {
		return flats
	}
	flats := []*flat{anything(c.root)}
	if len(of) > 0 {
		flats[0] = anything(of[0])
	}
	for _, v := range of {
		flats = c.product(v, flats, c.expand(v))
	}
	c.flats[key] = flats
	return flats
}

// product returns what fulfils one alternative of each.
func (c *compiler) product(at *value, a, b []*flat) []*flat {
	var out []*flat
	for _, x := range a {
		for _, y := range b {
			if c.spend(1); c.err != nil {
				return nil
			}
			if f := merge(x, y); f != nil {
				out = append(out, f)
			}
		}
	}
	if len(out) > MaxBranches {
		c.fail(at, "", "anyOf, oneOf and allOf combine to more than %d alternatives", MaxBranches)
		return nil
	}
	return out
}

// define makes the expression of a rule.
func (c *compiler) define(of set) grammar.Expr {
	var out []grammar.Expr
	for _, f := range c.flatten(of) {
		if c.err != nil {
			break
		}
		out = append(out, c.emit(f))
	}
	return grammar.Alternative(out...)
}

// emit makes the expression of the values of one alternative.
func (c *compiler) emit(f *flat) grammar.Expr {
	c.spend(1)
	if f.enum != nil {
		return c.emitEnum(f)
	}
	var out []grammar.Expr
	t := f.emitted()
	if t&typeObject != 0 {
		out = append(out, c.emitObject(f))
	}
	if t&typeArray != 0 {
		out = append(out, c.emitArray(f))
	}
	if t&typeText != 0 {
		out = append(out, c.emitText(f))
	}
	if t&typeNumber != 0 {
		out = append(out, c.emitNumber(f, t))
	}
	if t&typeBoolean != 0 {
		out = append(out, grammar.Literals("true", "false"))
	}
	if t&typeNull != 0 {
		out = append(out, grammar.Literal("null"))
	}
	return grammar.Alternative(out...)
}
