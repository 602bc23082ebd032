// Package chat turns conversations into the text a model was trained on, and
// the bytes a model makes back into text.
//
// It owns two things. A Template is the model's own chat template, compiled:
// it renders messages into a prompt exactly as Hugging Face's transformers
// would, within limits that a hostile template cannot leave, and says what it
// writes behind a past answer (Tail). A Stream turns the bytes of one answer's
// tokens into whole characters and finds the request's stop strings.
//
// The package is pure: no goroutine, no file, no network, no clock (the time a
// template may print is handed in), and no engine: it knows bytes, not token
// ids. A Template is safe for concurrent use; a Stream belongs to one answer
// and to one goroutine at a time.
package chat
