package vcs

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"dure/runtime/vcs/object"
)

// A Ref is a name for an object.
type Ref struct {
	Name string
	ID   object.ID
}

// A Move is one ref's compare-and-swap. Old Zero: it must not exist. New Zero: it
// is deleted.
type Move struct {
	Ref      string
	Old, New object.ID
}

const maxRef = 512

// CheckRef refuses a ref's name that git refuses, and those outside refs/.
func CheckRef(name string) error {
	bad := func(why string) error { return fmt.Errorf("%w: ref %q: %s", ErrInvalid, name, why) }
	switch {
	case !strings.HasPrefix(name, "refs/") || strings.Count(name, "/") < 2:
		return bad("it must be like refs/heads/NAME")
	case len(name) > maxRef:
		return bad("too long")
	case strings.Contains(name, "..") || strings.Contains(name, "@{"):
		return bad("it contains .. or @{")
	case strings.ContainsAny(name, " ~^:?*[\\\x7f"):
		return bad("it contains a character that git keeps for itself")
	}
	for i := range len(name) {
		if name[i] < 0x20 {
			return bad("it contains a control character")
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock") {
			return bad("a part is empty, begins or ends with a dot, or ends with .lock")
		}
	}
	return nil
}

// refTable is the refs as they are durable. The writer changes it; anyone reads.
type refTable struct {
	mu   sync.RWMutex
	refs map[string]object.ID
	// below counts the refs below a name: git keeps refs as paths, so that none may
	// lie below another.
	below map[string]int
}

func newRefTable() *refTable {
	return &refTable{refs: map[string]object.ID{}, below: map[string]int{}}
}

func (t *refTable) get(name string) object.ID {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.refs[name]
}

func (t *refTable) list(prefix string) []Ref {
	t.mu.RLock()
	var all []Ref
	for name, id := range t.refs {
		if strings.HasPrefix(name, prefix) {
			all = append(all, Ref{name, id})
		}
	}
	t.mu.RUnlock()
	slices.SortFunc(all, func(a, b Ref) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// set carries out moves that were decided.
func (t *refTable) set(moves []Move) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range moves {
		_, was := t.refs[m.Ref]
		switch is := !m.New.IsZero(); {
		case is:
			t.refs[m.Ref] = m.New
			if !was {
				t.count(m.Ref, 1)
			}
		case was:
			delete(t.refs, m.Ref)
			t.count(m.Ref, -1)
		}
	}
}

func (t *refTable) count(name string, by int) {
	for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
		if t.below[name[:i]] += by; t.below[name[:i]] == 0 {
			delete(t.below, name[:i])
		}
	}
}

// A race decides which moves of a batch win: each against what is durable and what
// won before it in the batch. It is the writer's, which alone changes the table.
type race struct {
	table *refTable
	won   map[string]object.ID
}

func (r *race) at(name string) object.ID {
	if id, ok := r.won[name]; ok {
		return id
	}
	return r.table.refs[name] // no lock: the writer is the only one who writes
}

// run decides over the moves of one request: all of them, or an error and none.
func (r *race) run(moves []Move) error {
	for _, m := range moves {
		if actual := r.at(m.Ref); actual != m.Old {
			return &StaleError{Ref: m.Ref, Expected: m.Old, Actual: actual}
		}
	}
	for i, m := range moves {
		if m.Old.IsZero() && !m.New.IsZero() {
			if err := r.fits(m.Ref); err != nil {
				r.undo(moves[:i])
				return err
			}
		}
		r.won[m.Ref] = m.New
	}
	return nil
}

// undo takes moves back that were the last to win.
func (r *race) undo(moves []Move) {
	for _, m := range moves {
		r.won[m.Ref] = m.Old
	}
}

// fits refuses a new ref above or below another.
func (r *race) fits(name string) error {
	clash := r.table.below[name] > 0
	for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
		clash = clash || !r.at(name[:i]).IsZero()
	}
	for other, id := range r.won {
		clash = clash || !id.IsZero() && strings.HasPrefix(other, name+"/")
	}
	if clash {
		return fmt.Errorf("%w: ref %s lies above or below another, which git does not allow", ErrInvalid, name)
	}
	return nil
}
