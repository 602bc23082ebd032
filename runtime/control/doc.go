// Package control lets a person see a team and decide: what it does, why it stands
// still, resume, overrule, end. It owns the requests and their HTTP form on a unix
// socket that only the person's user can open, and the client for it. It owns no
// decision and no state: the gate (package gate) does.
//
// The team's process serves it; cmd's `dure swarm` commands are the client.
package control
