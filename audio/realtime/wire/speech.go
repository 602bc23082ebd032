package wire

import "slices"

// Speech is the body of POST /v1/audio/speech.
type Speech struct {
	Text   string
	Model  string
	Voice  string
	Format string // "wav" or "pcm": 16-bit at 24 kHz
	Speed  float64
	Events bool // stream_format "sse": the sound in server-sent events
}

// MostSpeech is the longest text of one request, in bytes.
const MostSpeech = 64 << 10

// DecodeSpeech reads the body. Without a response_format it is WAV: what the API has by
// default, MP3, is not made here, and asking for it is an error.
func DecodeSpeech(body []byte) (Speech, []Warning, error) {
	r := &reader{}
	o := r.object("", body)
	s := Speech{Text: o.need("input"), Format: "wav", Speed: 1}
	s.Model, _ = o.text("model")
	o.voice(&s.Voice)
	if len(s.Text) > MostSpeech {
		r.fail(invalid(CodeValue, "input", "%d bytes, and %d are the most", len(s.Text), MostSpeech))
	}
	if format, ok := o.one("response_format", "mp3", "opus", "aac", "flac", "wav", "pcm"); ok {
		if !slices.Contains([]string{"wav", "pcm"}, format) {
			r.fail(invalid(CodeUnsupported, "response_format", `%s is not made here: ask for "wav" or "pcm"`, format))
		}
		s.Format = format
	}
	if speed, ok := o.number("speed", 0.25, 4); ok {
		s.Speed = speed
	}
	if form, ok := o.one("stream_format", "sse", "audio"); ok {
		s.Events = form == "sse"
	}
	o.ignored("instructions", "the engines here speak in one manner")
	o.end()
	if r.err != nil {
		return Speech{}, nil, r.err
	}
	return s, r.warnings, nil
}

// SecretRequest is the body of POST /v1/realtime/client_secrets.
type SecretRequest struct {
	Seconds int64 // how long the secret can be used, 10 to 7200
	Session Session
}

// DecodeSecret reads the body; base is the session that the client's is laid over.
func DecodeSecret(body []byte, base Session) (SecretRequest, []Warning, error) {
	r := &reader{}
	o := r.object("", body)
	s := SecretRequest{Seconds: 60, Session: base}
	if e, ok := o.object("expires_after"); ok {
		e.one("anchor", "created_at")
		if n, ok := e.integer("seconds", 10, 7200); ok {
			s.Seconds = n
		}
		e.end()
	}
	if session, ok := o.object("session"); ok {
		s.Session.merge(session)
	}
	o.end()
	if r.err != nil {
		return SecretRequest{}, nil, r.err
	}
	return s, r.warnings, nil
}
