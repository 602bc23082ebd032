// Package speech keeps the speech engines in processes of their own: a fault inside a
// library ends that process and not the server, and what computes does not share a
// scheduler with what keeps time.
//
// Serve is the child: it loads the engines that its configuration names and answers frames
// on its standard input with frames on its standard output (frame.go). Start is the
// parent: it spawns a child and opens streams on it. Engines keeps two children, one that
// only tells speech from silence and answers at once, and one that recognises and speaks;
// it starts them when they are first needed and again when they died, and gives the
// session of package voice its VAD, STT and TTS.
//
// Invariants: a child never outlives its parent; a stream of a child that died ends with
// ErrLost, and an utterance that was being heard is heard again by the next child; a reader
// that is slow holds up nobody else; what a stream holds in memory is bounded.
package speech
