// Package plan tells before a load what a model will take on each device, item
// by item, whether it fits, and what to ask for where it does not. It is a pure
// function of what a model's header says, the devices, and a wish.
//
// It owns the arithmetic of the engine's memory (weights, KV cells, recurrent
// state, compute buffers), the order in which an automatic choice gives way,
// and a table of cards. It does not look at a machine, open a file, load
// anything or read a clock: devices, tensors and measurements are handed in.
//
// Invariants: the items of a device add up to what it uses; a plan that is
// returned without an error fits every device whose size is known, and planning
// again with what it chose gives the same plan; more memory never makes a plan
// fail, and more context or more agents never take fewer cells or less state.
// (Compute buffers follow the engine, which rounds a batch up to a multiple of
// the sequences: those may shrink a little.)
//
// A refusal names up to three plans that fit, each with all that it changes, none
// with a longer context or more active agents than were asked for. All GPUs of a
// plan are driven by one variant of the engine.
//
// Every item says how it is known. Exact items follow the engine's own rules to
// the byte. Formula items come from fits to the engine's graphs. Measured items
// were read from the engine for this very shape and replace formulas. Assumed
// items are what drivers take outside of the engine.
//
// The command line, the loader of models and the pool may call it from any
// goroutine.
package plan
