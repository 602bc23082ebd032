package remote

import (
	"encoding/json"
	"fmt"
	"strings"

	"dure/inference"
)

// answer implements wire.
func (a *anthropic) answer(m *Model, req *inference.Request) answer {
	r := &reply{m: m, memory: a.memory, where: a.where, open: -1}
	if req.Reasoning.Effort == inference.EffortMinimal || req.Reasoning == (inference.Reasoning{}) && m.at.Reasoning.Effort == inference.EffortMinimal {
		r.warn("the least effort of Anthropic's API is low; minimal was taken for it")
	}
	return r
}

// reply reads the events of one message.
type reply struct {
	m      *Model
	memory *memory
	where  string

	usage    messageUsage
	begun    bool
	finish   inference.FinishReason
	stop     string
	warnings []inference.Warning

	open    int // index of the open block; -1 for none
	next    int // index of the block that comes next
	skipped bool
	blocks  []block // as they will be sent back
	calls   int
	piece   strings.Builder   // what the open block has said
	told    inference.Message // what the caller was told, of closed blocks
	signed  bool
}

// messageUsage counts tokens; what an event does not say stays as it was.
type messageUsage struct {
	Input   *int `json:"input_tokens"`
	Created *int `json:"cache_creation_input_tokens"`
	Cached  *int `json:"cache_read_input_tokens"`
	Output  *int `json:"output_tokens"`
	Details struct {
		Thinking *int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func (u *messageUsage) add(more messageUsage) {
	for to, from := range map[**int]*int{&u.Input: more.Input, &u.Created: more.Created, &u.Cached: more.Cached, &u.Output: more.Output, &u.Details.Thinking: more.Details.Thinking} {
		if from != nil {
			*to = from
		}
	}
}

// usage is the vocabulary's: the API counts a prompt in three parts, of which those that
// were written to the cache were read like the rest.
func (u *messageUsage) usage() *inference.Usage {
	at := func(p *int) int {
		if p == nil {
			return 0
		}
		return *p
	}
	return &inference.Usage{
		PromptTokens: at(u.Input) + at(u.Created) + at(u.Cached), CachedTokens: at(u.Cached), CacheWriteTokens: at(u.Created),
		CompletionTokens: at(u.Output), ReasoningTokens: at(u.Details.Thinking),
	}
}

// messageEvent is any event of a stream.
type messageEvent struct {
	Type    string `json:"type"`
	Index   *int   `json:"index"`
	Message struct {
		Usage messageUsage `json:"usage"`
	} `json:"message"`
	Block *block `json:"content_block"`
	Delta struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		JSON      string `json:"partial_json"`
		Reason    string `json:"stop_reason"`
		Stop      string `json:"stop_sequence"`
	} `json:"delta"`
	Usage    messageUsage `json:"usage"`
	Error    *wireError   `json:"error"`
	Warnings []string     `json:"warnings"` // of another dure server
}

// take implements answer.
func (r *reply) take(data []byte) ([]inference.Event, error) {
	var e messageEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, r.m.errorf(Garbled, "sent an event that cannot be read, %q: %v", r.m.excerpt(data, 80), err)
	}
	if e.Error != nil {
		return nil, r.m.said(*e.Error, 0)
	}
	if !r.begun && (strings.HasPrefix(e.Type, "content_block") || e.Type == "message_delta" || e.Type == "message_stop") {
		return nil, r.disorder(e.Type, "before message_start")
	}
	switch e.Type {
	case "message_start":
		r.begun = true
		r.usage.add(e.Message.Usage)
	case "content_block_start":
		return r.start(&e)
	case "content_block_delta":
		if e.Index == nil || *e.Index != r.open {
			return nil, r.disorder(e.Type, "of a block that is not open")
		}
		return r.delta(&e), nil
	case "content_block_stop":
		if e.Index == nil || *e.Index != r.open {
			return nil, r.disorder(e.Type, "of a block that is not open")
		}
		return r.close(), nil
	case "message_delta":
		r.usage.add(e.Usage)
		r.warnings = append(r.warnings, warningsOf(e.Warnings)...)
		return nil, r.ended(e.Delta.Reason, e.Delta.Stop)
	case "message_stop":
		return r.done()
	}
	return nil, nil // a ping, or a kind that is newer and that clients are to pass over
}

func (r *reply) disorder(what, how string) error {
	return r.m.errorf(Garbled, "sent the event %s %s", what, how)
}

func (r *reply) warn(format string, args ...any) {
	r.warnings = append(r.warnings, inference.Warning{Code: inference.CodeIgnored, Message: fmt.Sprintf(format, args...)})
}

// start opens a block.
func (r *reply) start(e *messageEvent) ([]inference.Event, error) {
	if r.open >= 0 || e.Index == nil || *e.Index != r.next || e.Block == nil {
		return nil, r.disorder(e.Type, "out of its order")
	}
	r.open, r.next, r.skipped = *e.Index, r.next+1, false
	r.piece.Reset()
	b := *e.Block
	begin := b.Text
	if b.Thinking != nil {
		begin = *b.Thinking
	}
	switch b.Type {
	case "text", "thinking":
		r.blocks = append(r.blocks, block{Type: b.Type, Signature: b.Signature})
		r.signed = r.signed || b.Signature != ""
		return r.say(begin), nil
	case "redacted_thinking":
		r.blocks = append(r.blocks, block{Type: b.Type, Data: b.Data})
		r.signed = true
	case "tool_use":
		r.blocks = append(r.blocks, block{Type: b.Type, Input: b.Input})
		r.told.ToolCalls = append(r.told.ToolCalls, inference.ToolCall{ID: b.ID, Name: b.Name})
		r.calls++
		return []inference.Event{{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{Index: r.calls - 1, ID: b.ID, Name: b.Name}}}, nil
	default:
		r.skipped = true
		r.warn("the answer has a part of the kind %q, which is passed over", r.m.excerpt([]byte(b.Type), 40))
	}
	return nil, nil
}

// say is a piece of the open block for the caller.
func (r *reply) say(text string) []inference.Event {
	if text == "" || r.skipped {
		return nil
	}
	r.piece.WriteString(text)
	switch r.blocks[len(r.blocks)-1].Type {
	case "thinking":
		return []inference.Event{{Kind: inference.EventReasoning, Text: text}}
	case "tool_use":
		return []inference.Event{{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{Index: r.calls - 1, Arguments: text}}}
	}
	return []inference.Event{{Kind: inference.EventText, Text: text}}
}

func (r *reply) delta(e *messageEvent) []inference.Event {
	switch e.Delta.Type {
	case "signature_delta":
		if !r.skipped {
			r.blocks[len(r.blocks)-1].Signature += e.Delta.Signature
			r.signed = true
		}
		return nil
	case "text_delta":
		return r.say(e.Delta.Text)
	case "thinking_delta":
		return r.say(e.Delta.Thinking)
	case "input_json_delta":
		return r.say(e.Delta.JSON)
	}
	return nil // such as citations, which the text does without
}

// close ends the open block. A call whose arguments came in no piece has those of its
// beginning.
func (r *reply) close() (all []inference.Event) {
	r.open = -1
	if r.skipped {
		return nil
	}
	b := &r.blocks[len(r.blocks)-1]
	if b.Type == "tool_use" && r.piece.Len() == 0 {
		begin := string(b.Input)
		if begin == "" {
			begin = "{}"
		}
		all = r.say(begin)
	}
	text := r.piece.String()
	switch b.Type {
	case "text":
		b.Text = text
		r.told.Content += text
	case "thinking":
		b.Thinking = &text
		r.told.Reasoning += text
	case "tool_use":
		r.told.ToolCalls[r.calls-1].Arguments = text
	}
	return all
}

// ended notes why the answer ended.
func (r *reply) ended(reason, stop string) error {
	switch reason {
	case "":
		return nil // a count, and more to come
	case "end_turn", "pause_turn":
		r.finish = inference.FinishStop
	case "stop_sequence":
		r.finish, r.stop = inference.FinishStop, stop
	case "max_tokens", "model_context_window_exceeded":
		r.finish = inference.FinishLength
	case "tool_use":
		r.finish = inference.FinishToolCalls
	case string(inference.FinishRepetition): // another dure server's
		r.finish = inference.FinishRepetition
	case "refusal":
		return r.m.errorf(Refused, "the model's maker let it not answer (stop reason refusal); ask differently")
	default:
		r.finish = inference.FinishStop
		r.warn("the answer ended for the reason %q, which is not known", r.m.excerpt([]byte(reason), 40))
	}
	return nil
}

func (r *reply) done() ([]inference.Event, error) {
	switch {
	case r.open >= 0:
		return nil, r.disorder("message_stop", "in the middle of a block")
	case r.finish == "":
		return nil, r.m.errorf(Garbled, "said that the answer is whole and not why it ended")
	}
	var proof json.RawMessage
	if r.signed {
		blocks := sendable(r.blocks)
		r.memory.keep(r.told, blocks)
		if proof = proofOf(r.where, r.told, blocks); len(proof) > maxProof {
			proof = nil
			r.warn("the thinking is too long to be proved after a restart")
		}
	}
	return []inference.Event{{Kind: inference.EventDone, Proof: proof, Finish: r.finish, Stop: r.stop, Usage: r.usage.usage(), Warnings: r.warnings}}, nil
}

// sendable are blocks without those that the API does not take back: empty text, and
// thinking without a signature.
func sendable(blocks []block) (all []block) {
	for _, b := range blocks {
		if b.Type == "text" && strings.TrimSpace(b.Text) == "" || b.Type == "thinking" && b.Signature == "" {
			continue
		}
		all = append(all, b)
	}
	return all
}
