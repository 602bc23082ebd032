// Package device finds out what this machine has to run a model on: processor,
// memory, graphics cards, their drivers, and the libraries an engine needs.
//
// It only looks: it reads /proc, /sys and the dynamic loader's cache, loads no
// library, starts no program and opens no device, so looking cannot hang on a
// sick driver. It decides nothing; inference/library chooses an engine from a
// Report, and what the engine itself sees of a card is inference/engine's to say.
//
// Invariants:
//   - Detect depends on its arguments alone, so a recorded tree is a test;
//   - what is not there is absent (zero), what is there but cannot be read or
//     understood becomes a Problem: a Report is never an error;
//   - every Problem says what to do.
//
// Safe for concurrent use; call it from anywhere.
package device
