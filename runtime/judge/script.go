package judge

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of reading a command.
const (
	maxScript = 256 << 10 // bytes
	maxActs   = 5000
	maxDepth  = 8        // scripts within scripts
	maxSteps  = 10_000   // commands and words read, each time they are
	maxValue  = 16 << 10 // bytes of a variable
	maxBytes  = 2 << 20  // of all that is expanded
)

// errTooMuch: the command is beyond what is read.
var errTooMuch = errors.New("the command is too large or too deeply nested to be judged")

// reader finds the acts of a command.
type reader struct {
	src   *sources
	tool  string
	vars  map[string]string   // of the script, where they are known
	lists map[string][]string // its arrays, $@ and $* among them
	files map[string]string   // what it wrote, by path from the root
	// tainted are files of the workspace that it put a secret into.
	tainted map[string]bool
	leaks   bool // one of them is in the workspace
	aliases map[string]string
	funcs   map[string]*syntax.FuncDecl
	called  map[string]int // how often a function's body was read
	// forks counts how often the rest of a script was read with other values.
	forks int
	acts  []act
	cwd   string // absolute, or unknown
	depth int
	steps int
	bytes int
	// hidden: what is read was found only by decoding.
	hidden bool
	// guess: what is read may be a command, or another text.
	guess bool
}

// readScript reads a shell command. Text that is no shell script is an error.
func (s *sources) readScript(tool, script string) ([]act, error) {
	r := s.reader(tool)
	if err := r.script(script, pipe{}); err != nil {
		return nil, err
	}
	return r.acts, nil
}

func (s *sources) reader(tool string) *reader {
	return &reader{src: s, tool: tool, cwd: workspace, vars: map[string]string{}, lists: map[string][]string{}, files: map[string]string{},
		tainted: map[string]bool{}, aliases: map[string]string{}, funcs: map[string]*syntax.FuncDecl{}, called: map[string]int{}}
}

// workspace is where every command begins.
const workspace = "/work"

// pipe is what stands around a command.
type pipe struct {
	from, to []string
	input    string // its standard input, where it is known
	reads    []string
	writes   []string
	secret   bool // its standard input may hold a secret
}

func (r *reader) script(script string, p pipe) error {
	if len(script) > maxScript || r.depth >= maxDepth {
		return errTooMuch
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return fmt.Errorf("not a shell command: %w", err)
	}
	r.depth++
	defer func() { r.depth-- }()
	return r.statements(file.Stmts, p)
}

func (r *reader) statements(list []*syntax.Stmt, p pipe) error {
	for i, s := range list {
		before := maps.Clone(r.vars)
		if err := r.statement(s, p); err != nil {
			return err
		}
		if err := r.otherwise(s, list[i+1:], p, before); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) statement(s *syntax.Stmt, p pipe) error {
	p.reads, p.writes = slices.Clone(p.reads), slices.Clone(p.writes)
	for _, d := range s.Redirs {
		if err := r.substitutions(d); err != nil {
			return err
		}
		switch d.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			p.input = r.document(d.Hdoc)
		case syntax.WordHdoc:
			p.input = r.literal(d.Word)
		case syntax.RdrIn:
			p.reads = append(p.reads, r.literal(d.Word))
		case syntax.DplIn, syntax.DplOut:
			if to := r.literal(d.Word); strings.Contains(to, "/") { // >& file
				p.writes = append(p.writes, to)
			}
		case syntax.RdrInOut:
			p.reads, p.writes = append(p.reads, r.literal(d.Word)), append(p.writes, r.literal(d.Word))
		default:
			p.writes = append(p.writes, r.literal(d.Word))
		}
	}
	if len(p.reads) > 0 && p.input == "" {
		if text, ok := r.content(p.reads[len(p.reads)-1]); ok {
			p.input = text
		}
	}
	if endless(s.Cmd) {
		if err := r.add(act{program: "endless", full: "endless", from: background(s)}); err != nil {
			return err
		}
	}
	if err := r.keep(s, p.input); err != nil {
		return err
	}
	if s.Cmd == nil && len(p.reads)+len(p.writes) > 0 { // files are opened by it alone
		return r.add(act{program: "redirect", full: "redirect", reads: p.reads, writes: p.writes})
	}
	return r.command(s.Cmd, p)
}

func (r *reader) command(c syntax.Command, p pipe) error {
	if err := r.spend(); err != nil {
		return err
	}
	switch c := c.(type) {
	case nil:
		return nil
	case *syntax.CallExpr:
		return r.call(c, p)
	case *syntax.BinaryCmd:
		return r.binary(c, p)
	case *syntax.Block:
		return r.statements(c.Stmts, p)
	case *syntax.Subshell:
		return r.apart(func() error { return r.statements(c.Stmts, p) })
	case *syntax.IfClause:
		for i := c; i != nil; i = i.Else {
			if err := r.all(func() error { return r.statements(i.Cond, p) }, func() error { return r.statements(i.Then, p) }); err != nil {
				return err
			}
		}
		return nil
	case *syntax.WhileClause:
		if endless(c) && spawns(c.Do) {
			if err := r.add(act{program: "fork-bomb", full: "while"}); err != nil {
				return err
			}
		}
		return r.all(func() error { return r.statements(c.Cond, p) }, func() error { return r.statements(c.Do, p) })
	case *syntax.ForClause:
		return r.loop(c, p)
	case *syntax.CaseClause:
		if err := r.substitutions(c.Word); err != nil {
			return err
		}
		for _, item := range c.Items {
			for _, pattern := range item.Patterns {
				if err := r.substitutions(pattern); err != nil {
					return err
				}
			}
			if err := r.statements(item.Stmts, p); err != nil {
				return err
			}
		}
		return nil
	case *syntax.FuncDecl:
		return r.function(c, p)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return nil
		}
		return r.statement(c.Stmt, p)
	case *syntax.CoprocClause:
		return r.statement(c.Stmt, p)
	case *syntax.DeclClause:
		return r.declare(c)
	}
	return r.substitutions(c)
}

// all does one thing after the other, up to the first error.
func (r *reader) all(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// apart reads what a shell of its own does: its variables and folder are its own.
func (r *reader) apart(read func() error) error {
	vars, lists, cwd := maps.Clone(r.vars), maps.Clone(r.lists), r.cwd
	err := read()
	r.vars, r.lists, r.cwd = vars, lists, cwd
	return err
}

func (r *reader) binary(c *syntax.BinaryCmd, p pipe) error {
	if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
		if err := r.statement(c.X, p); err != nil {
			return err
		}
		return r.statement(c.Y, p)
	}
	left, right := p, p
	left.to = append(r.heads(c.Y), p.to...)
	left.writes = nil
	right.from = append(slices.Clone(p.from), r.heads(c.X)...)
	right.input, right.reads = r.output(c.X), nil
	right.secret = p.secret || r.secretive(c.X)
	return r.all(
		func() error { return r.apart(func() error { return r.statement(c.X, left) }) },
		func() error { return r.apart(func() error { return r.statement(c.Y, right) }) },
	)
}

// heads are the programs that a statement names, to say what a pipe leads to.
func (r *reader) heads(s *syntax.Stmt) []string {
	var names []string
	syntax.Walk(s, func(n syntax.Node) bool {
		if d, ok := n.(*syntax.DeclClause); ok {
			names = append(names, d.Variant.Value)
		}
		c, ok := n.(*syntax.CallExpr)
		if !ok || r.spend() != nil {
			return r.steps < maxSteps
		}
		words := r.fields(c.Args...)
		for len(words) > 0 {
			name := base(words[0])
			names = append(names, name)
			w, ok := wrappers[name]
			if !ok {
				break
			}
			words, _ = unwrap(w, words[1:])
		}
		return true
	})
	return names
}

// spend counts a step of reading; a command that takes too many is not read to its end.
func (r *reader) spend() error {
	if r.steps++; r.steps > maxSteps {
		return errTooMuch
	}
	return nil
}

func (r *reader) add(a act) error {
	if len(r.acts) >= maxActs {
		return errTooMuch
	}
	a.cwd = r.cwd
	a.tool, a.hidden, a.guess = r.tool, a.hidden || r.hidden, a.guess || r.guess
	r.taint(&a)
	r.acts = append(r.acts, a)
	return nil
}

// call reads a simple command.
func (r *reader) call(c *syntax.CallExpr, p pipe) error {
	if err := r.substitutions(c); err != nil {
		return err
	}
	if word := contrivedCommand(c); word != "" {
		if err := r.add(act{program: "contrived", full: word}); err != nil {
			return err
		}
	}
	var sets []string
	for _, a := range c.Assigns {
		name, value := r.assigned(a)
		sets = append(sets, name+"="+value)
		if len(c.Args) == 0 {
			r.set(name, value)
		}
	}
	words := r.fields(c.Args...)
	if len(words) == 0 {
		if len(sets) > 0 || len(p.writes) > 0 || len(p.reads) > 0 {
			return r.add(act{program: "set", sets: sets, reads: p.reads, writes: p.writes})
		}
		return nil
	}
	a := act{full: words[0], args: words[1:], sets: sets, from: p.from, to: p.to, reads: p.reads, writes: p.writes}
	a.program, a.secret = base(a.full), p.secret
	a.own = r.funcs[a.full] != nil || r.aliases[a.full] != ""
	if err := r.known(a, p); err != nil {
		return err
	}
	return r.run(a, p.input)
}

func base(name string) string { return strings.TrimPrefix(path.Base(name), `\`) }

// substitutions reads the commands within the words of a command. What a shell or
// source is given as <(...) is a script.
func (r *reader) substitutions(c syntax.Node) error {
	var err error
	keep := func(e error) {
		if err == nil {
			err = e
		}
	}
	head := ""
	if call, ok := c.(*syntax.CallExpr); ok && len(call.Args) > 0 {
		if words := r.fields(call.Args[0]); len(words) > 0 {
			head = base(words[0])
		}
	}
	syntax.Walk(c, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			keep(r.apart(func() error { return r.statements(n.Stmts, pipe{to: []string{"$()", head}}) }))
			return false
		case *syntax.ProcSubst:
			to := head
			if to == "" {
				to = "<()"
			}
			keep(r.apart(func() error { return r.statements(n.Stmts, pipe{to: []string{to}}) }))
			if slices.Contains(shells, head) || head == "." || head == "source" {
				keep(r.apart(func() error { return r.inner(r.outputs(n.Stmts), pipe{}) }))
			}
			return false
		}
		return err == nil
	})
	return err
}
