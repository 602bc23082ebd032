package kv

// Sample is what one text gave for one setting at one length of the context.
type Sample struct {
	Setting string `json:"setting"`
	Kind    Kind   `json:"kind"`
	Text    int    `json:"text"`
	Length  int    `json:"length"` // tokens of context
	// Divergence of each token that follows, in nats, and how many of them have the
	// same likeliest token. Broken ones have a logit that is no number, and count as
	// wrong.
	Divergence []float32 `json:"divergence,omitempty"`
	Mean       float64   `json:"kld_mean"`
	Same       int       `json:"same"`
	Rows       int       `json:"rows"`
	Broken     int       `json:"broken,omitempty"`
	// Logprob is the mean logarithm of the probability of the text's own tokens, Repeat
	// that of a piece of the context when it is repeated; Full* those of the full cache.
	Logprob     float64 `json:"logprob"`
	FullLogprob float64 `json:"full_logprob"`
	Repeat      float64 `json:"repeat"`
	FullRepeat  float64 `json:"full_repeat"`
	// StateBytes is the size of the f16 state of the context, CodedBytes that of what a
	// parked setting keeps of it.
	StateBytes int `json:"state_bytes"`
	CodedBytes int `json:"coded_bytes,omitempty"`
	// EncodeMS and DecodeMS are what a parked setting took for that.
	EncodeMS float64 `json:"encode_ms,omitempty"`
	DecodeMS float64 `json:"decode_ms,omitempty"`
}

// brokenNats stands for the divergence of a row that has a logit that is no number.
const brokenNats = 100

// add takes one token's divergence.
func (s *Sample) add(d float64, same bool) {
	if !(d <= brokenNats) { // NaN too
		d, same = brokenNats, false
		s.Broken++
	}
	s.Divergence = append(s.Divergence, float32(d))
	s.Mean += (d - s.Mean) / float64(len(s.Divergence))
	if s.Rows++; same {
		s.Same++
	}
}

// Reply is what a question gave for one setting.
type Reply struct {
	Setting  string  `json:"setting"`
	Task     Task    `json:"task"`
	Length   int     `json:"length"`
	Document int     `json:"document"`
	Depth    float64 `json:"depth"`
	// Found is the share of the wanted parts that the written answer has, Logprob the
	// mean logarithm of the probability of the right answer's tokens; Full* those of the
	// full cache.
	Found       float64 `json:"found"`
	FullFound   float64 `json:"full_found"`
	Logprob     float64 `json:"logprob"`
	FullLogprob float64 `json:"full_logprob"`
}

// Done is a unit of work that was measured: one text or document at one length, for all
// settings.
type Done struct {
	Unit    string   `json:"unit"`
	Samples []Sample `json:"samples,omitempty"`
	Replies []Reply  `json:"replies,omitempty"`
}

// outcome is a Reply without the other side.
type outcome struct{ found, logprob float64 }
