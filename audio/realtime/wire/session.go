package wire

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"dure/audio"
	"dure/audio/turn"
	"dure/inference"
)

// Session is the session object of the API: what a client configured, merged.
type Session struct {
	ID     string
	Config turn.Config
	// ExpiresAt is when the session ends, in seconds since 1970.
	ExpiresAt int64
	// Reference is a recording of a voice that is to be imitated, as the client sent it
	// last (ref_audio): a WAV file. It is no part of what sessions are told.
	Reference []byte
}

// Default is a session that nothing was configured of.
func Default(model string) Session {
	return Session{Config: turn.Config{
		Model: model, Input: audio.PCM16, Output: audio.PCM16,
		Detection: turn.DefaultDetection(), Speed: 1, Choice: inference.ToolChoice{Mode: inference.ToolAuto},
	}}
}

const (
	mostText  = 1 << 20 // bytes of instructions and of texts of items
	mostTools = 128
	mostItems = 1000
)

// Merge gives the session with a client's session object laid over it: what is absent
// stays. It is what session.update and the body of a client secret mean.
func (s Session) Merge(raw json.RawMessage) (Session, []Warning, error) {
	r := &reader{}
	s.merge(r.object("session", raw))
	if r.err != nil {
		return Session{}, nil, r.err
	}
	return s, r.warnings, nil
}

func (s *Session) merge(o object) {
	c := &s.Config
	switch kind, ok := o.one("type", "realtime", "transcription"); {
	case ok:
		c.TranscriptionOnly = kind == "transcription"
	default:
		o.r.fail(invalid(CodeMissing, o.path+"type", `missing: "realtime" or "transcription"`))
	}
	if model, ok := o.text("model"); ok {
		c.Model = model
	}
	if text, ok := o.text("instructions"); ok {
		c.Instructions = limited(o, "instructions", text)
	}
	o.textOnly(&c.TextOnly)
	o.maxTokens(&c.MaxTokens)
	o.tools(&c.Tools)
	o.choice(&c.Choice)
	if several, ok := o.boolean("parallel_tool_calls"); ok {
		c.Choice.Single = !several
	}
	mergeAudio(o, c)
	o.reference(&s.Reference)
	if include, ok := o.list("include", 8); ok && len(include) > 0 {
		o.r.warnings = append(o.r.warnings, Warning{o.path + "include", "recognisers here give no log probabilities"})
	}
	o.unsupported("prompt", "there are no stored prompts; put it into instructions")
	o.ignored("reasoning", "how much a model thinks is set in models.yaml")
	o.ignored("tracing", "nothing is traced: nothing leaves this machine")
	o.truncation()
	// Read-only fields that clients send back as they got them.
	for _, name := range []string{"id", "object", "expires_at"} {
		o.take(name)
	}
	o.end()
}

// mostReference is the longest recording of a voice: three minutes at 24 kHz in 16 bits, in
// base64.
const mostReference = 3*60*24000*2*4/3 + 1<<10

// reference reads ref_audio, a data URI of a WAV file, as servers of speech models have it.
func (o object) reference(to *[]byte) {
	*to = nil
	uri, ok := o.text("ref_audio")
	if !ok {
		return
	}
	head, data, _ := strings.Cut(uri, ",")
	if !strings.HasPrefix(head, "data:audio/") || !strings.HasSuffix(head, ";base64") || len(uri) > mostReference {
		o.r.fail(invalid(CodeValue, o.path+"ref_audio", "a data URI of a WAV file in base64 is expected, of three minutes at most"))
		return
	}
	sound, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(sound) == 0 {
		o.r.fail(invalid(CodeValue, o.path+"ref_audio", "its base64 cannot be read"))
		return
	}
	*to = sound
}

func limited(o object, name, text string) string {
	if len(text) > mostText {
		o.r.fail(invalid(CodeValue, o.path+name, "%d bytes, and %d are the most", len(text), mostText))
	}
	return text
}

func (o object) textOnly(to *bool) {
	list, ok := o.list("output_modalities", 2)
	if !ok {
		return
	}
	var mode string
	if len(list) != 1 || json.Unmarshal(list[0], &mode) != nil || (mode != "text" && mode != "audio") {
		o.r.fail(invalid(CodeValue, o.path+"output_modalities", `["audio"] or ["text"]: sound brings its transcript`))
		return
	}
	*to = mode == "text"
}

// maxTokens reads a number or "inf", which is 0 here.
func (o object) maxTokens(to *int) {
	raw, ok := o.fields["max_output_tokens"]
	if !ok {
		return
	}
	var inf string
	if isNull(raw) || json.Unmarshal(raw, &inf) == nil {
		o.take("max_output_tokens")
		if inf != "inf" && !isNull(raw) {
			o.r.fail(invalid(CodeValue, o.path+"max_output_tokens", `%q is neither a number nor "inf"`, clip(inf, 40)))
		}
		*to = 0
		return
	}
	if n, ok := o.integer("max_output_tokens", 1, 1<<20); ok {
		*to = int(n)
	}
}

// truncation is "disabled" here, as the session object says; "auto" is what clients send
// who do not care.
func (o object) truncation() {
	raw, ok := o.take("truncation")
	if !ok || string(raw) == `"auto"` || string(raw) == `"disabled"` {
		return
	}
	o.r.warnings = append(o.r.warnings, Warning{o.path + "truncation", "conversations are never cut: one that is too long is an error of its response"})
}

// tools reads functions; replaced as a whole.
func (o object) tools(to *[]inference.Tool) (has bool) {
	list, has := o.list("tools", mostTools)
	if !has {
		return false
	}
	tools := make([]inference.Tool, 0, len(list))
	names := map[string]bool{}
	for i, raw := range list {
		t := o.r.object(index(o.path+"tools", i), raw)
		if kind, _ := t.text("type"); kind != "" && kind != "function" {
			o.r.fail(invalid(CodeUnsupported, t.path+"type", "tools of type %q are not supported: functions are", clip(kind, 40)))
			return true
		}
		tool := inference.Tool{Name: t.need("name")}
		tool.Description, _ = t.text("description")
		if parameters, ok := t.take("parameters"); ok {
			tool.Parameters = append(json.RawMessage(nil), parameters...)
			if kind(parameters) != "an object" {
				t.wrong("parameters", "a JSON Schema, an object", parameters)
			}
		}
		t.end()
		if names[tool.Name] {
			o.r.fail(invalid(CodeValue, t.path+"name", "there are two tools named %q", clip(tool.Name, 64)))
		}
		names[tool.Name] = true
		tools = append(tools, tool)
	}
	*to = tools
	return true
}

// choice reads "auto", "none", "required" or {type: function, name}.
func (o object) choice(to *inference.ToolChoice) (has bool) {
	raw, has := o.fields["tool_choice"]
	if !has || isNull(raw) {
		o.take("tool_choice")
		return false
	}
	if kind(raw) == "an object" {
		f, _ := o.object("tool_choice")
		if kind := f.need("type"); kind != "function" && o.r.err == nil {
			o.r.fail(invalid(CodeUnsupported, f.path+"type", "a choice of %q is not supported", clip(kind, 40)))
		}
		*to = inference.ToolChoice{Mode: inference.ToolRequired, Name: f.need("name"), Single: to.Single}
		f.end()
		return true
	}
	if mode, ok := o.one("tool_choice", "auto", "none", "required"); ok {
		*to = inference.ToolChoice{Mode: inference.ToolMode(mode), Single: to.Single}
	}
	return true
}

func mergeAudio(o object, c *turn.Config) {
	a, ok := o.object("audio")
	if !ok {
		return
	}
	if in, ok := a.object("input"); ok {
		in.format(&c.Input)
		in.transcription(c)
		in.detection(&c.Detection)
		in.ignored("noise_reduction", "sound is taken as it comes")
		in.end()
	}
	if out, ok := a.object("output"); ok {
		out.format(&c.Output)
		if speed, ok := out.number("speed", 0.25, 1.5); ok {
			c.Speed = speed
		}
		out.voice(&c.Voice)
		out.end()
	}
	a.end()
}

// voice reads a name or {id}.
func (o object) voice(to *string) {
	raw, ok := o.fields["voice"]
	if !ok {
		return
	}
	if kind(raw) == "an object" {
		v, _ := o.object("voice")
		*to = v.need("id")
		v.end()
		return
	}
	if name, ok := o.text("voice"); ok {
		*to = name
	}
}

// format reads {type, rate}. The duplex extension has "audio/pcm_f32" beside the three of
// the API.
func (o object) format(to *audio.Format) {
	f, ok := o.object("format")
	if !ok {
		return
	}
	name, _ := f.text("type")
	rate, has := f.integer("rate", 1, 1<<20)
	f.end()
	if name == "" {
		name = string(audio.PCM16)
	}
	format := audio.Format(name)
	if !format.Valid() {
		o.r.fail(invalid(CodeValue, f.path+"type", "%q is none of %s, %s, %s, %s", clip(name, 40), audio.PCM16, audio.ULaw, audio.ALaw, audio.Float32))
		return
	}
	if has && int(rate) != format.Rate() {
		o.r.fail(invalid(CodeValue, f.path+"rate", "%s has %d samples a second here", format, format.Rate()))
		return
	}
	*to = format
}

func (o object) transcription(c *turn.Config) {
	if o.null("transcription") {
		o.take("transcription")
		c.Transcription = nil
		return
	}
	t, ok := o.object("transcription")
	if !ok {
		return
	}
	to := turn.Transcription{}
	if c.Transcription != nil {
		to = *c.Transcription
	}
	for name, at := range map[string]*string{"model": &to.Model, "language": &to.Language, "prompt": &to.Prompt} {
		if s, ok := t.text(name); ok {
			*at = limited(t, name, s)
		}
	}
	for _, name := range []string{"keywords", "languages", "delay"} {
		t.ignored(name, "recognisers here take a language and a prompt")
	}
	t.end()
	c.Transcription = &to
}

func (o object) detection(to *turn.Detection) {
	if o.null("turn_detection") {
		o.take("turn_detection")
		*to = turn.Detection{Threshold: 0.5}
		return
	}
	d, ok := o.object("turn_detection")
	if !ok {
		return
	}
	mode, ok := d.one("type", string(turn.ServerVAD), string(turn.SemanticVAD))
	if !ok {
		mode = string(turn.ServerVAD)
	}
	next := *to
	if next.Mode != turn.Mode(mode) {
		next = turn.DefaultDetection()
		next.Mode = turn.Mode(mode)
		if next.Mode == turn.SemanticVAD {
			next.Eagerness = turn.EagerAuto
		}
	}
	if b, ok := d.boolean("create_response"); ok {
		next.CreateResponse = b
	}
	if b, ok := d.boolean("interrupt_response"); ok {
		next.InterruptResponse = b
	}
	if next.Mode == turn.SemanticVAD {
		if e, ok := d.one("eagerness", "low", "medium", "high", "auto"); ok {
			next.Eagerness = turn.Eagerness(e)
		}
	} else {
		d.serverVAD(&next)
	}
	d.end()
	*to = next
}

func (o object) serverVAD(to *turn.Detection) {
	if f, ok := o.number("threshold", 0, 1); ok {
		to.Threshold = float32(f)
	}
	if ms, ok := o.integer("prefix_padding_ms", 0, 10_000); ok {
		to.Prefix = audio.FromMilliseconds(ms)
	}
	if ms, ok := o.integer("silence_duration_ms", 20, 60_000); ok {
		to.Silence = audio.FromMilliseconds(ms)
	}
	if o.null("idle_timeout_ms") {
		to.IdleTimeout = 0
	}
	if ms, ok := o.integer("idle_timeout_ms", 1000, 600_000); ok {
		to.IdleTimeout = time.Duration(ms) * time.Millisecond
	}
}
