// Package card makes an owner's report of a model on their own machine: what was
// measured, in an order of value, within a time, so that it can be broken off and
// gone on with, and shared.
//
// It owns the order and the time (Run), the journal that keeps each figure as soon
// as it is there (Journal), the bare engine's steps (Steps), the line that prefill
// follows (Fit), and the report's forms: JSON with a numbered schema, Markdown, SVG.
// It starts no process and finds no model: cmd/dure hands in what to measure.
//
// Invariants: a Point was measured, never estimated or planned; what was not measured
// is named with its reason; a journal belongs to one Subject and is refused for any
// other; a figure that was journaled outlives a crash.
//
// Only cmd/dure may call it. Run and Journal belong to one goroutine; Steps wants a
// process of its own, since a sick driver may end it.
package card
