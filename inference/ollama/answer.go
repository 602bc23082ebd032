package ollama

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"dure/inference"
	"dure/inference/front"
)

// piece is a line of an answer, or a whole one.
type piece struct {
	Model    string        `json:"model"`
	Created  time.Time     `json:"created_at"`
	Message  *wireMessage  `json:"message,omitempty"`  // of a chat
	Response *string       `json:"response,omitempty"` // of a prompt
	Thinking string        `json:"thinking,omitempty"` // of a prompt
	Logprobs []wireLogprob `json:"logprobs,omitempty"`
	Done     bool          `json:"done"`
	Reason   string        `json:"done_reason,omitempty"`
	*timings
	// Warnings are not Ollama's.
	Warnings []string `json:"warnings,omitempty"`
}

type wireMessage struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	Thinking  string     `json:"thinking,omitempty"`
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
}

type wireCall struct {
	ID       string       `json:"id"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// timings are in nanoseconds. A load is not told apart from the time in the queue.
type timings struct {
	Total          int64 `json:"total_duration"`
	Load           int64 `json:"load_duration"`
	PromptCount    int   `json:"prompt_eval_count"`
	PromptDuration int64 `json:"prompt_eval_duration"`
	Count          int   `json:"eval_count"`
	Duration       int64 `json:"eval_duration"`
}

type wireLogprob struct {
	wireToken
	Top []wireToken `json:"top_logprobs,omitempty"`
}

type wireToken struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

func newToken(c inference.Candidate) wireToken {
	w := wireToken{Token: strings.ToValidUTF8(string(c.Bytes), "\ufffd"), Logprob: c.Logprob, Bytes: make([]int, len(c.Bytes))}
	for i, b := range c.Bytes {
		w.Bytes[i] = int(b)
	}
	return w
}

func newLogprobs(all []inference.TokenLogprob) []wireLogprob {
	out := make([]wireLogprob, len(all))
	for i, l := range all {
		out[i].wireToken = newToken(l.Candidate)
		for _, t := range l.Top {
			out[i].Top = append(out[i].Top, newToken(t))
		}
	}
	return out
}

// sayer is what both ways to send an answer have in common.
type sayer struct {
	x        *front.Exchange
	model    string
	chat     bool
	logprobs bool
	calls    []wireCall // begun, in their order
	texts    []string   // their arguments so far
}

// piece is a line with some text, thinking or calls.
func (s *sayer) piece(text, thought string, calls []wireCall) piece {
	p := piece{Model: s.model, Created: time.Now().UTC()}
	if s.chat {
		p.Message = &wireMessage{Role: inference.RoleAssistant, Content: text, Thinking: thought, ToolCalls: calls}
	} else {
		p.Response, p.Thinking = &text, thought
	}
	return p
}

// take collects a piece of a call: this form has whole ones only.
func (s *sayer) take(c *inference.ToolCallDelta) error {
	switch {
	case c.Index == len(s.calls):
		s.calls = append(s.calls, wireCall{ID: c.ID, Function: wireFunction{Index: c.Index, Name: c.Name}})
		s.texts = append(s.texts, c.Arguments)
	case c.Index >= 0 && c.Index < len(s.calls):
		s.texts[c.Index] += c.Arguments
	default:
		return fmt.Errorf("the model's call %d comes behind %d others", c.Index, len(s.calls))
	}
	return nil
}

// from returns the calls from a place on with their arguments. One that a limit cut off
// has no JSON, and nobody is to carry out half a call: it is left out.
func (s *sayer) from(i int) (all []wireCall) {
	for k, c := range s.calls[i:] {
		if c.Function.Arguments = json.RawMessage(s.texts[i+k]); json.Valid(c.Function.Arguments) {
			all = append(all, c)
		}
	}
	return all
}

// finish fills in what the last line says.
func (s *sayer) finish(p *piece, c *front.Choice) {
	u := c.Usage
	p.Done, p.Reason = true, "stop"
	if c.Finish != inference.FinishStop && c.Finish != inference.FinishToolCalls {
		p.Reason = string(c.Finish)
	}
	p.timings = &timings{
		Total: int64(time.Since(s.x.Start())), PromptCount: u.PromptTokens, PromptDuration: nanoseconds(u.PrefillMS + u.RestoreMS),
		Count: u.CompletionTokens, Duration: nanoseconds(u.DecodeMS),
	}
	p.Warnings = s.x.Warnings()
}

// whole collects an answer that is sent in one piece.
type whole struct {
	*sayer
	text, thoughts strings.Builder
	tokens         []inference.TokenLogprob
	choice         *front.Choice
}

// Start implements front.Answer.
func (a *whole) Start(dst []byte, c *front.Choice) ([]byte, error) {
	a.choice = c
	return dst, nil
}

// Event implements front.Answer.
func (a *whole) Event(dst []byte, _ *front.Choice, ev inference.Event) ([]byte, error) {
	switch ev.Kind {
	case inference.EventToolCall:
		return dst, a.take(ev.Call)
	case inference.EventReasoning:
		a.thoughts.WriteString(ev.Text)
	default:
		a.text.WriteString(ev.Text)
		a.tokens = append(a.tokens, ev.Logprobs...)
	}
	return dst, nil
}

// End implements front.Answer.
func (a *whole) End(dst []byte, _ *front.Choice, _ bool) ([]byte, error) { return dst, nil }

// Done implements front.Answer.
func (a *whole) Done(dst []byte, _ inference.Usage) ([]byte, error) {
	p := a.piece(a.text.String(), a.thoughts.String(), a.from(0))
	if a.logprobs {
		p.Logprobs = newLogprobs(a.tokens)
	}
	a.finish(&p, a.choice)
	return front.AppendJSON(dst, p)
}

// stream sends a line for each piece of text, and one for each call.
type stream struct {
	*sayer
	sent int // calls
}

// Start implements front.Answer.
func (s *stream) Start(dst []byte, _ *front.Choice) ([]byte, error) { return dst, nil }

// Event implements front.Answer.
func (s *stream) Event(dst []byte, _ *front.Choice, ev inference.Event) ([]byte, error) {
	switch ev.Kind {
	case inference.EventToolCall:
		return dst, s.take(ev.Call)
	case inference.EventReasoning:
		return front.AppendLine(dst, s.piece("", ev.Text, nil))
	}
	dst, err := s.flush(dst)
	if err != nil {
		return dst, err
	}
	p := s.piece(ev.Text, "", nil)
	if s.logprobs {
		p.Logprobs = newLogprobs(ev.Logprobs)
	}
	return front.AppendLine(dst, p)
}

// flush sends the calls that are whole: what follows them has come.
func (s *stream) flush(dst []byte) ([]byte, error) {
	if s.sent == len(s.calls) {
		return dst, nil
	}
	calls := s.from(s.sent)
	if s.sent = len(s.calls); len(calls) == 0 {
		return dst, nil
	}
	return front.AppendLine(dst, s.piece("", "", calls))
}

// End implements front.Answer.
func (s *stream) End(dst []byte, c *front.Choice, _ bool) ([]byte, error) {
	dst, err := s.flush(dst)
	if err != nil {
		return dst, err
	}
	p := s.piece("", "", nil)
	s.finish(&p, c)
	return front.AppendLine(dst, p)
}

// Done implements front.Answer: the last line is out.
func (s *stream) Done(dst []byte, _ inference.Usage) ([]byte, error) { return dst, nil }
