package openai

import "dure/inference"

// The JSON shapes of answers, with the members in OpenAI's order. Members that
// OpenAI does not have are "dure" and "warnings".

type errorBody struct {
	Error errorObject `json:"error"`
}

type errorObject struct {
	Message string         `json:"message"`
	Type    string         `json:"type"`
	Param   *string        `json:"param"`
	Code    inference.Code `json:"code"`
}

type modelList struct {
	Object string        `json:"object"` // "list"
	Data   []modelObject `json:"data"`
}

type modelObject struct {
	ID      string    `json:"id"`
	Object  string    `json:"object"` // "model"
	Created int64     `json:"created"`
	OwnedBy string    `json:"owned_by"`
	Dure    modelDure `json:"dure"`
}

type modelDure struct {
	Role    string `json:"role,omitempty"`
	Default bool   `json:"default"`
	Loaded  bool   `json:"loaded"`
	Context int    `json:"context_tokens,omitempty"`
}

// completion is a whole answer, of either route.
type completion struct {
	head
	Choices  []any    `json:"choices"` // chatChoice or textChoice
	Usage    *usage   `json:"usage"`
	Warnings []string `json:"warnings,omitempty"`
}

// head opens a completion and every chunk of one.
type head struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	Model       string `json:"model"`
	Fingerprint string `json:"system_fingerprint"`
}

// chunk is one event of a streamed answer. Usage is absent unless the client
// asked for it; then it is null in all chunks but the last.
type chunk struct {
	head
	Choices  []any    `json:"choices"` // chatDelta or textChoice
	Usage    **usage  `json:"usage,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

type chatChoice struct {
	Index    int                    `json:"index"`
	Message  chatMessage            `json:"message"`
	Logprobs any                    `json:"logprobs"` // *chatLogprobs or null
	Finish   inference.FinishReason `json:"finish_reason"`
}

// chatMessage is an answer. Content is null where there are only calls.
type chatMessage struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	Refusal   *string    `json:"refusal"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

// toolCall is a call, whole or a piece; a piece has an index, and after the first of
// a call nothing but arguments.
type toolCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"` // "function"
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type chatDelta struct {
	Index    int                     `json:"index"`
	Delta    delta                   `json:"delta"`
	Logprobs any                     `json:"logprobs"`
	Finish   *inference.FinishReason `json:"finish_reason"`
}

type delta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning *string    `json:"reasoning_content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

// textChoice is a choice of a text completion, whole or a piece.
type textChoice struct {
	Text     string                  `json:"text"`
	Index    int                     `json:"index"`
	Logprobs any                     `json:"logprobs"` // *textLogprobs or null
	Finish   *inference.FinishReason `json:"finish_reason"`
}

type usage struct {
	Prompt     int           `json:"prompt_tokens"`
	Completion int           `json:"completion_tokens"`
	Total      int           `json:"total_tokens"`
	Details    promptDetails `json:"prompt_tokens_details"`
	Answer     answerDetails `json:"completion_tokens_details,omitzero"`
	Dure       usageDure     `json:"dure"`
}

type answerDetails struct {
	Reasoning int `json:"reasoning_tokens"`
}

type promptDetails struct {
	Cached int `json:"cached_tokens"`
}

// usageDure tells where the time of a request went, in milliseconds, summed over
// its choices; where its cached tokens came from, and why there were no more, of
// the choice that read most of its prompt anew; and the seed that was used for the first choice, in the range in
// which a request may send one.
type usageDure struct {
	QueueMS   float64 `json:"queue_ms"`
	RestoreMS float64 `json:"restore_ms"`
	PrefillMS float64 `json:"prefill_ms"`
	DecodeMS  float64 `json:"decode_ms"`
	// Drafted tokens were guesses that the model checked, beside the completion's;
	// accepted ones of those are in the completion.
	Drafted  int `json:"drafted_tokens,omitempty"`
	Accepted int `json:"accepted_tokens,omitempty"`
	// As in inference.PrefixUsage, whose members these are.
	Tier   string                 `json:"tier,omitempty"`
	Reason string                 `json:"reason,omitempty"`
	Break  *inference.PrefixBreak `json:"break,omitempty"`
	Seed   int64                  `json:"seed"`
}

func wireUsage(u inference.Usage, seed uint64) *usage {
	dure := usageDure{QueueMS: u.QueueMS, RestoreMS: u.RestoreMS, PrefillMS: u.PrefillMS, DecodeMS: u.DecodeMS, Drafted: u.DraftedTokens, Accepted: u.AcceptedTokens, Seed: int64(seed)}
	if p := u.Prefix; p != nil {
		dure.Tier, dure.Reason, dure.Break = p.Tier, p.Reason, p.Break
	}
	return &usage{
		Prompt:     u.PromptTokens,
		Completion: u.CompletionTokens,
		Total:      u.PromptTokens + u.CompletionTokens,
		Details:    promptDetails{Cached: u.CachedTokens},
		Answer:     answerDetails{Reasoning: u.ReasoningTokens},
		Dure:       dure,
	}
}
