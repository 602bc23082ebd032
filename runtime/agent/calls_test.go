package agent_test

import (
	"strings"
	"testing"

	"dure/inference"
	"dure/runtime/agent"
)

// An answer with more calls than one may have is told to the model, once: asking again
// would bring the same.
func TestTooManyCallsAreTold(t *testing.T) {
	many := make([]inference.ToolCall, 129)
	for i := range many {
		many[i] = call("shell", "ls")
	}
	m := &script{turns: []answer{{calls: many}, {calls: many[:128]}, {calls: []inference.ToolCall{call("done", "few")}}}}
	p := setUp(t, openLog(t), m, "abel")
	end, err := p.Run(t.Context())
	if err != nil || end.Outcome != agent.Done || len(m.asked) != 3 {
		t.Fatalf("%v %v after %d requests", end, err, len(m.asked))
	}
	if told := m.asked[1].Messages; !strings.Contains(told[len(told)-1].Content, "more than 128 calls") || len(told[len(told)-2].ToolCalls) != 0 {
		t.Errorf("the model is told %+v", told[len(told)-1])
	}
	if n := len(p.shell.ran); n != 128 {
		t.Errorf("%d calls were carried out, want 128", n)
	}
}
