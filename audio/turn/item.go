package turn

import "dure/audio"

// Kind of an Item.
type Kind string

// Kinds of items, in the words of the OpenAI Realtime API.
const (
	Message        Kind = "message"
	FunctionCall   Kind = "function_call"
	FunctionOutput Kind = "function_call_output"
)

// Status of an Item.
type Status string

// Statuses of items.
const (
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Incomplete Status = "incomplete"
)

// Roles of messages.
const (
	User      = "user"
	Assistant = "assistant"
	System    = "system"
)

// PartKind tells parts of a message apart.
type PartKind string

// Kinds of parts.
const (
	InputText   PartKind = "input_text"
	InputAudio  PartKind = "input_audio"
	OutputText  PartKind = "output_text"
	OutputAudio PartKind = "output_audio"
)

// Part is a piece of a message. A Part is never changed once it is in a State: a changed
// one takes its place.
type Part struct {
	Kind PartKind
	// Text is the text, or of sound its transcript.
	Text string
	// Transcribed says that Text of InputAudio is known; without it the transcript is
	// null on the wire.
	Transcribed bool
	// From and To bound InputAudio in what the client appended since the session began.
	// Samples is the length: of OutputAudio what was synthesised, or after a truncation
	// what was heard.
	From, To audio.Samples
	Samples  audio.Samples
	// Cut says that the part was truncated to what was heard: Text is that and no more.
	Cut bool
}

// Item is a message, a function call or a function's result. Items in a State are never
// changed: a changed one takes the place of the old.
type Item struct {
	ID     string
	Kind   Kind
	Role   string
	Status Status
	Parts  []Part
	// Of FunctionCall and FunctionOutput.
	CallID    string
	Name      string
	Arguments string
	Output    string
	// Unverified marks what a speech model claimed by itself while the lead agent had a
	// turn open: it is no fact until the lead says so.
	Unverified bool

	// said is how sound and words of an answer belong together.
	said []utterance
	sent audio.Samples
}

// Text is the message's text, transcripts included, parts separated by a space.
func (i *Item) Text() string {
	out := ""
	for _, p := range i.Parts {
		if p.Text == "" {
			continue
		}
		if out != "" {
			out += " "
		}
		out += p.Text
	}
	return out
}
