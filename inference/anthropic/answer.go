package anthropic

import (
	"encoding/json"
	"strconv"

	"dure/inference"
	"dure/inference/front"
)

// Signature stands where Anthropic's API signs thinking. It says nothing.
const Signature = "unsigned"

// message is an answer in the making.
type message struct {
	x      *front.Exchange
	model  string
	hidden bool // thinking is not shown
}

// wire is a message, whole or as a stream begins it.
type wire struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"` // "message"
	Role     string   `json:"role"` // "assistant"
	Model    string   `json:"model"`
	Content  []any    `json:"content"`
	Reason   *string  `json:"stop_reason"`
	Stop     *string  `json:"stop_sequence"`
	Usage    usage    `json:"usage"`
	Warnings []string `json:"warnings,omitempty"` // not Anthropic's
}

// usage counts the tokens of the prompt in two parts, those that were read and those
// that were not read again.
type usage struct {
	Input   int `json:"input_tokens"`
	Created int `json:"cache_creation_input_tokens"`
	Cached  int `json:"cache_read_input_tokens"`
	Output  int `json:"output_tokens"`
	// Details are there where the model thought.
	Details *usageDetails `json:"output_tokens_details,omitempty"`
}

type usageDetails struct {
	Thinking int `json:"thinking_tokens"`
}

func wireUsage(u inference.Usage) usage {
	w := usage{Input: u.PromptTokens - u.CachedTokens, Cached: u.CachedTokens, Output: u.CompletionTokens}
	if u.ReasoningTokens > 0 {
		w.Details = &usageDetails{u.ReasoningTokens}
	}
	return w
}

func (m *message) begin(u inference.Usage) wire {
	return wire{ID: "msg_" + m.x.ID(), Type: "message", Role: inference.RoleAssistant, Model: m.model, Content: []any{}, Usage: wireUsage(u)}
}

// reason is why an answer ended, in that API's words, and the stop string if one did.
func reason(c *front.Choice) (reason, stop *string) {
	word := string(c.Finish)
	switch c.Finish {
	case inference.FinishStop:
		if word = "end_turn"; c.Stop != "" {
			word, stop = "stop_sequence", &c.Stop
		}
	case inference.FinishLength:
		word = "max_tokens"
	case inference.FinishToolCalls:
		word = "tool_use"
	}
	return &word, stop
}

// The blocks of an answer.
type (
	textBlock struct {
		Type string `json:"type"` // "text"
		Text string `json:"text"`
	}
	thinkingBlock struct {
		Type      string `json:"type"` // "thinking"
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}
	toolBlock struct {
		Type  string          `json:"type"` // "tool_use"
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
)

// emptyInput is what a call has before its arguments, and where they were cut off.
var emptyInput = json.RawMessage("{}")

// whole collects an answer that is sent in one piece.
type whole struct {
	*message
	blocks []any
	choice *front.Choice
}

// Start implements front.Answer.
func (a *whole) Start(dst []byte, c *front.Choice) ([]byte, error) {
	a.choice = c
	return dst, nil
}

// Event implements front.Answer.
func (a *whole) Event(dst []byte, _ *front.Choice, ev inference.Event) ([]byte, error) {
	var last any
	if n := len(a.blocks); n > 0 {
		last = a.blocks[n-1]
	}
	switch ev.Kind {
	case inference.EventReasoning:
		if a.hidden {
			ev.Text = ""
		}
		if b, ok := last.(*thinkingBlock); ok {
			b.Thinking += ev.Text
			return dst, nil
		}
		a.blocks = append(a.blocks, &thinkingBlock{"thinking", ev.Text, Signature})
	case inference.EventToolCall:
		if b, ok := last.(*toolBlock); ok && ev.Call.ID == "" {
			b.Input = append(b.Input, ev.Call.Arguments...)
			return dst, nil
		}
		a.blocks = append(a.blocks, &toolBlock{"tool_use", ev.Call.ID, ev.Call.Name, json.RawMessage(ev.Call.Arguments)})
	default:
		if b, ok := last.(*textBlock); ok {
			b.Text += ev.Text
			return dst, nil
		}
		if ev.Text != "" {
			a.blocks = append(a.blocks, &textBlock{"text", ev.Text})
		}
	}
	return dst, nil
}

// End implements front.Answer.
func (a *whole) End(dst []byte, _ *front.Choice, _ bool) ([]byte, error) { return dst, nil }

// Done implements front.Answer.
func (a *whole) Done(dst []byte, u inference.Usage) ([]byte, error) {
	w := a.begin(u)
	for _, b := range a.blocks {
		// A call that a limit cut off has no JSON, and nobody is to carry out half a call.
		if t, ok := b.(*toolBlock); ok && !json.Valid(t.Input) {
			continue
		}
		w.Content = append(w.Content, b)
	}
	w.Reason, w.Stop = reason(a.choice)
	w.Warnings = a.x.Warnings()
	return front.AppendJSON(dst, w)
}

// stream encodes an answer as events.
type stream struct {
	*message
	block  int // index of the one that is open, or comes next
	open   blockKind
	call   int    // index of the call that is open
	prefix []byte // of an event with a piece of the open block's text
}

// blockKind is what block of a stream is open; empty for none.
type blockKind string

// The kinds, which are the names of their pieces of text.
const (
	blockText     blockKind = "text"
	blockThinking blockKind = "thinking"
	blockTool     blockKind = "input_json"
)

// pieces are the types and members of a piece of text, by kind of block.
var pieces = map[blockKind][2]string{
	blockText: {"text_delta", "text"}, blockThinking: {"thinking_delta", "thinking"}, blockTool: {"input_json_delta", "partial_json"},
}

type event struct {
	Type    string `json:"type"`
	Index   *int   `json:"index,omitempty"`
	Message *wire  `json:"message,omitempty"`
	Block   any    `json:"content_block,omitempty"`
	Delta   any    `json:"delta,omitempty"`
	Usage   *usage `json:"usage,omitempty"`
	// Warnings are not Anthropic's.
	Warnings []string `json:"warnings,omitempty"`
}

func (s *stream) send(dst []byte, e event) ([]byte, error) {
	return front.AppendNamedEvent(dst, e.Type, e)
}

// Start implements front.Answer.
func (s *stream) Start(dst []byte, c *front.Choice) ([]byte, error) {
	w := s.begin(c.Usage)
	return s.send(dst, event{Type: "message_start", Message: &w})
}

// Event implements front.Answer. Pieces of text are the path of a token.
func (s *stream) Event(dst []byte, _ *front.Choice, ev inference.Event) (_ []byte, err error) {
	text := ev.Text
	switch ev.Kind {
	case inference.EventReasoning:
		if dst, err = s.enter(dst, blockThinking, thinkingBlock{Type: "thinking"}, false); s.hidden {
			text = ""
		}
	case inference.EventToolCall:
		text = ev.Call.Arguments
		fresh := s.open != blockTool || ev.Call.Index != s.call
		s.call = ev.Call.Index
		dst, err = s.enter(dst, blockTool, toolBlock{"tool_use", ev.Call.ID, ev.Call.Name, emptyInput}, fresh)
	default:
		if text == "" {
			return dst, nil
		}
		dst, err = s.enter(dst, blockText, textBlock{Type: "text"}, false)
	}
	if err != nil || text == "" {
		return dst, err
	}
	dst = append(dst, s.prefix...)
	dst = front.AppendString(dst, text)
	return append(dst, "}}\n\n"...), nil
}

// enter opens a block unless it is open, and fresh ones in any case.
func (s *stream) enter(dst []byte, kind blockKind, block any, fresh bool) (_ []byte, err error) {
	if s.open == kind && !fresh {
		return dst, nil
	}
	if dst, err = s.leave(dst); err != nil {
		return dst, err
	}
	s.open = kind
	p := pieces[kind]
	s.prefix = append(s.prefix[:0], "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	s.prefix = strconv.AppendInt(s.prefix, int64(s.block), 10)
	s.prefix = append(s.prefix, `,"delta":{"type":"`+p[0]+`","`+p[1]+`":`...)
	return s.send(dst, event{Type: "content_block_start", Index: new(s.block), Block: block})
}

// leave closes the block that is open.
func (s *stream) leave(dst []byte) (_ []byte, err error) {
	if s.open == "" {
		return dst, nil
	}
	if s.open == blockThinking {
		signed := map[string]string{"type": "signature_delta", "signature": Signature}
		if dst, err = s.send(dst, event{Type: "content_block_delta", Index: new(s.block), Delta: signed}); err != nil {
			return dst, err
		}
	}
	dst, err = s.send(dst, event{Type: "content_block_stop", Index: new(s.block)})
	s.open, s.block = "", s.block+1
	return dst, err
}

// End implements front.Answer.
func (s *stream) End(dst []byte, c *front.Choice, _ bool) ([]byte, error) {
	dst, err := s.leave(dst)
	if err != nil {
		return dst, err
	}
	u := wireUsage(c.Usage)
	var delta struct {
		Reason *string `json:"stop_reason"`
		Stop   *string `json:"stop_sequence"`
	}
	delta.Reason, delta.Stop = reason(c)
	return s.send(dst, event{Type: "message_delta", Delta: delta, Usage: &u, Warnings: s.x.Warnings()})
}

// Done implements front.Answer.
func (s *stream) Done(dst []byte, _ inference.Usage) ([]byte, error) {
	return s.send(dst, event{Type: "message_stop"})
}
