// Package english turns English text into the phonemes that the voices distilled from
// Kokoro read: one character a sound, stress marks before the stressed vowel.
//
// It owns the reading of words: a dictionary with readings by part of speech, the endings
// -s, -ed and -ing, letters of abbreviations, numbers, and a small network for words that
// no dictionary has. It does not split text into sentences and knows nothing of sound.
// The dictionary, the weights of the part-of-speech tagger and the network are files of
// the voice's package (Load says which); the rules are this package's.
//
// Reading a word is pure but for the network's run. A Reader may be used by one goroutine
// at a time. The voices of package hibari call it.
package english
