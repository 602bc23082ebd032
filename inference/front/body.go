package front

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"dure/inference"
	"dure/inference/front/strict"
)

// linger is how long a client that gets its answer early may go on sending.
const linger = 2 * time.Second

// expectBody gives the client its time for the body, if there is one. It comes
// before all else: whatever becomes of the request, net/http reads what is left
// of the body afterwards, and waits for it for ever otherwise.
func (x *Exchange) expectBody(r *http.Request) error {
	if r.ContentLength == 0 {
		return nil // net/http reads in the background; a deadline would end the request
	}
	x.unread = true
	return deadlineError("read", x.control.SetReadDeadline(x.start.Add(readTimeout)))
}

// hangUp ends the connection with an answer that comes before all of the body
// was read. Otherwise net/http would read on before it sends anything, to keep
// the connection for another request. It still reads on after that, so that a
// client that is sending does not lose the answer, but not for long.
func (x *Exchange) hangUp() {
	if x.unread {
		x.Header().Set("Connection", "close")
		// A connection that takes no deadline any more is closed, which the
		// write that follows will tell.
		_ = x.control.SetReadDeadline(time.Now().Add(linger))
	}
}

// ReadBody reads the JSON body of a request within the route's limits of size
// and time.
func (x *Exchange) ReadBody(r *http.Request) ([]byte, error) {
	if err := checkHeaders(r, x.row.Route.AnyType); err != nil {
		return nil, err
	}
	limit := x.row.MaxBody
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	body, err := x.readAll(http.MaxBytesReader(x.ResponseWriter, r.Body, limit), r.ContentLength)
	var full *Failure
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge(limit)
	case errors.As(err, &full):
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, Refuse(http.StatusRequestTimeout, CodeTimeout,
			"the body did not arrive within %s", readTimeout)
	case errors.Is(err, io.ErrUnexpectedEOF):
		// The client may have closed only its sending side, and listen.
		return nil, Refuse(http.StatusBadRequest, inference.CodeInvalidRequest,
			"the body ended early, after %d bytes", len(body))
	case err != nil:
		return nil, inference.Errorf(inference.CodeInvalidRequest, "the body cannot be read: %s", err)
	}
	x.unread, x.size = false, int64(len(body))
	// From here on net/http reads in the background, to notice that the client
	// closes. That read must not time out.
	return body, deadlineError("read", x.control.SetReadDeadline(time.Time{}))
}

func checkHeaders(r *http.Request, anyType bool) error {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return Refuse(http.StatusUnsupportedMediaType, CodeMediaType,
			"the body is encoded as %q: send it as plain JSON", strict.Clip(enc))
	}
	given := r.Header.Get("Content-Type")
	if given == "" || anyType {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(given); err != nil || kind != "application/json" {
		return Refuse(http.StatusUnsupportedMediaType, CodeMediaType,
			"the Content-Type is %q: send JSON with \"Content-Type: application/json\"", strict.Clip(given))
	}
	return nil
}

func tooLarge(limit int64) error {
	return Refuse(http.StatusRequestEntityTooLarge, CodeTooLarge,
		"the body is larger than %d bytes, the most that is read; send less text, or fewer prompts, in one request", limit)
}

// ReadInto reads the body of a request into req by a table of fields. What it
// warns of is in [Exchange.Warnings] afterwards.
func ReadInto[R any](x *Exchange, r *http.Request, known strict.Fields[R], req *R, check func(*strict.Decoder, *R) error) error {
	body, err := x.ReadBody(r)
	if err != nil {
		return err
	}
	warnings, err := strict.Decode(body, known, req, check)
	x.Warn(warnings...)
	return err
}
