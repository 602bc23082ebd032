package speech

// ListenOptions are what is known about an utterance.
type ListenOptions struct {
	Language string // ISO 639-1; "" is found out where the model can
	// Partial, where it is not nil, is given the whole text so far and how many of the
	// samples fed it is the text of, from any goroutine, and must return at once. No call
	// comes after Finish or Close returned.
	Partial func(text string, heard int)
}

// Utterance is what is to be spoken.
type Utterance struct {
	Text     string // of a clause; at most 4000 bytes
	Language string // ISO 639-1; "" is guessed from the script
	Voice    string // "" or a name that is no voice here is the language's first
	Speed    float64
}

// Chunk is a piece of sound, all of an utterance at one rate.
type Chunk struct {
	Rate int
	PCM  []float32
}
