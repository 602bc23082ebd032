package turn

import (
	"dure/audio"
	"dure/inference"
	"time"
)

// Mode is how the end of a turn is found.
type Mode string

// Modes of turn detection. The empty one is none: the client commits.
const (
	Manual      Mode = ""
	ServerVAD   Mode = "server_vad"
	SemanticVAD Mode = "semantic_vad"
)

// Eagerness of SemanticVAD: how soon a pause is taken for the end.
type Eagerness string

// Eagernesses, in the words of the OpenAI Realtime API.
const (
	EagerLow    Eagerness = "low"
	EagerMedium Eagerness = "medium"
	EagerHigh   Eagerness = "high"
	EagerAuto   Eagerness = "auto"
)

// Detection is how turns of speech are found.
type Detection struct {
	Mode Mode
	// Threshold of the detector's probability, 0 to 1 (0.5). ServerVAD and SemanticVAD.
	Threshold float32
	// Prefix is how much sound before the start of speech belongs to it (300 ms).
	Prefix audio.Samples
	// Silence is how long a pause ends a turn (500 ms). ServerVAD only.
	Silence audio.Samples
	// IdleTimeout makes the model speak if nobody did for so long after its answer was
	// played; 0 is never. ServerVAD only.
	IdleTimeout time.Duration
	Eagerness   Eagerness // SemanticVAD only
	// CreateResponse answers when a turn ends; InterruptResponse stops an answer when
	// speech starts.
	CreateResponse    bool
	InterruptResponse bool
}

// Transcription asks for transcripts of what the person says as events of their own. A
// session that answers transcribes in any case.
type Transcription struct {
	Model    string
	Language string // ISO 639-1; empty is found out
	Prompt   string
}

// Config is what a session was asked for. It is data of the wire, checked by the surface
// for form and by Next for what cannot be changed any more.
type Config struct {
	// TranscriptionOnly sessions never answer.
	TranscriptionOnly bool
	Model             string
	Instructions      string
	TextOnly          bool // output_modalities ["text"]

	Input         audio.Format
	Output        audio.Format
	Detection     Detection
	Transcription *Transcription
	Voice         string
	Speed         float64 // 0.25 to 1.5; 0 is 1
	Language      string  // of the answers' acknowledgements; empty: as the person speaks

	Tools     []inference.Tool
	Choice    inference.ToolChoice
	MaxTokens int // 0 is no limit

	// Duplex is the extension of `?duplex=1`: overlap is judged before it interrupts.
	Duplex bool
	// Lead says that the responder is a lead agent whose work goes on when its speech is
	// stopped, rather than a model whose answer is worth nothing then.
	Lead bool
	// NoScreen says that the client cannot show text that is not spoken: then code and
	// the rest of a long answer are spoken too.
	NoScreen bool
	// Metadata, Prompt and the like that only the wire knows are kept by the surface.
}

// Rules are the session's own figures, not the client's.
type Rules struct {
	// Prefix of the ids that the session makes, so that they differ between sessions.
	Prefix string
	// MostItems in a conversation; the oldest go when there are more.
	MostItems int
	// MostInput is the longest sound that may wait for its commit (120 s).
	MostInput audio.Samples
	// Acknowledge a turn so long after its end when the lead agent is, or is expected
	// to be, slow: one that took SlowAfter or more to its first words lately. 0 is never.
	Acknowledge time.Duration
	SlowAfter   time.Duration
	// ProgressEvery is the least time between two spoken words of progress.
	ProgressEvery time.Duration
	// Overlap, of Duplex: speech shorter than ShortAck that is a backchannel lets an
	// answer go on; speech of BargeIn or longer, or of two words, stops it.
	ShortAck, BargeIn audio.Samples
	// Ahead is how much sound may be sent and not yet be played, where a client tells
	// nothing of its playback: what was heard is taken as sent less this.
	Ahead audio.Samples
	// LongAnswer is the most characters of an answer that are spoken; the rest goes to
	// the screen. 0 is no limit.
	LongAnswer int
}

// DefaultRules are the figures that the session runs with.
func DefaultRules() Rules {
	return Rules{
		Prefix: "0", MostItems: 1000, MostInput: 120 * audio.Rate,
		Acknowledge: 200 * time.Millisecond, SlowAfter: 1500 * time.Millisecond,
		ProgressEvery: 8 * time.Second,
		ShortAck:      audio.FromMilliseconds(700), BargeIn: audio.FromMilliseconds(1200),
		Ahead: audio.FrameSamples, LongAnswer: 1200,
	}
}

// DefaultDetection is server_vad with the defaults of the OpenAI Realtime API.
func DefaultDetection() Detection {
	return Detection{
		Mode: ServerVAD, Threshold: 0.5,
		Prefix: audio.FromMilliseconds(300), Silence: audio.FromMilliseconds(500),
		CreateResponse: true, InterruptResponse: true,
	}
}
