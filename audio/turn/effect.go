package turn

import (
	"dure/audio"
	"dure/inference"
)

// Effect is what the session is to do, in the order given.
type Effect interface{ effect() }

type (
	// Emit tells the client.
	Emit struct{ Notice Notice }
	// Take puts the sound of the Append that Next was just told of into the input
	// buffer. Without it the sound is not taken, and a Failed says why.
	Take struct{ Samples audio.Samples }
	// Listen starts a recogniser for an item, with the sound from From on; sound that
	// comes later follows until FinishListening gives it its end, or StopListening
	// throws it away.
	Listen struct {
		Item             string
		From             audio.Samples
		Language, Prompt string
	}
	FinishListening struct {
		Item string
		To   audio.Samples
	}
	StopListening struct{ Item string }
	// Peek wants a Partial of what was heard of an item up to now, soon: the person
	// pauses, and the words tell whether they are done.
	Peek struct{ Item string }
	// Forget says that input before a place is needed no more.
	Forget struct{ Before audio.Samples }
	// Respond asks for an answer; StopResponding ends it, since nobody wants it.
	Respond        struct{ Request Request }
	StopResponding struct{ Response string }
	// ConfirmCancel asks the lead agent whether its work is to be cancelled, as the
	// person seems to want.
	ConfirmCancel struct{ Words string }
	// Speak has an utterance synthesised; utterances of a response are spoken in the
	// order of their numbers. Filler ones are fixed phrases that can be kept.
	Speak struct {
		Response  string
		Utterance int
		Text      string
		Language  string
		Voice     string
		Speed     float64
		Filler    bool
	}
	// Silence stops the speech of a response: synthesis ends, and what was synthesised
	// and not sent is dropped.
	Silence struct{ Response string }
	// TakeVoice puts the frame of the Native that Next was just told of behind the sound
	// of a response. Without it nobody hears the frame.
	TakeVoice struct{ Response string }
	// ResetHearing forgets the detector's past.
	ResetHearing struct{}
	// End ends the session.
	End struct{}
)

func (Emit) effect()            {}
func (Take) effect()            {}
func (Listen) effect()          {}
func (FinishListening) effect() {}
func (StopListening) effect()   {}
func (Peek) effect()            {}
func (Forget) effect()          {}
func (Respond) effect()         {}
func (StopResponding) effect()  {}
func (ConfirmCancel) effect()   {}
func (Speak) effect()           {}
func (Silence) effect()         {}
func (TakeVoice) effect()       {}
func (ResetHearing) effect()    {}
func (End) effect()             {}

// Request is what a responder answers.
type Request struct {
	Response     string
	Model        string
	Instructions string
	// History is the conversation in its order, what the assistant said cut to what
	// was heard. It ends with what is answered.
	History []Item
	// Said is the transcript of the turn that is answered; "" where none is.
	Said string
	// Heard is what the person heard of the answer that they interrupted with this
	// turn; Interrupted tells "nothing of it" from "there was none".
	Heard       string
	Interrupted bool
	Language    string // as the recogniser heard it, or Config.Language
	TextOnly    bool
	Tools       []inference.Tool
	Choice      inference.ToolChoice
	MaxTokens   int
	OutOfBand   bool
	Metadata    map[string]string
	// Idle says that nobody spoke: the idle timeout made this turn.
	Idle bool
}
