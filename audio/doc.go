// Package audio is the vocabulary of sound: samples counted by integers, the formats
// that clients speak, frames, a ring of samples, a resampler, G.711 and WAV files.
//
// It owns no goroutine, clock or device, and imports nothing of ours. Whoever handles
// sound uses it: the voice session, the speech engines, the realtime surface.
//
// Inside the program sound is mono float32 in [-1, 1] at Rate (24 kHz), and a length or a
// place in it is a Samples. Other rates and encodings exist at the edges only: a client's
// wire format, and the 16 kHz that speech recognisers want.
package audio
