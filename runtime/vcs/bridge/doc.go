// Package bridge lets git, which speaks HTTP over TCP only, reach a repository behind
// an agent's unix socket. It owns git's remote helper for addresses like dure::/git
// and the few lines that pass bytes on; it knows nothing of the protocol, which is
// git's own on this side and package transport's on the other.
//
// A program that git finds under the name Name calls Run. It listens at a port of
// the loopback, passes each connection on to the socket, and has git's helper for
// HTTP do all the rest:
//
//	git clone dure::/git --> Name --> git remote-http --> 127.0.0.1 --> socket --> transport
//
// It is for the inside of a box, whose loopback nobody else can reach: on a shared
// one, whoever connects to the port would be taken for the agent meanwhile. Where a
// box has no loopback (rung reduced), it says so and ends.
//
// cmd calls it.
package bridge
