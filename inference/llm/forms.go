package llm

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"dure/inference"
	"dure/inference/chat/answer"
	"dure/inference/engine"
	"dure/inference/schema"
	"dure/inference/schema/grammar"
)

// grammars are what requests asked for, compiled once. The lock is held for a look-up
// or an insertion only; the owner goroutine never takes it.
type grammars struct {
	once       sync.Once
	vocabulary *grammar.Vocabulary

	mu  sync.Mutex
	all []namedGrammar // the one used last in front
}

type namedGrammar struct {
	name    [sha256.Size]byte
	grammar *grammar.Grammar
}

// maxGrammars is how many are remembered.
const maxGrammars = 64

// of returns the grammar of what is asked for, which make compiles if it is new.
func (g *grammars) of(asked any, make func() (*grammar.Grammar, error)) (*grammar.Grammar, error) {
	text, err := json.Marshal(asked)
	if err != nil {
		return nil, refuse("", "the form of the answer is no JSON: %v", err)
	}
	name := sha256.Sum256(text)
	if found := g.find(name); found != nil {
		return found, nil
	}
	made, err := make()
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = slices.Insert(g.all, 0, namedGrammar{name, made})
	g.all = g.all[:min(len(g.all), maxGrammars)]
	return made, nil
}

func (g *grammars) find(name [sha256.Size]byte) *grammar.Grammar {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.all, func(n namedGrammar) bool { return n.name == name })
	if i < 0 {
		return nil
	}
	found := g.all[i]
	g.all = slices.Insert(slices.Delete(g.all, i, i+1), 0, found)
	return found.grammar
}

// formVocabulary is the model's tokens for grammars, made when the first one needs it:
// sorting a large vocabulary takes a tenth of a second.
func (l *LLM) formVocabulary() *grammar.Vocabulary {
	l.grammars.once.Do(func() {
		text, ends := l.vocabulary.Pieces()
		l.grammars.vocabulary = grammar.NewVocabulary(text, ends, func(t engine.Token) grammar.Kind {
			switch {
			case l.vocabulary.IsEOG(t):
				return grammar.End
			case l.piece(t) == "":
				return grammar.Control
			}
			return grammar.Text
		})
	})
	return l.grammars.vocabulary
}

// forms returns the grammar of a request's whole answer behind its thinking, and the
// grammar of what follows the mark that begins a call; nil for what is free.
func (l *LLM) forms(req *inference.Request) (form, call *grammar.Grammar, err error) {
	switch f := req.Format; {
	case f == nil:
	case f.Grammar != "":
		form, err = l.grammars.of(f, func() (*grammar.Grammar, error) { return compileGBNF(f.Grammar) })
	default:
		form, err = l.grammars.of(f, func() (*grammar.Grammar, error) { return compileSchema(f.Schema) })
	}
	if err != nil || len(req.Tools) == 0 || req.ToolChoice.Mode == inference.ToolNone {
		return form, nil, err
	}
	asked := struct {
		Tools  []inference.Tool
		Choice inference.ToolChoice
	}{req.Tools, req.ToolChoice}
	if req.ToolChoice.Mode == inference.ToolRequired {
		form, err = l.grammars.of(asked, func() (*grammar.Grammar, error) { return l.compileCalls(req) })
		return form, nil, err
	}
	if callMark(l.speech.family) == "" || !slices.ContainsFunc(req.Tools, func(t inference.Tool) bool { return t.Strict }) {
		return form, nil, nil
	}
	call, err = l.grammars.of(asked, func() (*grammar.Grammar, error) { return l.compileCall(req) })
	return form, call, err
}

// callMark is the mark that begins a call and nothing else; empty where calls have none.
func callMark(f answer.Family) string {
	open := f.Call("x").Open
	for _, m := range f.Markers() {
		if strings.HasPrefix(open, m) {
			return m
		}
	}
	return ""
}

// formError is the refusal of a form, with the field that it came from.
func formError(param string, err error) error { return refuse(param, "%s: %v", param, err) }

func compileGBNF(text string) (*grammar.Grammar, error) {
	e, err := grammar.ParseGBNF(text)
	if err == nil {
		var g *grammar.Grammar
		if g, err = grammar.Compile(e); err == nil {
			return g, nil
		}
	}
	return nil, formError("grammar", err)
}

// space is white space between parts of an answer: little, so that a model cannot go on
// with it for ever.
var space = grammar.Repeat(grammar.Class(grammar.Range{Lo: ' ', Hi: ' '}, grammar.Range{Lo: '\n', Hi: '\n'}), 0, 4)

// compileSchema is the form of an answer that is JSON; a nil schema is any object.
func compileSchema(text json.RawMessage) (*grammar.Grammar, error) {
	e, err := schemaExpr(text)
	if err == nil {
		var g *grammar.Grammar
		if g, err = grammar.Compile(grammar.Concat(space, e)); err == nil {
			return g, nil
		}
	}
	return nil, formError("format", err)
}

// maxCalls is how many calls an answer may have that has to call.
const maxCalls = 16

// compileCalls is the form of an answer that calls tools and does nothing else.
func (l *LLM) compileCalls(req *inference.Request) (*grammar.Grammar, error) {
	call, err := l.callExpr(req, "")
	if err != nil {
		return nil, err
	}
	most := maxCalls
	if req.ToolChoice.Single || callMark(l.speech.family) == "" {
		most = 1
	}
	g, err := grammar.Compile(grammar.Concat(space, call, grammar.Repeat(grammar.Concat(space, call), 0, most-1)))
	if err != nil {
		return nil, formError("tools", err)
	}
	return g, nil
}

// compileCall is the form of what follows the mark of a call.
func (l *LLM) compileCall(req *inference.Request) (*grammar.Grammar, error) {
	call, err := l.callExpr(req, callMark(l.speech.family))
	if err != nil {
		return nil, err
	}
	g, err := grammar.Compile(call)
	if err != nil {
		return nil, formError("tools", err)
	}
	return g, nil
}

// callExpr is a call of one of the tools that may be called, behind a mark that was
// written already.
func (l *LLM) callExpr(req *inference.Request, mark string) (grammar.Expr, error) {
	var all []grammar.Expr
	for i, t := range req.Tools {
		if req.ToolChoice.Name != "" && t.Name != req.ToolChoice.Name {
			continue
		}
		form := l.speech.family.Call(t.Name)
		arguments, err := l.argumentsExpr(t, form)
		if err != nil {
			return nil, formError(fmt.Sprintf("tools[%d].parameters", i), err)
		}
		all = append(all, grammar.Concat(grammar.Literal(strings.TrimPrefix(form.Open, mark)), arguments, grammar.Literal(form.Close)))
	}
	return grammar.Alternative(all...), nil
}

// schemaExpr is JSON that matches a schema; any object where that is nil.
func schemaExpr(text json.RawMessage) (grammar.Expr, error) {
	if text == nil {
		text = json.RawMessage(`{"type":"object"}`)
	}
	r, err := schema.Compile(text, schema.Options{})
	if err != nil {
		return nil, err
	}
	return r.Grammar, nil
}

// argumentsExpr is the arguments of a call as the model's family writes them.
func (l *LLM) argumentsExpr(t inference.Tool, form answer.CallForm) (grammar.Expr, error) {
	if !form.Parameters {
		return schemaExpr(t.Parameters)
	}
	p, err := readParameters(t.Parameters)
	if err != nil {
		return nil, err
	}
	var all []grammar.Expr
	for _, x := range p.properties {
		open, close := l.speech.family.Parameter(x.name)
		value, err := p.value(x, close)
		if err != nil {
			return nil, fmt.Errorf("properties/%s: %w", x.name, err)
		}
		one := grammar.Concat(grammar.Literal(open), value)
		if !slices.Contains(p.required, x.name) {
			one = grammar.Optional(one)
		}
		all = append(all, one)
	}
	return grammar.Concat(all...), nil
}
