package openai

import (
	"net/http"

	"dure/inference"
	"dure/inference/front"
)

// Surface is what clients of OpenAI's API speak.
func Surface(s *Responses) front.Surface {
	return front.Surface{
		Routes: append([]front.Route{
			{Method: "GET", Path: "/v1/models", Doc: "the models that can be asked for", Handle: listModels},
			{Method: "GET", Path: "/v1/models/{id}", Doc: "one model", Handle: showModel},
			{Method: "POST", Path: "/v1/chat/completions", MaxBody: front.MaxBody,
				Doc: "answer a conversation, whole or as a stream", Handle: chat},
			{Method: "POST", Path: "/v1/completions", MaxBody: front.MaxBody,
				Doc: "continue texts or tokens, whole or as a stream", Handle: textCompletion},
			{Method: "POST", Path: "/v1/embeddings", MaxBody: front.MaxBody, Doc: "the vectors of texts or tokens", Handle: embeddings},
			{Method: "POST", Path: "/v1/rerank", MaxBody: front.MaxBody, Doc: "how well documents answer a query, the best first", Handle: rerank},
			{Method: "POST", Path: "/v1/tokenize", MaxBody: front.MaxBody, Doc: "the tokens of a text", Handle: tokenize},
			{Method: "POST", Path: "/v1/detokenize", MaxBody: front.MaxBody, Doc: "the text of tokens", Handle: detokenize},
			{Method: "POST", Path: "/v1/apply-template", MaxBody: front.MaxBody,
				Doc: "the prompt that a conversation becomes", Handle: applyTemplate},
			{Method: "POST", Path: "/v1/dure/explain", MaxBody: front.MaxBody,
				Doc: "what a chat request becomes: its text, its tokens, what of them is cached, and where it leaves the session's last prompt", Handle: explain},
		}, s.routes()...),
		Fail: func(_ *front.Exchange, f *front.Failure) any { return wireFailure(f) },
	}
}

// Types of OpenAI's error object.
const (
	kindInvalid = "invalid_request_error"
	kindLimit   = "rate_limit_error"
	kindServer  = "server_error"
)

// kindOf is the type of a failure. What this server was not made for is the fault
// of whoever asks for it.
func kindOf(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return kindLimit
	case status >= http.StatusInternalServerError && status != http.StatusNotImplemented:
		return kindServer
	}
	return kindInvalid
}

func wireFailure(f *front.Failure) errorBody {
	e := errorBody{errorObject{Message: f.Message, Type: kindOf(f.Status), Code: f.Code}}
	if f.Param != "" {
		e.Error.Param = &f.Param
	}
	return e
}

// noTokenizer is the error for a model whose tokens are not at hand.
func noTokenizer(name, param, fix string) error {
	err := inference.Errorf(inference.CodeUnsupported,
		"%s: the model %s runs elsewhere and its tokens are not at hand; %s", param, name, fix)
	err.Param = param
	return err
}
