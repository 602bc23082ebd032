package builtin_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"dure/runtime/sandbox"
	"dure/runtime/tool"
	"dure/runtime/tool/builtin"
)

// box is a real sandbox on this machine.
func box(t *testing.T) *sandbox.Box {
	t.Helper()
	host, err := sandbox.Open(t.Context(), sandbox.Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if errors.Is(err, sandbox.ErrRefused) {
		t.Skip("SKIPPED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := host.Start(t.Context(), sandbox.Spec{Name: "builtin", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.Close(), host.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestShell(t *testing.T) {
	s := builtin.Shell{Box: box(t)}
	for _, c := range []struct {
		arguments string
		outcome   tool.Outcome
		output    string
	}{
		{`{"command":"echo one; echo two >&2"}`, tool.Done, "one\ntwo\n"},
		{`{"command":"true"}`, tool.Done, "[no output]"},
		{`{"command":"echo x; exit 3"}`, tool.Failed, "x\n\n[exit status 3]"},
		{`{"command":"kill -9 $$"}`, tool.Failed, "[ended by the signal killed]"},
		{`{"command":"pwd"}`, tool.Done, "/work\n"},
		{`{"command":"head -c 1100000 /dev/zero | tr '\\0' x"}`, tool.Done, "are lost; write them to a file]"},
		{`{"comand":"x"}`, tool.Invalid, `no argument "comand"`},
	} {
		r, err := s.Run(t.Context(), tool.Call{Arguments: c.arguments})
		if err != nil || r.Outcome != c.outcome || !strings.HasSuffix(r.Output, c.output) && c.outcome != tool.Invalid || !strings.Contains(r.Output, c.output) {
			t.Errorf("%s: %s %.200q %v, want %s %q", c.arguments, r.Outcome, r.Output, err, c.outcome, c.output)
		}
	}
	limited := tool.Within(300*time.Millisecond, s)
	r, err := limited.Run(t.Context(), tool.Call{Tool: "shell", Arguments: `{"command":"echo begun; sleep 100"}`})
	if err != nil || r.Outcome != tool.TimedOut || !strings.HasPrefix(r.Output, "begun\n") {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := s.Run(t.Context(), tool.Call{Arguments: `{"command":"echo still here"}`}); err != nil || r.Output != "still here\n" {
		t.Errorf("after it: %+v %v", r, err)
	}
}

// lost is a box that is gone.
type lost struct{}

func (lost) Run(context.Context, sandbox.Cmd) (sandbox.Result, error) {
	return sandbox.Result{}, errors.New("the box is gone")
}

func TestABoxThatIsGoneIsAnError(t *testing.T) {
	if r, err := (builtin.Shell{Box: lost{}}).Run(t.Context(), tool.Call{Arguments: `{"command":"ls"}`}); err == nil {
		t.Errorf("%+v", r)
	}
}

func TestDone(t *testing.T) {
	if r, err := (builtin.Done{}).Run(t.Context(), tool.Call{Arguments: `{"summary":"built"}`}); err != nil || r.Outcome != tool.Done || r.Output != "built" {
		t.Errorf("%+v %v", r, err)
	}
	if r, _ := (builtin.Done{}).Run(t.Context(), tool.Call{Arguments: `{}`}); r.Outcome != tool.Invalid {
		t.Errorf("%+v", r)
	}
}
