package openai

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/front/fronttest"
)

const crm = `{"type":"namespace","name":"crm","description":"Customers.","tools":[
	{"type":"function","name":"find","description":"Finds one.","parameters":{"type":"object"},"strict":false},
	{"type":"function","name":"drop","parameters":null}]}`

// lastCaller is a model that calls the last of its tools and remembers what it was asked.
func lastCaller(last **inference.Request) generateFunc {
	return func(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		*last = req
		call := inference.ToolCallDelta{ID: "call_1", Name: req.Tools[len(req.Tools)-1].Name}
		args := inference.ToolCallDelta{Arguments: `{"id": 7}`}
		end := done()
		end.Finish = inference.FinishToolCalls
		return script(nil, started(), inference.Event{Kind: inference.EventToolCall, Call: &call},
			inference.Event{Kind: inference.EventToolCall, Call: &args}, end)(ctx, req)
	}
}

// The model knows the tools of a namespace by one name each, the client by two.
func TestNamespaceTools(t *testing.T) {
	var req *inference.Request
	w := newKept(t, t.TempDir(), lastCaller(&req))
	const tools = `"tools":[{"type":"function","name":"crm"},` + crm + `]`
	first := read(t, w.respond(`{"input":"hi",`+tools+`}`).body)
	var names []string
	for _, tool := range req.Tools {
		names = append(names, tool.Name+": "+tool.Description)
	}
	if got := strings.Join(names, "|"); got != "crm: |crm__find: Customers.\nFinds one.|crm__drop: Customers." {
		t.Errorf("the model has %q", got)
	}
	if it := first.Output[0]; it.Type != itemCall || it.Namespace != "crm" || it.Name != "drop" || it.Arguments != `{"id": 7}` {
		t.Errorf("%+v", it)
	}
	if len(first.Tools) != 2 || first.Tools[1].Name != "crm" || len(first.Tools[1].Tools) != 2 || first.Tools[1].Tools[1].Name != "drop" {
		t.Errorf("%+v", first.Tools)
	}
	// The call comes back, by id or as it was.
	for name, body := range map[string]string{
		"kept": `{"previous_response_id":"` + first.ID + `","input":[{"type":"function_call_output","call_id":"call_1","output":"gone"}],` + tools + `}`,
		"sent": `{"input":[{"type":"message","role":"user","content":"hi"},{"type":"function_call","call_id":"call_1","namespace":"crm","name":"drop","arguments":"{}"},
			{"type":"function_call_output","call_id":"call_1","output":"gone"}],` + tools + `}`,
	} {
		if got := w.respond(body); got.status != 200 {
			t.Fatalf("%s: %d %s", name, got.status, got.body)
		}
		if m := req.Messages; len(m) != 3 || m[1].ToolCalls[0].Name != "crm__drop" || m[2].Name != "crm__drop" {
			t.Errorf("%s: %+v", name, m)
		}
	}
	stream := w.respond(`{"stream":true,"input":"hi",` + tools + `}`).body
	if !strings.Contains(stream, `"call_id":"call_1","name":"drop","namespace":"crm"`) || strings.Contains(stream, "crm__drop") {
		t.Error(stream)
	}
}

// A namespace whose name ends as those of servers of tools do is not joined twice.
func TestNamespaceNames(t *testing.T) {
	for from, want := range map[spaced]string{{"", "a"}: "a", {"crm", "a"}: "crm__a", {"mcp__files__", "read"}: "mcp__files__read"} {
		if got := from.join(); got != want {
			t.Errorf("%v: %s", from, got)
		}
	}
}

func TestNamespaceRefused(t *testing.T) {
	w := newKept(t, t.TempDir(), (&fronttest.Talker{}).Generate)
	long := strings.Repeat("n", maxToolName)
	for tool, param := range map[string]string{
		`{"type":"namespace","name":"n"}`:                                                                            "tools[0].tools",
		`{"type":"namespace","name":"n","tools":[]}`:                                                                 "tools[0].tools",
		`{"type":"namespace","tools":[{"type":"function","name":"f"}]}`:                                              "tools[0].name",
		`{"type":"namespace","name":"n","strict":true,"tools":[{"type":"function","name":"f"}]}`:                     "tools[0]",
		`{"type":"namespace","name":"n","tools":[{"type":"custom","name":"f"}]}`:                                     "tools[0].tools[0].type",
		`{"type":"namespace","name":"n","tools":[{"type":"namespace","name":"f","tools":[` + crm + `]}]}`:            "tools[0].tools[0].tools",
		`{"type":"namespace","name":"n","tools":[{"type":"web_search"}]}`:                                            "tools[0].tools[0].type",
		`{"type":"namespace","name":"n","tools":[{"type":"function","name":"` + long + `"}]}`:                        "tools[0]",
		`{"type":"function","name":"f","tools":[{"type":"function","name":"g"}]}`:                                    "tools[0].tools",
		`{"type":"function","name":"n__f"},{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]}`: "tools[1]",
	} {
		got := w.respond(`{"input":"x","tools":[` + tool + `]}`)
		var e errorBody
		if err := json.Unmarshal([]byte(got.body), &e); err != nil || got.status != 400 || e.Error.Param == nil || *e.Error.Param != param {
			t.Errorf("%s: %d %s", tool, got.status, got.body)
		}
	}
}

// OpenAI's search cannot be had. That is said, and the rest goes on; where it is what
// the answer is to come from, it is refused.
func TestWebSearchIsNamed(t *testing.T) {
	w := newKept(t, t.TempDir(), (&fronttest.Talker{}).Generate)
	got := w.respond(`{"input":"x","tools":[{"type":"web_search","external_web_access":false,"filters":{"a":[1]}}],"client_metadata":{"a":{}}}`)
	if all := read(t, got.body).Warnings; len(all) != 1 || !strings.HasPrefix(all[0], "tools[0]: web_search runs at OpenAI's servers") {
		t.Errorf("%q", all)
	}
	for _, choice := range []string{`"required"`, `{"type":"web_search"}`} {
		if got := w.respond(`{"input":"x","tools":[{"type":"web_search"}],"tool_choice":` + choice + `}`); got.status != 400 || !strings.Contains(got.body, `"param":"tool_choice`) {
			t.Errorf("%s: %d %s", choice, got.status, got.body)
		}
	}
}
