// Package key is who may use a server, how much of it, and what each has used:
// API keys in a file, their limits, and the account of each.
//
// It owns the file of keys, the file of usage beside it, and the decision whether
// a key may make a request now. It does not own HTTP: where a key stands in a
// request, and what a refusal looks like, is each surface's to say; [Refusal]
// says which status fits. It does not know models either: a name is a name.
//
// Keys are 256 random bits. The file holds the SHA-256 of each, never the key. A
// slow, salted hash would win nothing: it makes guessing dear where a secret is
// short or chosen by a person, and here there is nothing to guess; but it would
// let anybody make the server work hard with wrong keys. Hashes are compared all,
// each in constant time, so that time tells nothing about them.
//
// # Limits
//
// Each is on a sliding window, counted in slots: a minute of 60 slots of a
// second, a day (24 hours, not a date) of 144 slots of ten minutes. A slot counts
// until the whole of it has left the window. So in no window of a minute, however
// it is laid, are more than so many requests admitted: there is no burst on top.
// The price is that a request is forgotten up to one slot late (1 s, or 10
// minutes).
//
// A request counts when it is admitted, whatever becomes of it. Tokens are those
// of the prompt, cached ones too, and of the answer: total_tokens of the usage
// that a client sees. They count when the request is admitted, as many as it
// expects, and are put right when it has ended: what it did not take is given
// back, what it took beyond is counted then. So the limit holds strictly where
// requests take no more than they expect; otherwise one request may pass it by
// its excess, and the next ones wait for that.
//
// A refused request takes nothing. Its RetryAfter is true: asked again then it is
// admitted, if nobody else has asked and no running request took more than it
// expected. Two refusals have none: for too many requests at once, since nobody
// knows when one ends; and of a request that expects more than the limit, which no
// waiting helps.
//
// # Files
//
// The file of keys is read again within a second of a change. One that is broken
// or gone leaves the keys of before in force, and is said, with the line. Changes
// (Change) are made under a lock and whole, so that of two at once none is lost.
// Once keys are demanded, they are demanded until the process ends: taking out
// the last one does not open the door.
//
// Usage is written every 5 seconds if there is any, and when the ring is closed:
// a process that is killed loses what it counted since, towards the limits too.
// It is written as additions to what is in the file, so that two servers on one
// file lose nothing of each other's; each knows of the other's requests when it
// writes, so together they may pass a limit by what they admit between. Requests
// at once are counted by each server for itself.
//
// Both files are readable by their owner only. A file of a later dure is refused
// with fetch.NewerError and not touched.
//
// The decisions (meter.go, window.go) are plain data without clock, lock or I/O.
// Ring holds one lock around them, for as long as a decision takes, and has one
// goroutine for the files.
//
// Callers: cmd/dure, which puts a Ring before the HTTP surfaces, where any goroutine
// asks it.
package key
