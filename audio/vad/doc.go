// Package vad tells speech from everything else with the Silero network.
//
// It owns one stream's state of the network: the recurrent state and the samples before
// the current hop. It decides nothing about turns; package turn does, from the
// probabilities. The process that serves the speech engines calls it.
//
// Two releases of the network exist in packages, and they are told apart by their inputs.
// The current one wants the 64 samples before each hop of 512 with it (32 of 256 at
// 8 kHz): without them it hears nothing at all, which no error says. Tests hold it to
// speech that a synthesiser made, to silence and to noise.
package vad
