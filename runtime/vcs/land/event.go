package land

import (
	"time"

	"dure/runtime/vcs/merge"
	"dure/runtime/vcs/object"
)

// An Event is one thing that happened in the landing job: exactly one of the
// pointers is set. All counters are made of these and of nothing else, so that a
// log of them gives the same counters again.
type Event struct {
	At       time.Time
	Landed   *Landed     `json:",omitempty"`
	Conflict *Conflict   `json:",omitempty"`
	Report   *FileReport `json:",omitempty"`
	Block    *Block      `json:",omitempty"`
	Unblock  *Unblock    `json:",omitempty"`
	Trip     *Trip       `json:",omitempty"`
	Resumed  bool        `json:",omitempty"` // landing goes on after a Trip
}

// A Tier is the way that a landing took.
type Tier string

// The tiers, from the cheapest to the dearest.
const (
	TierSplice Tier = "splice" // main had what the change started from
	TierLines  Tier = "lines"  // both changed a file: merged by lines
	TierSplit  Tier = "split"  // the file was split meanwhile: carried to its parts
	TierGit    Tier = "git"    // renames and the like: git's own merge
)

// Landed says that an agent's commit is on main.
type Landed struct {
	Commit   object.ID // the merge commit on main
	Source   object.ID // what was landed
	Parent   object.ID // where main stood
	Agent    string
	Task     string
	Tier     Tier
	Files    []Touched
	Resolves string `json:",omitempty"` // the conflict that this settles
	Split    *Split `json:",omitempty"` // the file that this splits
}

// Touched is a file that a landing changed. Size is its new one in bytes; -1: gone.
type Touched struct {
	Path string
	Size int64
}

// A Side is whose change it is.
type Side struct {
	Agent  string
	Task   string
	Commit object.ID
}

// A Conflict is a change that main cannot take without a decision. It is data for
// a neutral agent: what all three sides hold, by ID, and who wanted what. Nothing
// of it is on main.
type Conflict struct {
	ID     string
	Root   string    // the first conflict of this change, if a settlement conflicted again
	Main   object.ID // main's commit that was tried
	Base   object.ID // the commit that both come from
	Theirs Side      // whose landing it is
	Files  []FileConflict
}

// A FileConflict is one path of it. Entries with mode 0: not there.
type FileConflict struct {
	Path               string
	Why                string
	Base, Ours, Theirs object.Entry
	OursBy             Side         // who landed what main has; empty: from before the landing job
	Hunks              []merge.Hunk `json:",omitempty"` // of a text: all its hunks
}

// Neutral reports whether an agent may settle the conflict: none of those who
// wrote its sides.
func (c *Conflict) Neutral(agent string) bool {
	if agent == c.Theirs.Agent {
		return false
	}
	for _, f := range c.Files {
		if f.OursBy.Agent == agent {
			return false
		}
	}
	return true
}

// paths lists the files of a conflict.
func (c *Conflict) paths() []string {
	out := make([]string, len(c.Files))
	for i, f := range c.Files {
		out[i] = f.Path
	}
	return out
}

// A FileReport is an agent's word that a file is in everybody's way.
type FileReport struct{ Path, Agent, Why string }

// A Block closes a path until it is split.
type Block struct {
	Path     string
	Task     string // the task that splits it
	Splitter string // the agent that may change it meanwhile
}

// Unblock opens a path again.
type Unblock struct{ Path string }

// A Split is the map of a file that was split: where its lines went.
type Split struct {
	Path   string
	Source object.ID // the blob that was split
	Pieces []merge.Piece
}

// A Trip says that landing stopped, because it only made conflicts.
type Trip struct {
	Minutes   int // in a row
	Commits   int // in these
	Conflicts int
}
