package front_test

import (
	"testing"

	"dure/inference"
)

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
			var e sayError
			decodeInto(t, w.say(body).Body, &e)
			if e.Error.Message != tt.want {
				t.Errorf("%q, want %q", e.Error.Message, tt.want)
			}
		}
	}
}
