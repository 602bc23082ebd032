package inference

import (
	"fmt"
	"time"
)

// Code names a kind of failure. Surfaces map each to one status; callers
// compare with errors.Is against the sentinels below.
type Code string

const (
	CodeInvalidRequest  Code = "invalid_request"         // the request is malformed; Param names the field
	CodeUnsupported     Code = "unsupported_parameter"   // a known field that is not implemented; Param names it
	CodeModelNotFound   Code = "model_not_found"         // Message lists the names that exist
	CodeContextExceeded Code = "context_length_exceeded" // PromptTokens and ContextTokens are set
	CodeQueueFull       Code = "queue_full"              // RetryAfter is set
	CodeLoadFailed      Code = "model_load_failed"       // Message says why and what to do
	CodeRunnerLost      Code = "runner_lost"             // the model's process died; the next request starts a new one
	CodeDeadline        Code = "deadline_exceeded"       // the request's own deadline passed
	CodeAgentStopped    Code = "agent_stopped"           // its agent, or one above it, was cancelled
	CodeShuttingDown    Code = "shutting_down"
	CodeInternal        Code = "internal_error"

	// CodeToolParse is that of a warning: what looked like a call of a tool could not be
	// read as one, and is in the answer as text.
	CodeToolParse Code = "tool_parse_error"
	// CodeIgnored is that of a warning: a wish that the model cannot fulfil.
	CodeIgnored Code = "ignored"
	// CodeLossyCache is that of a warning: keys and values are kept with a loss.
	CodeLossyCache Code = "lossy_cache"
)

// Sentinels for errors.Is: they match any *Error of the same code.
var (
	ErrInvalidRequest  = &Error{Code: CodeInvalidRequest}
	ErrUnsupported     = &Error{Code: CodeUnsupported}
	ErrModelNotFound   = &Error{Code: CodeModelNotFound}
	ErrContextExceeded = &Error{Code: CodeContextExceeded}
	ErrQueueFull       = &Error{Code: CodeQueueFull}
	ErrLoadFailed      = &Error{Code: CodeLoadFailed}
	ErrRunnerLost      = &Error{Code: CodeRunnerLost}
	ErrDeadline        = &Error{Code: CodeDeadline}
	ErrAgentStopped    = &Error{Code: CodeAgentStopped}
	ErrShuttingDown    = &Error{Code: CodeShuttingDown}
	ErrInternal        = &Error{Code: CodeInternal}
)

// Error is a failure that a caller can act on. It crosses the runner's socket
// as JSON.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Param is the path of the field at fault, for example "messages[2].role".
	Param string `json:"param,omitempty"`
	// RetryAfter is set where waiting helps.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	// PromptTokens, ContextTokens: what was asked for and the limit.
	PromptTokens  int `json:"prompt_tokens,omitempty"`
	ContextTokens int `json:"context_tokens,omitempty"`
}

// Errorf builds an Error with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Code)
	}
	return e.Message
}

// Is makes errors.Is(err, ErrQueueFull) true for every *Error of that code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}
