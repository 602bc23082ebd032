package board

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"dure/runtime/event"
)

// An ID names a call, so that it is not done twice.
type ID = event.ID

// A Role is what an agent is for.
type Role string

// The roles.
const (
	Lead    Role = "lead"    // owns the goal; adds tables, may set others' tasks
	Planner Role = "planner" // cuts tasks and assigns them
	Worker  Role = "worker"
	Merger  Role = "merger" // lands work, and says so in landed
)

// MaxName is the most bytes of a name of an agent or a crew.
const MaxName = 64

// An Agent is who calls. The harness says it; an agent cannot.
type Agent struct {
	Name string `json:"name"`
	Crew string `json:"crew,omitempty"` // empty: of no crew
	Role Role   `json:"role"`
}

// Check says what is wrong with an agent, or nil.
func (a Agent) Check() error {
	if err := checkName("agent", a.Name); err != nil {
		return err
	}
	if a.Crew != "" {
		if err := checkName("crew", a.Crew); err != nil {
			return err
		}
	}
	switch a.Role {
	case Lead, Planner, Worker, Merger:
		return nil
	}
	return fmt.Errorf("agent %s: %w: role %q, want %s, %s, %s or %s", a.Name, ErrInvalid, a.Role, Lead, Planner, Worker, Merger)
}

func checkName(what, name string) error {
	if name == "" || len(name) > MaxName || !utf8.ValidString(name) || strings.TrimSpace(name) != name ||
		strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return fmt.Errorf("%s %q: %w: want 1 to %d bytes of visible text", what, name, ErrInvalid, MaxName)
	}
	return nil
}
