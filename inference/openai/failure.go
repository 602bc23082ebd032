package openai

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"dure/inference"
)

// failure is an error as a client sees it: an HTTP status and the members of
// OpenAI's error object.
type failure struct {
	status  int
	kind    string // "type" of the error object
	code    string
	message string
	param   string
	headers [][2]string
	// cause is set for what nobody foresaw. It is logged and never sent.
	cause error
}

// Types of OpenAI's error object.
const (
	kindInvalid = "invalid_request_error"
	kindLimit   = "rate_limit_error"
	kindServer  = "server_error"
)

// statuses is the one mapping from an inference.Code to what HTTP says.
var statuses = map[inference.Code]struct {
	status int
	kind   string
}{
	inference.CodeInvalidRequest:  {http.StatusBadRequest, kindInvalid},
	inference.CodeUnsupported:     {http.StatusBadRequest, kindInvalid},
	inference.CodeModelNotFound:   {http.StatusNotFound, kindInvalid},
	inference.CodeContextExceeded: {http.StatusBadRequest, kindInvalid},
	inference.CodeQueueFull:       {http.StatusTooManyRequests, kindLimit},
	inference.CodeLoadFailed:      {http.StatusServiceUnavailable, kindServer},
	inference.CodeRunnerLost:      {http.StatusBadGateway, kindServer},
	inference.CodeDeadline:        {http.StatusGatewayTimeout, kindServer},
	inference.CodeAgentStopped:    {http.StatusConflict, kindInvalid},
	inference.CodeShuttingDown:    {http.StatusServiceUnavailable, kindServer},
}

// refusal is a failure of this package's own: the request did not get past the
// door.
func refusal(status int, code, format string, args ...any) *failure {
	return &failure{status: status, kind: kindInvalid, code: code, message: fmt.Sprintf(format, args...)}
}

func (f *failure) Error() string { return f.message }

func (f *failure) header(name, value string) { f.headers = append(f.headers, [2]string{name, value}) }

// toFailure maps any error to what the client sees. requestID is what a person
// needs to find an unexpected one in the log.
func toFailure(err error, requestID string) *failure {
	var own *failure
	if errors.As(err, &own) {
		return own
	}
	var e *inference.Error
	if errors.As(err, &e) {
		if s, ok := statuses[e.Code]; ok {
			return fromInference(e, s.status, s.kind)
		}
	}
	return &failure{
		status: http.StatusInternalServerError, kind: kindServer, code: string(inference.CodeInternal),
		message: "internal error; the server's log tells more under request " + requestID,
		cause:   err,
	}
}

func fromInference(e *inference.Error, status int, kind string) *failure {
	f := &failure{status: status, kind: kind, code: string(e.Code), message: e.Error(), param: e.Param}
	if e.RetryAfter > 0 || e.Code == inference.CodeQueueFull {
		f.header("Retry-After", retryAfter(e.RetryAfter))
	}
	switch e.Code {
	case inference.CodeLoadFailed, inference.CodeDeadline, inference.CodeAgentStopped:
		// The stock clients repeat a 409, a 503 and a 504 at once. A load that
		// failed fails again, and each try costs the whole load; an answer that is
		// too late is of no use; and an agent that was stopped would go on.
		f.header("X-Should-Retry", "false")
	}
	return f
}

// retryAfter is d in whole seconds, rounded up, at least 1: a client told to
// wait 0 seconds would not wait at all.
func retryAfter(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}

// wire is the JSON form.
func (f *failure) wire() errorBody {
	e := errorBody{errorObject{Message: f.message, Type: f.kind, Code: f.code}}
	if f.param != "" {
		e.Error.Param = &f.param
	}
	return e
}
