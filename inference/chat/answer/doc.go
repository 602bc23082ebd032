// Package answer reads what a model wrote: the text of one answer, arriving in
// pieces of any size, becomes reasoning, content and calls of tools.
//
// It owns the forms in which families of models write thinking and calls
// (Family, found in a chat template by Detect), the incremental reader of them
// (Parser), the detector of endless repetition (Repetition), and what a
// conversation must look like before a template takes it (Normalise). It does not
// own templates, tokens, grammars or the order of events on a wire.
//
// Invariants: what comes out in all does not depend on how the text was cut into
// pieces. No text is lost: whatever is not markup comes out as content, reasoning,
// or a call. What looks like a call and cannot be read as one is no error: it comes
// out as text, beside a warning. The arguments of every call that is complete are
// the text of a JSON object. What is held back is never more than one call, or a
// marker, or a run of white space.
//
// The package is pure: no goroutine, file, network, or clock. A Parser belongs to
// one answer and one goroutine at a time. The layer that owns a model calls it.
package answer
