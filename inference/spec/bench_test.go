package spec

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkStep is what speculation costs a step in which nothing is guessed: eight
// streams of 4,096 tokens, with texts of their team on the shelf.
func BenchmarkStep(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := make([]Token, 4096)
	for i := range text {
		text[i] = Token(rng.IntN(2000))
	}
	shelf, rates := NewShelf(16<<20), &Rates{}
	for i := range 20 {
		other := append([]Token(nil), text...)
		other[len(other)-1-i] = -1
		shelf.Put(NewIndex(other))
	}
	streams := make([]*Stream, 8)
	for i := range streams {
		streams[i] = NewStream(NewIndex(text), rates, shelf)
	}
	p := &Policy{Limits: Limits{Rows: 64, Guesses: 63}}
	offers := make([]Offer, len(streams))
	for b.Loop() {
		for i, s := range streams {
			offers[i] = s.Guess(63)
		}
		p.Choose(Step{Context: 4096, Offers: offers})
		p.Observe(len(streams), 4096, len(streams), 50e6)
		for _, s := range streams {
			s.Drew(Token(rng.IntN(2000)))
		}
	}
}
