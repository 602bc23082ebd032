package answer

import (
	"strings"
	"testing"

	"dure/inference"
)

// TestStopStringsAreOfTheAnswer: a stop string ends the answer, and nothing that is
// thought before it, however the output is cut; nor is it looked for in a call.
func TestStopStringsAreOfTheAnswer(t *testing.T) {
	const input = "Paris, or Rome?\n</think>\n<tool_call>\n{\"name\": \"get_time\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>\nI say Paris, of course."
	for _, size := range []int{1, 3, len(input)} {
		p, err := New(Options{Family: Family{SyntaxHermes, thinkTags}, Tools: testTools(t), Thinking: true, Stop: []string{"Paris"}})
		if err != nil {
			t.Fatal(err)
		}
		said := map[inference.EventKind]string{}
		for at := 0; at < len(input); at += size {
			for _, e := range p.Feed(input[at:min(at+size, len(input))]) {
				if said[e.Kind] += e.Text; e.Call != nil {
					said[e.Kind] += e.Call.Arguments
				}
			}
		}
		if stop, ok := p.Stopped(); !ok || stop != "Paris" {
			t.Errorf("cut by %d: stopped at %q", size, stop)
		}
		if !strings.HasPrefix(said[inference.EventReasoning], "Paris, or Rome?") || strings.TrimSpace(said[inference.EventText]) != "I say" ||
			!strings.Contains(said[inference.EventToolCall], `"Paris"`) {
			t.Errorf("cut by %d: %q", size, said)
		}
	}
}
