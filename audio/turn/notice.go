package turn

import (
	"dure/audio"
	"dure/inference"
)

// Notice is what the client is told. Each is one server event of the OpenAI Realtime API,
// named in its comment, or of the duplex extension.
type Notice interface{ notice() }

// About the session and the conversation.
type (
	SessionCreated struct{ Config Config } // session.created
	SessionUpdated struct{ Config Config } // session.updated
	// ItemAdded is conversation.item.added, ItemDone conversation.item.done. Previous
	// is "" for the first item.
	ItemAdded struct {
		Previous string
		Item     Item
	}
	ItemDone struct {
		Previous string
		Item     Item
	}
	ItemRetrieved struct{ Item Item } // conversation.item.retrieved
	ItemDeleted   struct{ Item string }
	// ItemTruncated is conversation.item.truncated; the server sends it by itself too
	// when it cut an item to what was heard (Duplex only).
	ItemTruncated struct {
		Item       string
		Part       int
		AudioEndMS int64
	}
	// Failed is error. Event is the client's event id.
	Failed struct{ Event, Code, Message, Param string }
	// Closed is the last notice of a session; the surface closes the connection.
	Closed struct{ Reason string }
)

// About the input.
type (
	SpeechStarted struct { // input_audio_buffer.speech_started
		Item         string
		AudioStartMS int64
	}
	SpeechStopped struct { // input_audio_buffer.speech_stopped
		Item       string
		AudioEndMS int64
	}
	Committed struct{ Previous, Item string } // input_audio_buffer.committed
	Cleared   struct{}                        // input_audio_buffer.cleared
	TimedOut  struct {                        // input_audio_buffer.timeout_triggered
		Item                     string
		AudioStartMS, AudioEndMS int64
	}
	// conversation.item.input_audio_transcription.delta, .completed, .failed. Sent only
	// where Config.Transcription asks for them.
	TranscriptDelta struct {
		Item string
		Part int
		Text string
	}
	TranscriptCompleted struct {
		Item    string
		Part    int
		Text    string
		Samples audio.Samples // usage by duration
	}
	TranscriptFailed struct {
		Item          string
		Part          int
		Code, Message string
	}
)

// ResponseStatus says how a response ended.
type ResponseStatus string

// Statuses of responses.
const (
	ResponseInProgress ResponseStatus = "in_progress"
	ResponseCompleted  ResponseStatus = "completed"
	ResponseCancelled  ResponseStatus = "cancelled"
	ResponseIncomplete ResponseStatus = "incomplete"
	ResponseFailed     ResponseStatus = "failed"
)

// Reasons of a response that was cancelled or is incomplete.
const (
	ReasonTurnDetected = "turn_detected"
	ReasonClient       = "client_cancelled"
	ReasonMaxTokens    = "max_output_tokens"
)

// Response is a response as its notices tell it.
type Response struct {
	ID           string
	Status       ResponseStatus
	Reason       string // of Cancelled and Incomplete
	Code         string // of Failed, with Message
	Message      string
	OutOfBand    bool
	TextOnly     bool
	Voice        string
	MaxTokens    int
	Metadata     map[string]string
	Items        []Item // the output, in its order
	Usage        inference.Usage
	Samples      audio.Samples // of sound that was sent
	Acknowledged bool          // it began with an acknowledgement
}

// At is where in a response something is.
type At struct {
	Response, Item string
	Output, Part   int // output_index, content_index
}

// About responses.
type (
	ResponseCreated struct{ Response Response } // response.created
	ResponseDone    struct{ Response Response } // response.done
	OutputItemAdded struct {                    // response.output_item.added
		Response string
		Output   int
		Item     Item
	}
	OutputItemDone struct { // response.output_item.done
		Response string
		Output   int
		Item     Item
	}
	PartAdded struct { // response.content_part.added
		At   At
		Part Part
	}
	PartDone struct { // response.content_part.done
		At   At
		Part Part
	}
	TextDelta struct { // response.output_text.delta
		At   At
		Text string
	}
	TextDone struct { // response.output_text.done
		At   At
		Text string
	}
	// AudioDelta is response.output_audio.delta. The sound itself is in voice.Out.
	AudioDelta struct {
		At      At
		From    audio.Samples // place in the item's sound
		Samples audio.Samples
		Epoch   int64
	}
	AudioDone       struct{ At At } // response.output_audio.done
	AudioTranscript struct {        // response.output_audio_transcript.delta
		At   At
		Text string
	}
	AudioTranscriptDone struct { // response.output_audio_transcript.done
		At   At
		Text string
	}
	ArgumentsDelta struct { // response.function_call_arguments.delta
		At           At
		CallID, Text string
	}
	ArgumentsDone struct { // response.function_call_arguments.done
		At                      At
		CallID, Name, Arguments string
	}
)

// Of the duplex extension, and of ours. A surface without the extension leaves them out,
// but Screen and Warning, which it may send under names of its own.
type (
	// EpochChanged: sound sent under an older epoch is to be dropped unplayed.
	EpochChanged struct{ Epoch int64 }
	// OverlapDecided says what became of speech during an answer: "keep" or
	// "barge_in", and why: "backchannel", "short", "length", "words", "client".
	OverlapDecided struct{ Decision, Why string }
	// Acknowledged answers Acknowledge.
	Acknowledged struct {
		Item                                       string
		GeneratedMS, SentMS, PlayedMS, CommittedMS int64
	}
	// Screen is text that is too long to be spoken, whole.
	Screen struct{ Response, Text string }
	// Progress is what was spoken about work under way.
	Progress struct{ Response, Text string }
	// AnswerWaiting says that an answer came late and waits for its place.
	AnswerWaiting struct{ Response string }
	// Warning is something that the person should know and that is no failure:
	// "degraded", "engine_lost", "engine_back".
	Warning struct{ Code, Message string }
)

func (SessionCreated) notice()      {}
func (SessionUpdated) notice()      {}
func (ItemAdded) notice()           {}
func (ItemDone) notice()            {}
func (ItemRetrieved) notice()       {}
func (ItemDeleted) notice()         {}
func (ItemTruncated) notice()       {}
func (Failed) notice()              {}
func (Closed) notice()              {}
func (SpeechStarted) notice()       {}
func (SpeechStopped) notice()       {}
func (Committed) notice()           {}
func (Cleared) notice()             {}
func (TimedOut) notice()            {}
func (TranscriptDelta) notice()     {}
func (TranscriptCompleted) notice() {}
func (TranscriptFailed) notice()    {}
func (ResponseCreated) notice()     {}
func (ResponseDone) notice()        {}
func (OutputItemAdded) notice()     {}
func (OutputItemDone) notice()      {}
func (PartAdded) notice()           {}
func (PartDone) notice()            {}
func (TextDelta) notice()           {}
func (TextDone) notice()            {}
func (AudioDelta) notice()          {}
func (AudioDone) notice()           {}
func (AudioTranscript) notice()     {}
func (AudioTranscriptDone) notice() {}
func (ArgumentsDelta) notice()      {}
func (ArgumentsDone) notice()       {}
func (EpochChanged) notice()        {}
func (OverlapDecided) notice()      {}
func (Acknowledged) notice()        {}
func (Screen) notice()              {}
func (Progress) notice()            {}
func (AnswerWaiting) notice()       {}
func (Warning) notice()             {}
