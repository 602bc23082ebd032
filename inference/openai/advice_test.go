package openai

import (
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/front"
)

// cutHint takes the advice off a message.
func cutHint(message string) (before, after string, found bool) {
	return strings.Cut(message, "; ")
}

// A limit that the server was started with is met with how to change it, where
// the model runs here and did not say so itself.
func TestAdvice(t *testing.T) {
	for _, tt := range []struct {
		code          inference.Code
		message, want string
		remote        bool
	}{
		{inference.CodeContextExceeded, "too long", "too long; shorten the prompt, or start the server with a larger --context", false},
		{inference.CodeContextExceeded, "too long, see --context", "too long, see --context", false},
		{inference.CodeContextExceeded, "too long", "too long", true},
		{inference.CodeQueueFull, "full", "full; to let more requests wait, start the server with a larger --queue", false},
		{inference.CodeQueueFull, "full", "full", true},
		{inference.CodeRunnerLost, "died", "died", false},
	} {
		w := newWorld(t, script(&inference.Error{Code: tt.code, Message: tt.message}))
		w.models.Remote = tt.remote
		for _, body := range []string{hello, helloStream, helloTimes(2)} {
			var e errorBody
			decodeInto(t, w.chat(body).body, &e)
			if e.Error.Message != tt.want {
				t.Errorf("%q, want %q", e.Error.Message, tt.want)
			}
		}
	}
}

// A refusal says what to do.
func TestRefusalsNameTheFix(t *testing.T) {
	w := newWorld(t, nil)
	w.chat(`{"messages":[{"role":"tool","content":"4"}]}`).
		wantError(t, 400, kindInvalid, "unsupported_parameter", "messages[0].role", "in a message of the role user")
	w.chat(strings.Repeat(" ", front.MaxBody+1)).wantError(t, 413, kindInvalid, "request_too_large", "", "send less text")
}
