// Package monitor looks back at what agents did: it replays the recorded calls of
// tools, ranks them by how much speaks against them, and shows each with its
// neighbourhood. It does so in two views, by the actions alone and with what the agent
// thought before them, since each finds what the other misses.
//
// It owns the ranking. It owns no rules (a Looker has them, package judge), carries
// nothing out and changes nothing: the same log gives the same report.
//
// cmd calls it, on a log at rest or one that a team writes to.
package monitor
