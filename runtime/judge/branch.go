package judge

import (
	"mvdan.cc/sh/v3/syntax"
)

// maxForks bounds how often the rest of a script is read once more.
const maxForks = 6

// otherwise reads what follows a statement that may not be carried out with the values
// that hold if it is not.
func (r *reader) otherwise(s *syntax.Stmt, rest []*syntax.Stmt, p pipe, before map[string]string) error {
	if len(rest) == 0 || r.forks >= maxForks || !conditional(s.Cmd) {
		return nil
	}
	changed := false
	for name, value := range before {
		changed = changed || !open(value) && r.vars[name] != value
	}
	if !changed {
		return nil
	}
	r.forks++
	after := r.vars
	r.vars = before
	err := r.statements(rest, p)
	r.vars = after
	return err
}

func conditional(c syntax.Command) bool {
	switch c := c.(type) {
	case *syntax.IfClause, *syntax.CaseClause, *syntax.WhileClause, *syntax.ForClause:
		return true
	case *syntax.BinaryCmd:
		return c.Op == syntax.AndStmt || c.Op == syntax.OrStmt
	}
	return false
}

func background(s *syntax.Stmt) []string {
	if s.Background {
		return []string{"&"}
	}
	return nil
}

// endless says whether a loop has no end but by leaving it. One that starts programs
// beside itself, without waiting, is a bomb.
func endless(c syntax.Command) bool {
	w, ok := c.(*syntax.WhileClause)
	if !ok || len(w.Cond) != 1 {
		return false
	}
	call, ok := w.Cond[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	word := call.Args[0].Lit()
	if word == "[" && len(call.Args) == 3 {
		word = ":"
	}
	if !(word == "true" || word == ":") || w.Until {
		return w.Until && word == "false"
	}
	leaves := false
	syntax.Walk(w, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			switch c.Args[0].Lit() {
			case "break", "exit", "return":
				leaves = true
			}
		}
		return !leaves
	})
	return !leaves
}

// spawns says whether statements start programs beside themselves, and never wait.
func spawns(list []*syntax.Stmt) bool {
	spawned, waits := false, false
	for _, s := range list {
		spawned = spawned || s.Background
		if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			waits = waits || c.Args[0].Lit() == "wait" || c.Args[0].Lit() == "sleep"
		}
	}
	return spawned && !waits
}

// loop reads the body with each value that the variable is known to take.
func (r *reader) loop(c *syntax.ForClause, p pipe) error {
	if err := r.substitutions(c.Loop); err != nil {
		return err
	}
	w, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		return r.statements(c.Do, p)
	}
	values := r.fields(w.Items...)
	if len(values) == 0 || len(values) > 20 {
		values = []string{unknown}
	}
	for _, v := range values {
		r.set(w.Name.Value, v)
		if err := r.statements(c.Do, p); err != nil {
			return err
		}
	}
	return nil
}
