package remote

import (
	"net/http"
	"strings"

	"dure/inference"
)

// Kind tells the kinds of failure of an endpoint apart.
type Kind string

// Kinds.
const (
	Refused     Kind = "refused"     // the request, the key or the account is at fault
	Busy        Kind = "busy"        // too many requests, of ours or of all; RetryAfter may say how long
	Failed      Kind = "failed"      // the endpoint is, or says that it is, broken
	Unreachable Kind = "unreachable" // no connection
	Untrusted   Kind = "untrusted"   // a connection, and to whom is not certain
	Late        Kind = "late"        // nothing came in time
	Overdue     Kind = "overdue"     // the whole answer took too long
	Cut         Kind = "cut"         // the stream ended before the answer did
	Garbled     Kind = "garbled"     // what came is no stream of events, or beyond a limit
)

// Error is a failure of an endpoint, or of the way there. In it is an *inference.Error:
// errors.Is and errors.As find that too.
type Error struct {
	Kind     Kind
	Endpoint string // host and port
	Status   int    // of the HTTP answer; 0 where there was none, or where its stream failed
	Cause    *inference.Error
}

func (e *Error) Error() string { return e.Cause.Error() }

// Unwrap makes the failure one of the vocabulary.
func (e *Error) Unwrap() error { return e.Cause }

// Passes says whether the same request may succeed later.
func (e *Error) Passes() bool {
	switch e.Kind {
	case Busy, Failed, Unreachable, Late, Cut:
		return true
	}
	return false
}

// codes are those of the vocabulary, by kind. A model that cannot be reached, or was
// lost in the middle of an answer, is one whose next request may find it again.
var codes = map[Kind]inference.Code{
	Refused: inference.CodeInvalidRequest, Busy: inference.CodeQueueFull, Failed: inference.CodeInternal,
	Unreachable: inference.CodeRunnerLost, Untrusted: inference.CodeInternal, Late: inference.CodeRunnerLost,
	Overdue: inference.CodeDeadline, Cut: inference.CodeRunnerLost, Garbled: inference.CodeInternal,
}

// errorf is a failure of this model's endpoint. Nothing in it shows the key.
func (m *Model) errorf(kind Kind, format string, args ...any) *Error {
	e := inference.Errorf(codes[kind], "endpoint %s: "+format, append([]any{m.host}, args...)...)
	e.Message = m.at.Key.clean(e.Message)
	return &Error{Kind: kind, Endpoint: m.host, Cause: e}
}

// excerpt is the beginning of what an endpoint sent, for an error: the key goes before
// anything is cut, so that no part of one is left.
func (m *Model) excerpt(data []byte, most int) string {
	text := strings.ToValidUTF8(m.at.Key.clean(string(data)), "?")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// wireError is the object under "error" of an answer or event, of both APIs.
type wireError struct {
	Message string `json:"message"`
	Param   string `json:"param"`
	Code    any    `json:"code"` // a string; some servers send a number
	Type    string `json:"type"`
}

// statusOf are the statuses that stand for the types of errors in a stream, which has
// sent its own already.
var statusOf = map[string]int{
	"invalid_request_error": http.StatusBadRequest, "authentication_error": http.StatusUnauthorized, "billing_error": http.StatusPaymentRequired,
	"permission_error": http.StatusForbidden, "not_found_error": http.StatusNotFound, "request_too_large": http.StatusRequestEntityTooLarge,
	"rate_limit_error": http.StatusTooManyRequests, "api_error": http.StatusInternalServerError, "timeout_error": http.StatusGatewayTimeout,
	"overloaded_error": statusOverloaded, "server_error": http.StatusInternalServerError,
}

// statusOverloaded is Anthropic's own.
const statusOverloaded = 529

// said is a failure as an endpoint told it. status is 0 within a stream.
func (m *Model) said(w wireError, status int) *Error {
	e := &Error{Endpoint: m.host, Status: status, Cause: &inference.Error{Message: m.at.Key.clean(w.Message), Param: m.at.Key.clean(w.Param)}}
	known := status
	if number, ok := w.Code.(float64); ok && known == 0 {
		known = int(number)
	}
	if known == 0 {
		known = statusOf[w.Type]
	}
	e.Kind, e.Cause.Code = kindOf(known)
	code, _ := w.Code.(string)
	switch c := inference.Code(code); {
	case ours[c] != "":
		e.Kind, e.Cause.Code = ours[c], c
	case w.Type == "exceed_context_size_error" || strings.HasPrefix(w.Message, "prompt is too long"):
		e.Kind, e.Cause.Code = Refused, inference.CodeContextExceeded
	case code == "insufficient_quota" || w.Type == "insufficient_quota":
		e.Kind, e.Cause.Code = Refused, inference.CodeInvalidRequest // a full account stays full
	}
	if known == http.StatusUnauthorized || known == http.StatusForbidden {
		e.Cause.Message = "endpoint " + m.host + " does not take the key (" + m.at.Key.where() + "): " + e.Cause.Message
	}
	return e
}

// ours are the codes of another dure server.
var ours = map[inference.Code]Kind{
	inference.CodeInvalidRequest: Refused, inference.CodeUnsupported: Refused, inference.CodeModelNotFound: Refused,
	inference.CodeContextExceeded: Refused, inference.CodeQueueFull: Busy, inference.CodeLoadFailed: Refused,
	inference.CodeRunnerLost: Cut, inference.CodeShuttingDown: Failed, inference.CodeDeadline: Overdue, inference.CodeAgentStopped: Refused,
}

// kindOf is what a status says where no code says more.
func kindOf(status int) (Kind, inference.Code) {
	switch status {
	case http.StatusTooManyRequests, statusOverloaded:
		return Busy, inference.CodeQueueFull
	case http.StatusNotFound:
		return Refused, inference.CodeModelNotFound
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return Failed, inference.CodeRunnerLost
	}
	if status >= http.StatusBadRequest && status < http.StatusInternalServerError {
		return Refused, inference.CodeInvalidRequest
	}
	return Failed, inference.CodeInternal
}
