// Package hibari speaks with the small English voices of that name: a network predicts a
// spectrum, from which this package makes the waveform.
//
// It owns the loaded voice and the signal processing: a train of pulses at the predicted
// pitch, shaped by a spectrum, with shaped noise and a part of free phase, turned into
// sound by an inverse short-time Fourier transform of 1200 samples every 300. It does not
// read text; package english does. The process that serves the speech engines calls it.
//
// The same text and speed give the same sound, sample by sample. A Voice may be used by
// one goroutine at a time.
package hibari
