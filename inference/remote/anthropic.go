package remote

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"dure/inference"
)

// apiVersion is the one that the shapes here are of.
const apiVersion = "2023-06-01"

// anthropic is the format of Anthropic's API.
type anthropic struct {
	memory *memory
	where  string // whose answers are proved
}

// head implements wire. What dure knows of the caller goes into headers of its own: the
// API refuses fields that it does not know.
func (*anthropic) head(h http.Header, at *Endpoint, req *inference.Request) {
	h.Set("Anthropic-Version", apiVersion)
	if key := at.Key.text(); key != "" {
		h.Set("X-Api-Key", key)
	}
	if !at.Own {
		return
	}
	c := newCaller(req.Caller)
	for name, text := range map[string]string{"Session": c.Session, "Agent": c.Agent, "Parent": c.Parent, "Priority": c.Priority, "Next": c.Next, "Keep-Alive": c.KeepAlive} {
		if text != "" {
			h.Set("X-Dure-"+name, text)
		}
	}
	if c.DeadlineMS != 0 {
		h.Set("X-Dure-Deadline-Ms", strconv.Itoa(c.DeadlineMS))
	}
	if c.PinPrefix {
		h.Set("X-Dure-Pin-Prefix", "true")
	}
}

// messagesBody is the body of POST /v1/messages.
type messagesBody struct {
	Model       string        `json:"model"`
	MaxTokens   int           `json:"max_tokens"`
	Stream      bool          `json:"stream"`
	Temperature *float32      `json:"temperature,omitempty"`
	TopP        *float32      `json:"top_p,omitempty"`
	TopK        int           `json:"top_k,omitempty"`
	Stop        []string      `json:"stop_sequences,omitempty"`
	Thinking    *thinkingWish `json:"thinking,omitempty"`
	Output      *outputWish   `json:"output_config,omitempty"`
	Choice      *choiceWish   `json:"tool_choice,omitempty"`
	Tools       []toolWish    `json:"tools,omitempty"`
	System      []block       `json:"system,omitempty"`
	Messages    []turn        `json:"messages"`
}

type thinkingWish struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens,omitempty"`
	// Display asks that what is thought is told: who reviews an agent reads it.
	Display string `json:"display,omitempty"`
}

type outputWish struct {
	Effort inference.Effort `json:"effort,omitempty"`
	Format *formatWish      `json:"format,omitempty"`
}

type formatWish struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type choiceWish struct {
	Type   string `json:"type"`
	Name   string `json:"name,omitempty"`
	Single bool   `json:"disable_parallel_tool_use,omitempty"`
}

type toolWish struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Strict      bool            `json:"strict,omitempty"`
	Cache       *cacheMark      `json:"cache_control,omitempty"`
}

// cacheMark asks that what stands up to here is kept for the next request.
type cacheMark struct {
	Type string `json:"type"`
}

var ephemeral = &cacheMark{"ephemeral"}

// noParameters is the schema of a tool that takes none.
var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

// encode implements wire.
func (a *anthropic) encode(at *Endpoint, req *inference.Request) (path string, body []byte, err error) {
	if err := anthropicCan(req); err != nil {
		return "", nil, err
	}
	b := messagesBody{Model: at.Model, MaxTokens: req.Params.MaxTokens, Stream: true, TopK: req.Params.TopK, Stop: req.Params.Stop, Choice: newChoice(req)}
	if b.MaxTokens == 0 {
		b.MaxTokens = at.MaxTokens
	}
	if b.MaxTokens == 0 {
		return "", nil, &inference.Error{Code: inference.CodeInvalidRequest, Param: "max_tokens",
			Message: "Anthropic's API wants a limit on the answer's length: set max_tokens, of the request or of the endpoint"}
	}
	b.think(at.reasoning(req))
	if p := req.Params; b.Thinking != nil && p.Temperature != 1 {
		return "", nil, unsupported("temperature", "Anthropic's API thinks at temperature 1 only, not at %g; set it to 1, or let the model not think", p.Temperature)
	}
	// The defaults are not sent: newer models take no other, and not both.
	if t := req.Params.Temperature; t != 1 {
		b.Temperature = &t
	}
	if p := req.Params.TopP; p > 0 && p < 1 {
		b.TopP = &p
	}
	if f := req.Format; f != nil {
		b.output().Format = &formatWish{"json_schema", f.Schema}
	}
	for _, t := range req.Tools {
		w := toolWish{Name: t.Name, Description: t.Description, Schema: t.Parameters, Strict: t.Strict}
		if w.Schema == nil {
			w.Schema = noParameters
		}
		b.Tools = append(b.Tools, w)
	}
	if b.System, b.Messages, err = a.conversation(req.Messages); err != nil {
		return "", nil, err
	}
	if !at.Own { // dure keeps prefixes without it, and would pin them for good
		b.mark(req.Caller)
	}
	body, err = marshal(b)
	return "/messages", body, err
}

// anthropicCan refuses what the API has no words for.
func anthropicCan(req *inference.Request) error {
	p := req.Params
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"prompt", req.Prompt != nil}, {"min_p", p.MinP != 0}, {"typical_p", p.TypicalP != 0 && p.TypicalP != 1}, {"seed", p.Seed != 0},
		{"logit_bias", len(p.LogitBias) > 0}, {"repeat_penalty", p.Penalties.Repeat != 0 && p.Penalties.Repeat != 1},
		{"frequency_penalty", p.Penalties.Frequency != 0}, {"presence_penalty", p.Penalties.Presence != 0}, {"dry_multiplier", p.DRY.Multiplier != 0},
		{"xtc_probability", p.XTC.Probability != 0}, {"mirostat", p.Mirostat.Version != 0}, {"ignore_eos", p.IgnoreEOS}, {"logprobs", p.Logprobs},
		{"grammar", req.Format != nil && req.Format.Grammar != ""}, {"response_format", req.Format != nil && req.Format.Schema == nil && req.Format.Grammar == ""},
	} {
		if f.given {
			return unsupported(f.name, "Anthropic's API has no %s; leave it out", f.name)
		}
	}
	return nil
}

// think asks for thinking. Where nothing is said there is none.
func (b *messagesBody) think(r inference.Reasoning) {
	switch {
	case r.Effort == inference.EffortNone || r == (inference.Reasoning{}):
		return
	case r.Budget > 0:
		b.Thinking = &thinkingWish{Type: "enabled", Budget: r.Budget}
	default:
		b.Thinking = &thinkingWish{Type: "adaptive", Display: "summarized"}
	}
	if r.Effort != "" {
		b.output().Effort = effortOf(r.Effort)
	}
}

// effortOf is an effort that the API knows: its least is low.
func effortOf(e inference.Effort) inference.Effort {
	if e == inference.EffortMinimal {
		return inference.EffortLow
	}
	return e
}

func (b *messagesBody) output() *outputWish {
	if b.Output == nil {
		b.Output = &outputWish{}
	}
	return b.Output
}

func newChoice(req *inference.Request) *choiceWish {
	c := req.ToolChoice
	w := &choiceWish{Single: c.Single, Name: c.Name}
	switch {
	case c.Name != "":
		w.Type = "tool"
	case c.Mode == inference.ToolRequired:
		w.Type = "any"
	case c.Mode == inference.ToolNone:
		w.Type, w.Single = "none", false
	case c.Mode == inference.ToolAuto, c.Single:
		w.Type = "auto"
	default:
		return nil
	}
	return w
}

// mark says what the endpoint is to keep: the stable prefix of a conversation that goes
// on, and all of it where another turn is to come. It also marks where the last request
// ended, since a long turn in between hides that place.
func (b *messagesBody) mark(c inference.Caller) {
	if c.Session == "" && !c.PinPrefix {
		return
	}
	switch {
	case len(b.System) > 0:
		b.System[len(b.System)-1].Cache = ephemeral
	case len(b.Tools) > 0:
		b.Tools[len(b.Tools)-1].Cache = ephemeral
	}
	if c.Next == inference.PhaseEnded {
		return
	}
	marked := 0
	for i := len(b.Messages) - 1; i >= 0 && marked < 2; i-- {
		t := &b.Messages[i]
		if t.Role == inference.RoleUser || i == len(b.Messages)-1 {
			if last := &t.Content[len(t.Content)-1]; last.Type != "thinking" && last.Type != "redacted_thinking" {
				last.Cache = ephemeral
				marked++
			}
		}
	}
}

// callID is a call's name with the characters that the API takes, and different for
// different names.
func callID(id string) string {
	var b strings.Builder
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
			b.WriteByte(c)
		default:
			const hex = "0123456789abcdef"
			b.Write([]byte{'_', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
