package voice

import (
	"context"
	"iter"

	"dure/audio"
	"dure/audio/turn"
	"dure/inference"
)

// The session's engines. It declares what it needs; others implement it and cmd wires.
// Sound for recognition is mono float32 at audio.ListenRate (16 kHz). Nothing given is
// kept after the call returns.

// VAD tells speech from silence for one session. One goroutine calls it, which is not the
// one that keeps the frames: a detector in another process may take its time, but what it
// takes delays the start of speech.
type VAD interface {
	// Hop is the number of 16 kHz samples that one probability is about.
	Hop() int
	// Feed takes any number of samples and appends a probability to dst for every hop
	// that became complete.
	Feed(dst []float32, pcm []float32) ([]float32, error)
	// Reset forgets the past.
	Reset()
	Close() error
}

// STT recognises speech; one for all sessions.
type STT interface {
	// Start begins an utterance. It does not wait for a free engine: that is for Finish.
	Start(ctx context.Context, o ListenOptions) (Transcriber, error)
}

// ListenOptions are what is known about an utterance.
type ListenOptions struct {
	Language string // ISO 639-1; "" is found out
	Prompt   string
	// Partial, where the engine can, is given the whole text so far, and how many of
	// the samples that were fed it is the text of. It may be called from any goroutine
	// and returns at once. No call comes after Finish or Close returned.
	Partial func(text string, heard int)
}

// Peeker is a Transcriber that can be told when its text so far is wanted most.
type Peeker interface {
	// Peek wants a call of Partial for all sound fed so far, soon. It returns at once.
	Peek()
}

// Transcriber is one utterance.
type Transcriber interface {
	// Feed takes more sound. It copies and returns at once.
	Feed(pcm []float32) error
	// Finish says that there is no more, and waits for the transcript.
	Finish(ctx context.Context) (Transcript, error)
	// Close gives the utterance up; after Finish it does nothing.
	Close() error
}

// Transcript is what was said. Text is empty where there was no speech.
type Transcript struct {
	Text     string
	Language string // as recognised; "" where the engine does not tell
}

// TTS synthesises speech; one for all sessions.
type TTS interface {
	// Speak gives the sound of a clause piece by piece, as soon as there is some.
	// Ending the range or ctx is the cancel. After an error nothing follows.
	Speak(ctx context.Context, u Utterance) iter.Seq2[Chunk, error]
}

// Utterance is what is to be spoken.
type Utterance struct {
	Text     string // one clause, numbers already in words where the language is known
	Language string // ISO 639-1; "" is to be guessed from the text
	Voice    string // as the client named it; "" is the default
	Speed    float64
}

// Chunk is a piece of sound at any rate from 8 to 48 kHz, the same through an utterance.
type Chunk struct {
	Rate int
	PCM  []float32
}

// FrameEngine is a speech model that listens and speaks by itself, a frame at a time. One
// goroutine calls it, one step at a time.
type FrameEngine interface {
	// Step takes what the person sent in a frame's time, and gives what the model says
	// in it. It should answer within pace.Budget. The input is valid until it returns.
	Step(ctx context.Context, in *audio.Frame) (FrameOut, error)
	Close() error
}

// FrameOut is a frame of a speech model.
type FrameOut struct {
	Audio *audio.Frame // nil is silence
	Text  string       // the words that go with it, "" for most frames
}

// Responder answers turns: a lead agent, or a plain model.
type Responder interface {
	// Respond gives the answer piece by piece. Ending the range or ctx is the cancel.
	Respond(ctx context.Context, r turn.Request) iter.Seq2[Delta, error]
}

// Canceller is a Responder whose work outlives its speech and can be called off.
type Canceller interface {
	// ConfirmCancel is asked when the person seems to want the work to stop. It
	// reports whether it was cancelled.
	ConfirmCancel(ctx context.Context, words string) (bool, error)
}

// Delta is a piece of an answer: one of its fields is set.
type Delta struct {
	// Text is to be spoken (or, in a text session, shown).
	Text string
	// Call is a piece of a call of a client's tool.
	Call *inference.ToolCallDelta
	// Progress says that the work behind the answer got further.
	Progress *Progress
	// Screen is for the screen only.
	Screen string
	// Unverified says that the text from here on is what a model claims by itself, and
	// no fact that the lead agent or its team gave.
	Unverified bool
	// Done comes last.
	Done *Done
}

// Progress is a state that the work reached. One with the same Key is told once.
type Progress struct{ Key, Text string }

// Done ends an answer.
type Done struct {
	Finish inference.FinishReason
	Usage  inference.Usage
}
