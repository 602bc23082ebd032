package vcs

import (
	"fmt"
	"strings"
)

// AgentPrefix begins the branches of agents.
const AgentPrefix = "refs/heads/agent/"

// GreenRef follows main where the checks pass.
const GreenRef = "refs/heads/green"

// ownPrefix begins the refs of the landing job's own records.
const ownPrefix = "refs/dure/"

type role uint8

const (
	nobody role = iota
	roleAgent
	roleLanding
	roleOwner
)

// An Actor is who asks for a move. Whoever wires the runtime makes it, from the
// socket that a request came in by; nothing in a request makes one. The zero Actor
// may do nothing.
type Actor struct {
	role role
	name string
}

// maxAgent bounds the name of an agent.
const maxAgent = 64

// Agent is the actor of an agent: small letters, digits, and -_. within.
func Agent(name string) (Actor, error) {
	bad := name == "" || len(name) > maxAgent || strings.Contains(name, "..") || strings.HasSuffix(name, ".lock")
	for i, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || i == len(name)-1 || !strings.ContainsRune("-_.", c)) {
			bad = true
		}
	}
	if bad {
		return Actor{}, fmt.Errorf("%w: agent name %q: small letters and digits, with - _ or . between, at most %d", ErrInvalid, name, maxAgent)
	}
	return Actor{roleAgent, name}, nil
}

// Landing is the landing job, the only mover of main.
func Landing() Actor { return Actor{role: roleLanding} }

// Owner is who the repository belongs to: it imports and tidies up. It moves any
// ref but main, once main exists.
func Owner() Actor { return Actor{role: roleOwner} }

func (a Actor) String() string {
	switch a.role {
	case roleAgent:
		return "agent " + a.name
	case roleLanding:
		return "the landing job"
	case roleOwner:
		return "the owner"
	}
	return "nobody"
}

// Name is that of an agent, and empty for the others.
func (a Actor) Name() string { return a.name }

// Branch is the ref that an agent may move, and empty for the others.
func (a Actor) Branch() string {
	if a.role != roleAgent {
		return ""
	}
	return AgentPrefix + a.name
}

// BranchOf is the ref of an agent's branch.
func BranchOf(agent string) string { return AgentPrefix + agent }

// refusal says why an actor may not make a move, or "". It is the whole policy.
func refusal(a Actor, main string, m Move) string {
	switch a.role {
	case roleAgent:
		if m.Ref != a.Branch() {
			return "an agent moves its own branch only, " + a.Branch()
		}
		if m.New.IsZero() {
			return "an agent does not delete its branch"
		}
	case roleLanding:
		if m.Ref != main && m.Ref != GreenRef && !strings.HasPrefix(m.Ref, ownPrefix) {
			return "the landing job moves main, green and its own records only"
		}
		if m.New.IsZero() && m.Ref == main {
			return "main is not deleted"
		}
	case roleOwner:
		if m.Ref == main && !m.Old.IsZero() {
			return "only the landing job moves main"
		}
	default:
		return "nobody is allowed anything"
	}
	return ""
}
