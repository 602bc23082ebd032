package openai

import (
	"encoding/json"

	"dure/inference"
)

// response is the object that the Responses API is about. Members that OpenAI does not
// have are "warnings" and usage's "dure".
type response struct {
	ID           string            `json:"id"`
	Object       string            `json:"object"` // "response"
	Created      int64             `json:"created_at"`
	Status       string            `json:"status"`
	Background   bool              `json:"background"`
	Completed    *int64            `json:"completed_at"`
	Error        *respError        `json:"error"`
	Incomplete   *incomplete       `json:"incomplete_details"`
	Instructions *string           `json:"instructions"`
	MaxOutput    *int              `json:"max_output_tokens"`
	MaxCalls     *int              `json:"max_tool_calls"`
	Model        string            `json:"model"`
	Output       []item            `json:"output"`
	Parallel     bool              `json:"parallel_tool_calls"`
	Previous     *string           `json:"previous_response_id"`
	CacheKey     *string           `json:"prompt_cache_key"`
	Reasoning    respReasoning     `json:"reasoning"`
	Safety       *string           `json:"safety_identifier"`
	Tier         string            `json:"service_tier"` // "default"
	Store        bool              `json:"store"`
	Temperature  float32           `json:"temperature"`
	Text         textForm          `json:"text"`
	ToolChoice   any               `json:"tool_choice"`
	Tools        []wireTool        `json:"tools"`
	TopLogprobs  int               `json:"top_logprobs"`
	TopP         float32           `json:"top_p"`
	Truncation   string            `json:"truncation"` // "disabled"
	Usage        *respUsage        `json:"usage"`
	User         *string           `json:"user"`
	Metadata     map[string]string `json:"metadata"`
	Warnings     []string          `json:"warnings,omitempty"`
}

type respError struct {
	Code    inference.Code `json:"code"`
	Message string         `json:"message"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type respReasoning struct {
	Effort  *inference.Effort `json:"effort"`
	Summary *string           `json:"summary"`
}

type textForm struct {
	Format    flatFormat `json:"format"`
	Verbosity string     `json:"verbosity"` // "medium"
}

type flatFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
	Strict bool            `json:"strict,omitempty"`
}

// flatFunction is a tool; as a choice of one it has no more than its name.
type flatFunction struct {
	Type        string          `json:"type"` // "function"
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type namedFunction struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

type allowedChoice struct {
	Type  string          `json:"type"` // choiceAllowed
	Mode  string          `json:"mode"`
	Tools []namedFunction `json:"tools"`
}

type respUsage struct {
	Input        int          `json:"input_tokens"`
	InputDetails inputDetails `json:"input_tokens_details"`
	Output       int          `json:"output_tokens"`
	Details      answerTokens `json:"output_tokens_details"`
	Total        int          `json:"total_tokens"`
	Dure         usageDure    `json:"dure"`
}

type inputDetails struct {
	Cached int `json:"cached_tokens"`
	// Written tokens are a price at OpenAI; here every token that is read is kept.
	Written int `json:"cache_write_tokens"`
}

type answerTokens struct {
	Reasoning int `json:"reasoning_tokens"`
}

func newRespUsage(u inference.Usage, seed uint64) *respUsage {
	w := wireUsage(u, seed)
	return &respUsage{Input: w.Prompt, InputDetails: inputDetails{Cached: w.Details.Cached}, Output: w.Completion,
		Details: answerTokens{w.Answer.Reasoning}, Total: w.Total, Dure: w.Dure}
}

// newResponse is the response to a request before there is anything of it.
func newResponse(r *respRequest, id, model string, created int64, p inference.Params) response {
	o := response{ID: id, Object: "response", Created: created, Status: statusInProgress, Background: r.background, Model: model, Output: []item{},
		MaxCalls: r.maxCalls, Parallel: !r.wishes.choice.Single, Safety: r.safety, Tier: "default", Store: !r.unkept, Temperature: p.Temperature,
		Text: textForm{newFlatFormat(r), "medium"}, ToolChoice: r.wishes.wireChoice(), Tools: listed(r.shown), TopLogprobs: r.topLogprobs,
		TopP: p.TopP, Truncation: "disabled", User: r.user, Metadata: r.metadata}
	if p.MaxTokens > 0 {
		o.MaxOutput = &p.MaxTokens
	}
	if e := r.wishes.reasoning.Effort; e != "" {
		o.Reasoning.Effort = &e
	}
	for to, s := range map[**string]string{&o.Instructions: r.instructions, &o.Previous: r.previous, &o.CacheKey: r.cacheKey, &o.Reasoning.Summary: r.summary} {
		if s != "" {
			*to = &s
		}
	}
	if o.Metadata == nil {
		o.Metadata = map[string]string{}
	}
	return o
}

func newFlatFormat(r *respRequest) flatFormat {
	switch f := r.wishes.format; {
	case f == nil:
		return flatFormat{Type: "text"}
	case f.Grammar != "":
		return flatFormat{Type: "grammar"} // llama-server's, which OpenAI has no word for
	case f.Schema == nil:
		return flatFormat{Type: "json_object"}
	default:
		return flatFormat{Type: "json_schema", Name: r.formatName, Schema: f.Schema, Strict: true}
	}
}

// wireChoice is the choice of tools in the form in which it was sent.
func (w *wishes) wireChoice() any {
	switch {
	case w.allowed != nil:
		c := allowedChoice{Type: choiceAllowed, Mode: string(w.choice.Mode)}
		for _, name := range w.allowed {
			c.Tools = append(c.Tools, namedFunction{"function", name})
		}
		return c
	case w.choice.Name != "":
		return namedFunction{"function", w.choice.Name}
	case w.choice.Mode == "":
		return inference.ToolAuto
	}
	return w.choice.Mode
}
