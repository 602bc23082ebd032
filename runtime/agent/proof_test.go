package agent_test

import (
	"encoding/json"
	"testing"

	"dure/inference"
	"dure/runtime/agent"
)

// What proves an answer's thinking is in the log: a process that was not there sends it
// back with the answer.
func TestProofOutlivesTheProcess(t *testing.T) {
	log := openLog(t)
	m := &script{turns: []answer{
		{reasoning: "look first", calls: []inference.ToolCall{call("shell", "ls")}, proof: `{"of":"m"}`},
		{calls: []inference.ToolCall{call("done", "built")}},
	}}
	p := setUp(t, log, m, "noether")
	if end, err := p.Run(t.Context()); err != nil || end.Outcome != agent.Done {
		t.Fatal(end, err)
	}
	s, err := agent.Load(t.Context(), log, "noether", "")
	if err != nil {
		t.Fatal(err)
	}
	for i, messages := range [][]inference.Message{m.asked[1].Messages, s.Messages()} {
		if got := messages[2]; string(got.Proof) != `{"of":"m"}` || got.Reasoning != "look first" {
			t.Errorf("%d: %+v", i, got)
		}
	}
	if got := s.Messages()[4]; got.Proof != nil {
		t.Errorf("an answer without a proof has %s", json.RawMessage(got.Proof))
	}
}
