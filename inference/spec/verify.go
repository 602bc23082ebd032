package spec

// Verify draws tokens row by row and goes on while they are the ones guessed.
// draw(i) draws the token behind the first i guessed ones from their row of logits,
// with the request's own sampler, and makes it part of the answer; more is false
// where the answer ends there. It returns how many guesses were right: the model has
// then drawn accepted+1 tokens, or accepted if draw said that it draws no more
// instead of drawing one.
func Verify(guess []Token, draw func(i int) (t Token, more bool)) (accepted int) {
	for {
		t, more := draw(accepted)
		if !more || accepted == len(guess) || t != guess[accepted] {
			return accepted
		}
		accepted++
	}
}
