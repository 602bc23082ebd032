package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"dure/inference"
)

// linger is how long a client that gets its answer early may go on sending.
const linger = 2 * time.Second

// expectBody gives the client its time for the body, if there is one. It comes
// before all else: whatever becomes of the request, net/http reads what is left
// of the body afterwards, and waits for it for ever otherwise.
func (x *exchange) expectBody(r *http.Request) error {
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
func (x *exchange) hangUp() {
	if x.unread {
		x.Header().Set("Connection", "close")
		// A connection that takes no deadline any more is closed, which the
		// write that follows will tell.
		_ = x.control.SetReadDeadline(time.Now().Add(linger))
	}
}

// readBody reads the JSON body of a request within the route's limits of size
// and time.
func readBody(x *exchange, r *http.Request) ([]byte, error) {
	if err := checkHeaders(r); err != nil {
		return nil, err
	}
	limit := x.route.MaxBody
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	body, err := x.readAll(http.MaxBytesReader(x.ResponseWriter, r.Body, limit), r.ContentLength)
	var full *failure
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge(limit)
	case errors.As(err, &full):
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, refusal(http.StatusRequestTimeout, "request_timeout",
			"the body did not arrive within %s", readTimeout)
	case errors.Is(err, io.ErrUnexpectedEOF):
		// The client may have closed only its sending side, and listen.
		return nil, refusal(http.StatusBadRequest, string(inference.CodeInvalidRequest),
			"the body ended early, after %d bytes", len(body))
	case err != nil:
		return nil, invalid("the body cannot be read: %s", err)
	}
	x.unread = false
	// From here on net/http reads in the background, to notice that the client
	// closes. That read must not time out.
	return body, deadlineError("read", x.control.SetReadDeadline(time.Time{}))
}

func checkHeaders(r *http.Request) error {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return refusal(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"the body is encoded as %q: send it as plain JSON", clip(enc))
	}
	given := r.Header.Get("Content-Type")
	if given == "" {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(given); err != nil || kind != "application/json" {
		return refusal(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"the Content-Type is %q: send JSON with \"Content-Type: application/json\"", clip(given))
	}
	return nil
}

func tooLarge(limit int64) error {
	return refusal(http.StatusRequestEntityTooLarge, "request_too_large",
		"the body is larger than %d bytes, the most that is read; send less text, or fewer prompts, in one request", limit)
}

// checkJSON makes sure that body is one JSON value in valid UTF-8, and says
// where it is not.
func checkJSON(body []byte) error {
	if len(body) == 0 {
		return invalid("the body is empty: send a JSON object")
	}
	if !utf8.Valid(body) {
		at := 0
		for r, size := utf8.DecodeRune(body); r != utf8.RuneError || size != 1; r, size = utf8.DecodeRune(body[at:]) {
			at += size
		}
		return invalid("the body is not valid UTF-8 at %s", position(body, at))
	}
	if json.Valid(body) {
		return nil
	}
	var value json.RawMessage
	err := json.Unmarshal(body, &value)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return invalid("the body is not valid JSON: %s at %s", syntax, position(body, int(syntax.Offset)-1))
	}
	return invalid("the body is not valid JSON: %v", err)
}

// position tells where a byte of the body is, for people (line and column from
// 1, columns in bytes) and for programs (offset from 0).
func position(body []byte, offset int) string {
	offset = min(max(offset, 0), len(body))
	line, column := 1, 1
	for _, c := range body[:offset] {
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	return fmt.Sprintf("line %d, column %d (offset %d)", line, column, offset)
}

func invalid(format string, args ...any) error {
	return inference.Errorf(inference.CodeInvalidRequest, format, args...)
}
