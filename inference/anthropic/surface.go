package anthropic

import (
	"net/http"

	"dure/inference"
	"dure/inference/front"
)

// versionHeader is sent by all clients of this API, and by no others.
const versionHeader = "Anthropic-Version"

// Surface is what clients of Anthropic's API speak.
func Surface() front.Surface {
	return front.Surface{
		Prefix: "/v1/messages",
		Routes: []front.Route{
			{Method: "POST", Path: "/v1/messages", MaxBody: front.MaxBody,
				Doc: "answer a conversation in Anthropic's form, whole or as a stream", Handle: messages},
			{Method: "POST", Path: "/v1/messages/count_tokens", MaxBody: front.MaxBody,
				Doc: "how many tokens a conversation has", Handle: countTokens},
			{Method: "GET", Path: "/v1/models", Header: versionHeader, Doc: "the models, in Anthropic's form", Handle: listModels},
			{Method: "GET", Path: "/v1/models/{id}", Header: versionHeader, Doc: "one model, in Anthropic's form", Handle: showModel},
		},
		Fail: func(x *front.Exchange, f *front.Failure) any {
			x.Header().Set("Request-Id", x.ID())
			return wireFailure(x.ID(), f)
		},
	}
}

type errorBody struct {
	Type      string      `json:"type"` // "error"
	Error     errorObject `json:"error"`
	RequestID string      `json:"request_id"`
}

type errorObject struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	// Param and Code are not Anthropic's: the path of the field at fault, and what is
	// wrong in this server's words.
	Param string         `json:"param,omitempty"`
	Code  inference.Code `json:"code,omitempty"`
	// Details are Anthropic's, of failures that clients do something about.
	Details *errorDetails `json:"details,omitempty"`
}

type errorDetails struct {
	Code        string   `json:"error_code"`
	Unsupported []string `json:"unsupported"`
}

// failureDetails makes clients that wanted a thread go on without: they then send the
// whole conversation each time.
func failureDetails(f *front.Failure) *errorDetails {
	if f.Code == inference.CodeUnsupported && f.Param == "thread" {
		return &errorDetails{"thread_unsupported_request", []string{"thread"}}
	}
	return nil
}

func wireFailure(id string, f *front.Failure) errorBody {
	return errorBody{Type: "error", Error: errorObject{Type: kindOf(f), Message: f.Message, Param: f.Param, Code: f.Code, Details: failureDetails(f)}, RequestID: id}
}

// kindOf is the type of a failure, by its status as that API's reference has it.
func kindOf(f *front.Failure) string {
	switch f.Status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusServiceUnavailable:
		return "overloaded_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	}
	if f.Status >= http.StatusInternalServerError && f.Status != http.StatusNotImplemented {
		return "api_error"
	}
	return "invalid_request_error"
}
