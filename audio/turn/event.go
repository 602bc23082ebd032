package turn

import (
	"dure/audio"
	"dure/inference"
)

// Event is what Next is told: what a client asked for, what was heard, what the engines
// did, and that time passed.
type Event interface{ event() }

// Events of the client. ID is the client's own event id, "" where it gave none; it comes
// back in Failed.
type (
	// Open begins the session; it is the first event.
	Open struct{ Config Config }
	// Update replaces the session's configuration as a whole: the surface has merged
	// what the client sent into the one it knew.
	Update struct {
		ID     string
		Config Config
	}
	// Append says that so much more sound of the person is in the input buffer.
	Append struct {
		ID      string
		Samples audio.Samples
	}
	// Commit makes the buffer an item; Clear empties it.
	Commit struct{ ID string }
	Clear  struct{ ID string }
	// CreateItem puts an item behind the one named After; "" is the end, "root" the
	// beginning. An empty Item.ID is made up. Sound of an item that the client gives as
	// such is named by InputAudio parts with From and To (voice.Session sets them).
	CreateItem struct {
		ID    string
		Item  Item
		After string
	}
	RetrieveItem struct{ ID, Item string }
	DeleteItem   struct{ ID, Item string }
	// TruncateItem cuts sound of an answer to what was heard of it.
	TruncateItem struct {
		ID, Item   string
		Part       int
		AudioEndMS int64
	}
	CreateResponse struct {
		ID     string
		Params ResponseParams
	}
	// CancelResponse cancels the named response, or with "" the active one.
	CancelResponse struct{ ID, Response string }
	// Acknowledge tells how much of an item the client's speaker has played. Duplex.
	Acknowledge struct {
		ID, Item string
		PlayedMS int64
	}
	// Attach and Detach say that a client is there, or is gone and may come back.
	Attach struct{}
	Detach struct{}
	// Close ends the session; Reason is told in Closed.
	Close struct{ Reason string }
)

// ResponseParams are what a client wants of one response. Nil and empty fields are the
// session's.
type ResponseParams struct {
	Instructions *string
	TextOnly     *bool
	Tools        []inference.Tool
	HasTools     bool
	Choice       *inference.ToolChoice
	MaxTokens    int
	Voice        string
	// OutOfBand responses are no part of the conversation: their items are not kept,
	// and they may run beside the active one. Their sound, if any, is synthesised and
	// sent like any other's, behind it.
	OutOfBand bool
	// Input replaces the conversation as what is answered; HasInput tells an empty one
	// from none. A reference to an item of the conversation is an Item with only its ID.
	Input    []Item
	HasInput bool
	Metadata map[string]string
}

// Events of hearing.
type (
	// Heard is the detector's opinion about the sound up to To: the probability that
	// it is speech.
	Heard struct {
		To   audio.Samples
		Prob float32
	}
	// Partial is what a recogniser makes of an item so far; Transcribed is its last
	// word, TranscriptionFailed the reason why there is none.
	Partial struct {
		Item, Text string
		To         audio.Samples // the place that the text goes to; 0 is not known
	}
	Transcribed struct {
		Item, Text string
		Language   string
	}
	TranscriptionFailed struct {
		Item    string
		Code    string
		Message string
	}
)

// Events of answering. They are about the response that is named; what comes for one that
// has ended is ignored.
type (
	// Said is a piece of the answer's text.
	Said struct{ Response, Text string }
	// Called begins a call of a tool (CallID, Name) or carries a piece of its
	// arguments; Index numbers the calls of one response from 0.
	Called struct {
		Response                string
		Index                   int
		CallID, Name, Arguments string
	}
	// Progressed says that the work behind the response really got further. Key names
	// the state reached: the same one is not told twice.
	Progressed struct{ Response, Key, Text string }
	// Claimed says that what the responder says from now on is a model's own word: no
	// fact that the lead agent or its team gave.
	Claimed struct{ Response string }
	// Shown is text for the screen, not for the ear.
	Shown struct{ Response, Text string }
	// Answered ends the responder's part.
	Answered struct {
		Response string
		Finish   inference.FinishReason
		Usage    inference.Usage
	}
	// AnswerFailed ends it too, without success.
	AnswerFailed struct{ Response, Code, Message string }
	// CancelConfirmed is the lead agent's word about ConfirmCancel.
	CancelConfirmed struct{ Confirmed bool }
)

// Events of speaking.
type (
	// Synthesised says that so much more sound of an utterance is ready to be sent.
	Synthesised struct {
		Response  string
		Utterance int
		Samples   audio.Samples
	}
	// Uttered says that an utterance is complete; SpeechFailed that it will not be.
	Uttered struct {
		Response  string
		Utterance int
	}
	SpeechFailed struct {
		Response  string
		Utterance int
		Message   string
	}
	// Due offers the next Samples of synthesised sound of a response to be sent now.
	// Next answers with an Emit of AudioDelta, or without one if they became void.
	Due struct {
		Response string
		Samples  audio.Samples
	}
	// Native is a frame of a speech model that listens and speaks by itself: Samples of
	// its sound, the text that goes with them, and whether there is anything to be heard
	// in them. Next answers with TakeVoice if the frame has the floor. Duplex only.
	Native struct {
		Text    string
		Samples audio.Samples
		Loud    bool
	}
	// Played says that virtual playout of everything sent has ended.
	Played struct{}
	// EngineLost and EngineBack tell about the engines: "vad", "stt", "tts",
	// "responder".
	EngineLost struct{ Engine, Message string }
	EngineBack struct{ Engine string }
)

// Tick says that a deadline that State.Deadline named has come.
type Tick struct{}

func (Open) event()                {}
func (Update) event()              {}
func (Append) event()              {}
func (Commit) event()              {}
func (Clear) event()               {}
func (CreateItem) event()          {}
func (RetrieveItem) event()        {}
func (DeleteItem) event()          {}
func (TruncateItem) event()        {}
func (CreateResponse) event()      {}
func (CancelResponse) event()      {}
func (Acknowledge) event()         {}
func (Attach) event()              {}
func (Detach) event()              {}
func (Close) event()               {}
func (Heard) event()               {}
func (Partial) event()             {}
func (Transcribed) event()         {}
func (TranscriptionFailed) event() {}
func (Said) event()                {}
func (Called) event()              {}
func (Progressed) event()          {}
func (Shown) event()               {}
func (Claimed) event()             {}
func (Answered) event()            {}
func (AnswerFailed) event()        {}
func (CancelConfirmed) event()     {}
func (Synthesised) event()         {}
func (Uttered) event()             {}
func (SpeechFailed) event()        {}
func (Due) event()                 {}
func (Native) event()              {}
func (Played) event()              {}
func (EngineLost) event()          {}
func (EngineBack) event()          {}
func (Tick) event()                {}
