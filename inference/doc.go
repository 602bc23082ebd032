// Package inference is the vocabulary between whoever wants text from a model
// and whoever makes it: requests, messages, events, usage, errors and the
// interface Model.
//
// It owns no goroutine, does no I/O and imports nothing of ours, so that HTTP
// surfaces, agents and voice can all speak it without knowing an engine.
// Everything here is plain data that survives a round trip through JSON: the
// same types cross the socket between the server and a runner process.
package inference
