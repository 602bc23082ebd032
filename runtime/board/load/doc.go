// Package load works on a board as a swarm does: many agents that mostly read,
// sometimes write, claim and announce, and a few that try what they may not. It
// measures, and checks afterwards that nothing was stored under a wrong name. It
// knows boards by their interface; `dure bench board` and tests of stores use it.
package load
