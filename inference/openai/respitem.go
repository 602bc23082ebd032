package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"dure/inference"
	"dure/inference/front/strict"
)

// The types of items.
const (
	itemMessage   = "message"
	itemReasoning = "reasoning"
	itemCall      = "function_call"
	itemOutput    = "function_call_output"
	itemReference = "item_reference"
)

var itemTypes = []string{itemMessage, itemReasoning, itemCall, itemOutput, itemReference}

// Statuses of items and responses.
const (
	statusQueued     = "queued"
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
	statusCancelled  = "cancelled"
)

// item is a step of a conversation in the form of the Responses API: what a client
// sends, what it gets and what is kept. Which members count depends on Type.
type item struct {
	Type      string     `json:"type"`
	ID        string     `json:"id"`
	Status    string     `json:"status"`
	Role      string     `json:"role"`
	Content   []itemPart `json:"content"`
	Summary   []itemPart `json:"summary"`
	Encrypted string     `json:"encrypted_content"`
	CallID    string     `json:"call_id"`
	Name      string     `json:"name"`
	Namespace string     `json:"namespace"` // that Name is in; empty for none
	Arguments string     `json:"arguments"`
	Output    string     `json:"output"`
}

// itemPart is a text of a message or of reasoning. Only those of an answer have
// annotations, of which there are none here, and logprobs.
type itemPart struct {
	Type        string         `json:"type"`
	Text        string         `json:"text"`
	Annotations *[]struct{}    `json:"annotations,omitempty"`
	Logprobs    *[]chatLogprob `json:"logprobs,omitempty"`
}

// The types of parts.
const (
	partInput     = "input_text"
	partOutput    = "output_text"
	partReasoning = "reasoning_text"
	partSummary   = "summary_text"
)

// newPart is a part of an answer.
func newPart(kind, text string, tokens []placed) itemPart {
	p := itemPart{Type: kind, Text: text}
	if kind == partOutput {
		p.Annotations = &[]struct{}{}
		p.Logprobs = &newChatLogprobs(tokens).Content
	}
	return p
}

// MarshalJSON implements json.Marshaler: each type has members of its own.
func (it item) MarshalJSON() ([]byte, error) {
	head := itemHead{it.ID, it.Type, it.Status}
	switch it.Type {
	case itemMessage:
		return json.Marshal(struct {
			itemHead
			Role    string     `json:"role"`
			Content []itemPart `json:"content"`
		}{head, it.Role, listed(it.Content)})
	case itemReasoning:
		return json.Marshal(struct {
			itemHead
			Summary   []itemPart `json:"summary"`
			Content   []itemPart `json:"content,omitempty"`
			Encrypted string     `json:"encrypted_content,omitempty"`
		}{head, listed(it.Summary), it.Content, it.Encrypted})
	case itemCall:
		return json.Marshal(struct {
			itemHead
			Arguments string `json:"arguments"`
			CallID    string `json:"call_id"`
			Name      string `json:"name"`
			Namespace string `json:"namespace,omitempty"`
		}{head, it.Arguments, it.CallID, it.Name, it.Namespace})
	case itemOutput:
		return json.Marshal(struct {
			itemHead
			CallID string `json:"call_id"`
			Output string `json:"output"`
		}{head, it.CallID, it.Output})
	}
	return json.Marshal(head)
}

// itemHead is what all items have.
type itemHead struct {
	ID     string `json:"id,omitempty"`
	Type   string `json:"type"`
	Status string `json:"status,omitempty"`
}

// listed is a list that is written as one also where it is empty.
func listed[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// text is that of all parts.
func text(parts []itemPart) string {
	all := make([]string, len(parts))
	for i, p := range parts {
		all[i] = p.Text
	}
	return strings.Join(all, partSeparator)
}

// plainPrefix begins reasoning in encrypted_content. Nothing is secret here: the member
// is there for clients that send back nothing else.
const plainPrefix = "plain:"

func encodeReasoning(text string) string {
	return plainPrefix + base64.StdEncoding.EncodeToString([]byte(text))
}

func decodeReasoning(encrypted string) (string, bool) {
	coded, ok := strings.CutPrefix(encrypted, plainPrefix)
	text, err := base64.StdEncoding.DecodeString(coded)
	return string(text), ok && err == nil
}

// thoughts are the text of reasoning, from wherever it stands.
func (it *item) thoughts() string {
	if len(it.Content) > 0 {
		return text(it.Content)
	}
	if text, ok := decodeReasoning(it.Encrypted); ok {
		return text
	}
	return text(it.Summary)
}

// conversation turns items into messages. The items of one turn of an assistant, which
// are reasoning, a text and calls in this order, become one message: as a model said
// them. Of the items, those before the given index are not blamed.
func conversation(items []item, from int) ([]inference.Message, error) {
	var all []inference.Message
	var last *inference.Message // of an assistant whose turn goes on
	names := map[string]string{}
	turn := func(fits func(*inference.Message) bool) *inference.Message {
		if last == nil || !fits(last) {
			all = append(all, inference.Message{Role: inference.RoleAssistant})
			last = &all[len(all)-1]
		}
		return last
	}
	for i := range items {
		switch it := &items[i]; it.Type {
		case itemReasoning:
			m := turn(func(m *inference.Message) bool { return m.Content == "" && m.ToolCalls == nil })
			if m.Reasoning != "" {
				m.Reasoning += partSeparator
			}
			m.Reasoning += it.thoughts()
		case itemCall:
			m := turn(func(*inference.Message) bool { return true })
			name := spaced{it.Namespace, it.Name}.join()
			m.ToolCalls = append(m.ToolCalls, inference.ToolCall{ID: it.CallID, Name: name, Arguments: it.Arguments})
			names[it.CallID] = name
		case itemOutput:
			name, ok := names[it.CallID]
			if !ok && i >= from {
				return nil, strict.At(fmt.Sprintf("input[%d].call_id", i-from)).
					Invalid("there is no function_call with the call_id %q before it", strict.Clip(it.CallID))
			}
			last, all = nil, append(all, inference.Message{Role: inference.RoleTool, Content: it.Output, ToolCallID: it.CallID, Name: name})
		default:
			if role := roles[it.Role]; role != inference.RoleAssistant {
				last, all = nil, append(all, inference.Message{Role: role, Content: text(it.Content)})
				continue
			}
			m := turn(func(m *inference.Message) bool { return m.Content == "" && m.ToolCalls == nil })
			m.Content = text(it.Content)
		}
	}
	return all, nil
}
