package front

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"dure/inference"
)

// Failure is an error as a client gets to know it, before a surface gives it its
// form.
type Failure struct {
	Status  int
	Code    inference.Code // of the vocabulary, or one of this package's own
	Message string
	Param   string // path of the field at fault; may be empty
	// Headers of an answer that consists of the failure.
	Headers [][2]string
	// Cause is set for what nobody foresaw. It is logged and never sent.
	Cause error
}

// Codes of what does not get past the door.
const (
	CodeHost         inference.Code = "host_not_allowed"
	CodeOrigin       inference.Code = "origin_not_allowed"
	CodeKey          inference.Code = "invalid_api_key"
	CodeAdmin        inference.Code = "admin_key_required"
	CodeUnknownURL   inference.Code = "unknown_url"
	CodeMethod       inference.Code = "method_not_allowed"
	CodeMediaType    inference.Code = "unsupported_media_type"
	CodeTooLarge     inference.Code = "request_too_large"
	CodeTimeout      inference.Code = "request_timeout"
	CodeAgentUnknown inference.Code = "agent_not_found"
	CodeUnavailable  inference.Code = "unsupported"
)

// statuses is the one mapping from an inference.Code to what HTTP says.
var statuses = map[inference.Code]int{
	inference.CodeInvalidRequest:  http.StatusBadRequest,
	inference.CodeUnsupported:     http.StatusBadRequest,
	inference.CodeModelNotFound:   http.StatusNotFound,
	inference.CodeContextExceeded: http.StatusBadRequest,
	inference.CodeQueueFull:       http.StatusTooManyRequests,
	inference.CodeLoadFailed:      http.StatusServiceUnavailable,
	inference.CodeRunnerLost:      http.StatusBadGateway,
	inference.CodeDeadline:        http.StatusGatewayTimeout,
	inference.CodeAgentStopped:    http.StatusConflict,
	inference.CodeShuttingDown:    http.StatusServiceUnavailable,
}

// Refuse is a failure of a surface's own: the request did not get as far as a
// model. Errors in a request are better an *inference.Error.
func Refuse(status int, code inference.Code, format string, args ...any) *Failure {
	return &Failure{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

func (f *Failure) Error() string { return f.Message }

// Header adds a header to f.
func (f *Failure) Header(name, value string) { f.Headers = append(f.Headers, [2]string{name, value}) }

// toFailure maps any error to what the client sees. requestID is what a person
// needs to find an unexpected one in the log.
func toFailure(err error, requestID string) *Failure {
	var own *Failure
	if errors.As(err, &own) {
		return own
	}
	var e *inference.Error
	if errors.As(err, &e) {
		if status, ok := statuses[e.Code]; ok {
			return fromInference(e, status)
		}
	}
	return &Failure{
		Status: http.StatusInternalServerError, Code: inference.CodeInternal,
		Message: "internal error; the server's log tells more under request " + requestID,
		Cause:   err,
	}
}

func fromInference(e *inference.Error, status int) *Failure {
	f := &Failure{Status: status, Code: e.Code, Message: e.Error(), Param: e.Param}
	if e.RetryAfter > 0 || e.Code == inference.CodeQueueFull {
		f.Header("Retry-After", RetryAfter(e.RetryAfter))
	}
	switch e.Code {
	case inference.CodeLoadFailed, inference.CodeDeadline, inference.CodeAgentStopped:
		// The stock clients repeat a 409, a 503 and a 504 at once. A load that
		// failed fails again, and each try costs the whole load; an answer that is
		// too late is of no use; and an agent that was stopped would go on.
		f.Header("X-Should-Retry", "false")
	}
	return f
}

// RetryAfter is d in whole seconds, rounded up, at least 1: a client told to
// wait 0 seconds would not wait at all.
func RetryAfter(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}
