package anthropic

import (
	"strings"
	"testing"

	"dure/inference/front"
	"dure/inference/front/fronttest"
)

// Of the edits of a conversation, the one that edits nothing is accepted.
func TestContextManagement(t *testing.T) {
	w := fronttest.New(t, []front.Surface{Surface()}, (&fronttest.Talker{}).Generate)
	for edits, param := range map[string]string{
		`[]`: "",
		`[{"type":"clear_thinking_20251015","keep":"all"}]`:                                 "",
		`[{"keep":"all","type":"clear_thinking_20251015"}]`:                                 "",
		`[{"type":"clear_thinking_20251015"}]`:                                              "context_management.edits[0]",
		`[{"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":1}}]`:   "context_management.edits[0]",
		`[{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":3}}]`: "context_management.edits[0]",
		`[{"type":"clear_thinking_20251015","keep":"all"},{"type":"compact_20260112"}]`:     "context_management.edits[1]",
		`[{}]`: "context_management.edits[0].type",
		`{}`:   "context_management.edits",
	} {
		got := w.Do("POST", "/v1/messages", `{"model":"small","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"context_management":{"edits":`+edits+`}}`,
			"Content-Type", "application/json")
		if param == "" && got.Status != 200 || param != "" && (got.Status != 400 || !strings.Contains(got.Body, `"param":"`+param+`"`)) {
			t.Errorf("%s: %d %s", edits, got.Status, got.Body)
		}
	}
}
