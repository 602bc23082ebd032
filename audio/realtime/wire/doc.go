// Package wire is the OpenAI Realtime API (GA) as JSON, and the events of the duplex
// extension (`?duplex=1`): what clients send becomes commands of a session, what a
// session tells becomes server events. It is pure: no socket, session, clock or goroutine.
// Package realtime, its only caller, reads and writes the connection.
//
// Clients are read strictly. A type that does not exist, a field that does not, a value of
// the wrong kind or beyond its range is an *Error that names the field by its path, and the
// session goes on. What the API knows and dure does not do is refused in the same way where
// leaving it out would change an answer, and a Warning where it would not.
package wire
