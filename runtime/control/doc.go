// Package control lets a person see a team and decide: what it does, why it stands
// still, resume, overrule, end. It owns the requests and their HTTP form on a unix
// socket that only the person's user can open, and the client for it. It owns no
// decision and no state: the gate (package gate) does.
//
// For the runs of a whole machine there are Runs: which there are, how each stands, its
// events as they come, and a person's decisions, with Routes as a table that a server of
// HTTP mounts. Runs reads logs only, also while they are written, and never writes one:
// what decides goes to the socket of the run's own process.
//
// The team's process serves it; cmd's `dure swarm` commands are the client.
package control
