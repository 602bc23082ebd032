// Package responder answers the turns of a voice session with a language model: Plain is a
// voice.Responder over inference.Model. It owns how a spoken conversation becomes a prompt
// (what was interrupted is told as far as it was heard) and what of an answer is to be
// spoken; it owns neither turns (package turn) nor models, and keeps nothing between two
// turns but its own goroutine's stack.
//
// Lead is a voice.Responder and voice.Canceller that speaks for a Team at work, which cmd
// adapts, because package audio does not know the swarm. It owns what is understood of a
// person's wish, how names are found that a recogniser misheard, and that every figure it
// speaks about the team is one of the team's State; its work is stopped only after the
// person was asked and said yes. It keeps that one question between turns.
//
// cmd/dure builds both.
package responder
