package wire

import "fmt"

// Error is the `error` server event: what was wrong with one client event.
type Error struct {
	Type    string // TypeInvalid, TypeServer, TypeRateLimit
	Code    string
	Message string
	Param   string // path of the field, "" where it is about the whole
	EventID string // of the client event, "" where it had none
}

// Types of errors.
const (
	TypeInvalid   = "invalid_request_error"
	TypeServer    = "server_error"
	TypeRateLimit = "rate_limit_error"
)

// Codes of errors that reading makes. Those of a session are turn's own.
const (
	CodeJSON        = "invalid_json"
	CodeType        = "unknown_event_type"
	CodeField       = "unknown_parameter"
	CodeMissing     = "missing_required_parameter"
	CodeKind        = "invalid_type"
	CodeValue       = "invalid_value"
	CodeUnsupported = "unsupported"
	CodeTooLarge    = "message_too_large"
)

func (e *Error) Error() string {
	if e.Param == "" {
		return e.Message
	}
	return e.Param + ": " + e.Message
}

func invalid(code, param, format string, args ...any) *Error {
	return &Error{Type: TypeInvalid, Code: code, Param: param, Message: fmt.Sprintf(format, args...)}
}
