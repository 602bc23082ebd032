// Package nvml reads NVIDIA cards through the driver's management library,
// libnvidia-ml.so.1, loaded at run time without cgo.
//
// It owns the C boundary to that library: symbols, struct layouts and return
// codes, after NVIDIA's public API (nvml.h of CUDA 13). It reads and never sets
// anything. It does not judge: which card is which device, and what a reading
// means for a model, is inference/device's to say.
//
// Invariants:
//   - a reading that was refused is unknown, with the refusal beside it, and
//     never a zero: cards for consumers answer NotSupported to a good part of it;
//   - a library or a function that is not there is an ordinary error, ErrAbsent
//     or FunctionNotFound;
//   - Read returns when its context ends, whatever the driver does. The call
//     that the driver keeps is left behind, at most one for a Library, and while
//     it is kept every other Read fails with ErrNoAnswer. What cannot be had in
//     one process is protection from a library that crashes.
//
// Safe for concurrent use; Reads run one after another. Only inference/device
// imports it.
package nvml
