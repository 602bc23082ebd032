package monitor_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"dure/runtime/event"
	"dure/runtime/monitor"
	"dure/runtime/tool"
)

// The report says who judged, what, and how long it took.
func TestReplayTellsWhoJudged(t *testing.T) {
	log := open(t)
	var batch []event.Event
	for i := range 100 {
		v, took := tool.Verdict{Decision: tool.Allow, By: "rules"}, float64(i)/10
		switch i % 10 {
		case 8:
			v.Decision = tool.Refuse
		case 9:
			v, took = tool.Verdict{Decision: tool.Block, By: "small"}, float64(1000+i)
		}
		e, err := tool.Events.Judged.New(tool.Judged{Agent: "gauss", Turn: i + 1, Call: fmt.Sprint("c", i), Tool: "shell", Arguments: json.RawMessage(`{"command":"ls"}`), Verdict: v, LatencyMS: took})
		if err != nil {
			t.Fatal(err)
		}
		batch = append(batch, e)
	}
	if _, err := log.Append(t.Context(), "calls", event.Any, batch...); err != nil {
		t.Fatal(err)
	}
	r, err := monitor.Replay(t.Context(), log, looker(t), monitor.Options{Top: 5})
	want := []monitor.Judges{
		{By: "rules", Calls: 90, Allowed: 80, Refused: 10, MedianMS: 5, P95MS: 9.4, MostMS: 9.8},
		{By: "small", Calls: 10, Blocked: 10, MedianMS: 1059, P95MS: 1099, MostMS: 1099},
	}
	if err != nil || !reflect.DeepEqual(r.Judges, want) {
		t.Errorf("%+v, want %+v: %v", r.Judges, want, err)
	}
}
