// Package device finds out what this machine has to run a model on: processor,
// memory, graphics cards, their drivers, and the libraries an engine needs; how
// much memory of it is free and who holds the rest; and what is there but unused.
//
// It has three layers. Detect looks at the files of a machine, loads no library,
// starts no program and opens no device, so it cannot hang on a sick driver:
// inference/library chooses an engine from its Report. A Reader asks the drivers
// as well: amdgpu by its files, NVIDIA's by its library through the package nvml,
// with a time limit. Merge, Unused and Tracker are pure: they join what was read
// with what the engine reported to one list of Devices, say what is wrong, and
// notice changes. Nothing here decides what to load where.
//
// Invariants:
//   - Detect, Merge, Unused and Tracker depend on their arguments alone, so a
//     recorded tree is a test;
//   - what is not there is absent (zero), what is there but cannot be read or
//     understood becomes a Problem: a Report is never an error;
//   - a Reading that could not be had is unknown and says why: never a zero;
//   - a device is in the list once, and each of the engine's devices is in it;
//   - every Problem says what to do.
//
// Safe for concurrent use, a Tracker aside; call it from anywhere. What the engine
// says of its devices is handed in: this package does not know the engine.
package device
