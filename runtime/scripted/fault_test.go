package scripted_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"dure/inference"
	"dure/runtime/scripted"
)

func faulty(fault string) string {
	return head + "      - {text: one two three four five six seven eight nine ten eleven twelve thirteen, fault: " + fault + "}\n"
}

func TestFaults(t *testing.T) {
	lead := ask("a", "role: lead", "x")
	for _, c := range []struct {
		fault string
		times int
		is    error
		wait  time.Duration
	}{
		{"{kind: error}", 1, inference.ErrInternal, 0},
		{"{kind: error, status: 503, times: 3, retry_after: 2s}", 3, inference.ErrRunnerLost, 2 * time.Second},
		{"{kind: busy, retry_after: 7s, times: 2}", 2, inference.ErrQueueFull, 7 * time.Second},
		{"{kind: cut}", 1, inference.ErrRunnerLost, 0},
	} {
		m := model(t, faulty(c.fault), scripted.Options{})
		for i := range c.times {
			g, err := generate(t.Context(), m, lead)
			var e *inference.Error
			if !errors.Is(err, c.is) || !errors.As(err, &e) || e.RetryAfter != c.wait {
				t.Errorf("%s: time %d: %v (%+v), want %v after %v", c.fault, i+1, err, e, c.is, c.wait)
			}
			if c.fault == "{kind: cut}" && g.Content == "" {
				t.Errorf("cut before anything was said")
			}
		}
		// Another agent's request has its own faults.
		if _, err := generate(t.Context(), m, ask("b", "role: lead", "x")); err == nil {
			t.Errorf("%s: the second agent has no fault", c.fault)
		}
		if g, err := generate(t.Context(), m, lead); err != nil || !strings.HasSuffix(g.Content, "thirteen") {
			t.Errorf("%s: then: %q %v", c.fault, g.Content, err)
		}
		if a := m.Accounts(); a["a"].Answers != 1 || a["b"].Answers != 0 {
			t.Errorf("%s: counted %+v", c.fault, a)
		}
	}
}

func TestStall(t *testing.T) {
	lead := ask("a", "role: lead", "x")
	var waited []time.Duration
	m := model(t, faulty("{kind: stall, for: 5s}"), scripted.Options{Wait: func(_ context.Context, d time.Duration) error { waited = append(waited, d); return nil }})
	for range 2 {
		if _, err := generate(t.Context(), m, lead); err != nil {
			t.Fatal(err)
		}
	}
	if len(waited) != 2 || waited[0] != 5*time.Second+scripted.DefaultLatency || waited[1] != scripted.DefaultLatency {
		t.Errorf("waited %v", waited)
	}
	m = model(t, faulty("{kind: stall}"), scripted.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for e, err := range m.Generate(ctx, lead) {
		if e.Kind == inference.EventStarted {
			cancel()
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("%+v %v", e, err)
		}
	}
}

func TestGarbage(t *testing.T) {
	m := model(t, head+"      - {text: 'I call ', garbage: '<tool_call>{'}\n", scripted.Options{})
	g, err := generate(t.Context(), m, ask("a", "role: lead", "x"))
	if err != nil || g.Content != "I call <tool_call>{" || len(g.warnings) != 1 || g.warnings[0].Code != inference.CodeToolParse {
		t.Errorf("%+v %v", g, err)
	}
}
