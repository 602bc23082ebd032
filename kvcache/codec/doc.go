// Package codec makes the bytes of a parked state smaller, in classes of what may
// be lost. State in, bytes out, and back: it opens no file, calls no engine and
// keeps nothing but scratch memory.
//
//	form, err := FormOf(geometry, layout)      once for a context
//	coded, err := Encode(nil, state, form, Small, nil)
//	state, err = Decode(nil, coded, form, nil)
//
// # Classes
//
//	exact       nothing is lost: bytes apart, exponents in groups of channels
//	near        no more than in cells of q8_0
//	near-small  between near and small
//	small       no more than in cells of q4_0
//	calibrated  as small, and smaller, by a Basis of the model
//
// What a class loses on a model is for a bench to measure; the bars above are
// those of the models it was made with. It is not for this package to say that a
// class may be used.
//
// # How keys and values are coded with loss
//
// Keys are turned back by their rotary position first: what is then left in a
// channel is a mean, the same at all positions, and a deviation. Numbers are
// rounded to multiples of one step for all channels of a plane, a part of their
// deviation, so that each channel has the same error and bits go where the
// numbers vary; that is the best that can be done for the sum of squares. A plain
// entropy coder takes the rest, with tables for groups of channels that vary
// alike. A rotation that spreads outliers (as the engine does for its own
// quantised cells) would make all channels alike, and cost what this gains.
//
// A Basis goes one step further: channels of a row, all heads together, are
// expressed in the directions in which they vary most, so that few numbers are
// large. It is calibrated once on real states and kept beside the model; coded
// bytes carry its fingerprint and are of no use without it.
//
// The first 4 positions are coded exactly: they take the attention that nothing
// else gets, and an error there is felt everywhere. The last 128 get a finer
// step: what follows looks at them most.
//
// Recurrent states keep more bits, as their errors feed on themselves: bf16 in
// the near classes, 8 bits of numbers rotated in blocks in the small ones.
//
// # Coded bytes
//
//	head (see head), fixed fields of the state, tables of its cells, length of
//	each plane, planes; CRC-32C
//
// Positions, tokens and types are exact in every class. Planes are independent,
// so several goroutines can work at them (Coder). Long planes are coded in
// stretches of a million numbers, so that a worker needs about ten megabytes.
//
// # Invariants
//
//   - Decode gives a state that blob.Parse takes, as large as the one that was
//     encoded, or an error that wraps ErrCoded or ErrBasis.
//   - Numbers that are infinite or none make their plane exact. Numbers that are
//     finite stay finite.
//   - Cells of q8_0 have lost already what near may lose, and are exact in it; in
//     smaller classes they are coded like others, after the engine's own rotation
//     was undone. Those of other quantised types are exact in every class.
//   - No input makes Decode panic or allocate more than a fixed multiple of its
//     size.
//   - A wrong Form (angles the engine does not use, say) costs bytes, not
//     correctness: what is turned back is turned forth again.
//   - Decoding is the same to the bit on every machine of one kind; lossy states
//     may differ in a last bit between kinds (fused operations).
//
// Who calls it: package store, for files, and benches. Forms and bases are never
// changed; a Coder belongs to one goroutine.
package codec
