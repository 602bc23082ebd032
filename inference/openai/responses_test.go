package openai

import (
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/fronttest"
	"dure/inference/openai/memory"

	client "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
)

// newKept is a world whose responses are in a directory, which outlives it.
func newKept(t *testing.T, home string, generate generateFunc, change ...func(*front.Options)) *world {
	t.Helper()
	m, err := memory.Open(home, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := NewResponses(m, slog.New(slog.DiscardHandler))
	t.Cleanup(s.Close)
	w := fronttest.New(t, []front.Surface{Surface(s)}, generate, change...)
	return &world{w, w.Models}
}

func (w *world) respond(body string, headers ...string) reply {
	return w.do("POST", "/v1/responses", body, append(headers, "Content-Type", "application/json")...)
}

func read(t *testing.T, body string) (o response) {
	t.Helper()
	var all struct {
		response
		ToolChoice any `json:"tool_choice"`
	}
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return all.response
}

var talker = (&fronttest.Talker{}).Generate

const weather = `"tools":[{"type":"function","name":"weather","parameters":{"type":"object"},"strict":true}]`

var volatileResponse = regexp.MustCompile(`(resp|msg|rs|fc|fco)_[A-Z2-7]{26}|"(created_at|completed_at|seed)":\d+`)

func steadyResponse(s string) string {
	return volatileResponse.ReplaceAllStringFunc(s, func(m string) string {
		if name, _, ok := strings.Cut(m, ":"); ok {
			return name + ":0"
		}
		prefix, _, _ := strings.Cut(m, "_")
		return prefix + "_X"
	})
}

// All kinds of items in one stream, event by event.
func TestResponseStream(t *testing.T) {
	w := newKept(t, t.TempDir(), talker)
	body := w.respond(`{"stream":true,"reasoning":{"effort":"low"},"input":"hi",` + weather + `}`).body
	var got []string
	for line := range strings.Lines(steadyResponse(body)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			data = regexp.MustCompile(`"response":\{.*\}`).ReplaceAllString(data, `"response":{}`)
			got = append(got, strings.TrimSpace(data))
		}
	}
	golden := filepath.Join("testdata", "response.stream")
	if *write {
		if err := os.WriteFile(golden, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(got, "\n") + "\n"; text != string(want) {
		t.Errorf("got\n%s\nwant %s\n%s", text, golden, want)
	}
}

// A conversation goes on by the id of its last answer, also after a restart, and what
// is deleted is gone.
func TestConversationGoesOnAfterRestart(t *testing.T) {
	home := t.TempDir()
	w := newKept(t, home, talker)
	first := w.respond(`{"instructions":"be brief","reasoning":{"effort":"low"},"input":"hi",` + weather + `}`)
	o := read(t, first.body)
	if first.status != 200 || len(o.Output) != 3 || o.Output[2].Arguments != `{"city": "Paris"}` || o.Status != statusCompleted {
		t.Fatal(first.body)
	}
	var got *inference.Request
	w = newKept(t, home, asked(&got, started(), says("Sunny."), done()))
	second := w.respond(`{"previous_response_id":"` + o.ID + `","input":[{"type":"function_call_output","call_id":"call_1","output":"sun"}]}`)
	if second.status != 200 {
		t.Fatal(second.body)
	}
	want := []inference.Message{{Role: "user", Content: "hi"}, {Role: "assistant", Reasoning: "Let me think.", Content: "I look.",
		ToolCalls: []inference.ToolCall{{ID: "call_1", Name: "weather", Arguments: `{"city": "Paris"}`}}}, {Role: "tool", Content: "sun", ToolCallID: "call_1", Name: "weather"}}
	if g, w := toJSON(t, got.Messages), toJSON(t, want); g != w {
		t.Errorf("got  %s\nwant %s", g, w)
	}
	if again := w.do("GET", "/v1/responses/"+o.ID, ""); again.body != first.body {
		t.Errorf("got  %s\nwant %s", again.body, first.body)
	}
	third := read(t, second.body)
	w.respond(`{"input":[{"type":"item_reference","id":"` + o.Output[1].ID + `"},{"role":"user","content":"and?"}]}`)
	if len(got.Messages) != 2 || got.Messages[0].Content != "I look." {
		t.Errorf("%+v", got.Messages)
	}
	if items := w.do("GET", "/v1/responses/"+third.ID+"/input_items?limit=1", ""); !strings.Contains(items.body, `"call_id":"call_1","output":"sun"`) {
		t.Error(items.body)
	}
	if gone := w.do("DELETE", "/v1/responses/"+o.ID, ""); gone.status != 200 || !strings.Contains(gone.body, `"deleted":true`) {
		t.Error(gone.body)
	}
	for _, path := range []string{"/v1/responses/" + o.ID, "/v1/responses/" + o.ID + "/input_items"} {
		w.do("GET", path, "").wantError(t, 404, kindInvalid, CodeResponseUnknown, "id", o.ID)
	}
	w.respond(`{"previous_response_id":"`+third.ID+`","input":"on"}`).wantError(t, 400, kindInvalid, "previous_response_not_found", "previous_response_id", "send the whole conversation")
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Nothing is kept that is not to be, and nothing is for another key.
func TestWhatIsKeptForWhom(t *testing.T) {
	home := t.TempDir()
	w := newKept(t, home, talker, func(o *front.Options) {
		o.Keys = fronttest.Keys{"a": {Called: "a"}, "b": {Called: "b"}}
	})
	unkept := read(t, w.respond(`{"store":false,"input":"hi"}`, "X-Api-Key", "a").body)
	w.do("GET", "/v1/responses/"+unkept.ID, "", "X-Api-Key", "a").wantError(t, 404, kindInvalid, CodeResponseUnknown, "id", "")
	kept := read(t, w.respond(`{"input":"hi"}`, "X-Api-Key", "a").body)
	if got := w.do("GET", "/v1/responses/"+kept.ID, "", "X-Api-Key", "a"); got.status != 200 {
		t.Error(got.body)
	}
	w.do("GET", "/v1/responses/"+kept.ID, "", "X-Api-Key", "b").wantError(t, 404, kindInvalid, CodeResponseUnknown, "id", "")
	w.do("DELETE", "/v1/responses/"+kept.ID, "", "X-Api-Key", "b").wantError(t, 404, kindInvalid, CodeResponseUnknown, "id", "")
	if files, err := filepath.Glob(filepath.Join(home, "*", "*")); err != nil || len(files) != 1 {
		t.Errorf("%v %v", files, err)
	}
}

func TestBackground(t *testing.T) {
	left := make(chan struct{}, 8)
	w := newKept(t, t.TempDir(), (&fronttest.Talker{Left: left}).Generate)
	streamed := w.respond(`{"background":true,"stream":true,"input":"hi"}`).body
	id := regexp.MustCompile(`resp_[A-Z2-7]{26}`).FindString(streamed)
	if !strings.Contains(streamed, "event: response.completed") {
		t.Fatal(streamed)
	}
	_, rest, _ := strings.Cut(streamed, "\n\n")
	_, rest, _ = strings.Cut(rest, "\n\n")
	if again := w.do("GET", "/v1/responses/"+id+"?stream=true&starting_after=1", "").body; again != rest {
		t.Errorf("got  %s\nwant %s", again, rest)
	}
	if o := read(t, w.do("GET", "/v1/responses/"+id, "").body); o.Status != statusCompleted || !o.Background {
		t.Errorf("%+v", o)
	}
	o := read(t, w.respond(`{"background":true,"input":"go on"}`).body)
	if o.Status != statusQueued {
		t.Errorf("%+v", o)
	}
	w.respond(`{"previous_response_id":"`+o.ID+`","input":"x"}`).wantError(t, 400, kindInvalid, "invalid_request", "previous_response_id", "queued")
	cancelled := read(t, w.do("POST", "/v1/responses/"+o.ID+"/cancel", "").body)
	<-left
	if cancelled.Status != statusCancelled || cancelled.Error != nil {
		t.Errorf("%+v", cancelled)
	}
	if got := read(t, w.do("GET", "/v1/responses/"+o.ID, "").body); got.Status != statusCancelled {
		t.Errorf("%+v", got)
	}
	failed := read(t, w.respond(`{"background":true,"input":"go on"}`).body)
	if got := w.do("DELETE", "/v1/responses/"+failed.ID, ""); got.status != 200 {
		t.Error(got.body)
	}
	<-left
	plain := read(t, w.respond(`{"input":"hi"}`).body)
	w.do("POST", "/v1/responses/"+plain.ID+"/cancel", "").wantError(t, 400, kindInvalid, "invalid_request", "id", "background")
}

// What ends early in the background is stored so, also where the server ended.
func TestBackgroundEndsWithTheServer(t *testing.T) {
	home := t.TempDir()
	m, err := memory.Open(home, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	left := make(chan struct{}, 1)
	s := NewResponses(m, slog.New(slog.DiscardHandler))
	w := &world{World: fronttest.New(t, []front.Surface{Surface(s)}, (&fronttest.Talker{Left: left}).Generate)}
	o := read(t, w.respond(`{"background":true,"input":"go on"}`).body)
	queued, err := m.Recall(o.ID)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	w.respond(`{"background":true,"input":"hi"}`).wantError(t, 503, kindServer, "shutting_down", "", "")
	next := newKept(t, home, talker)
	if got := read(t, next.do("GET", "/v1/responses/"+o.ID, "").body); got.Status != statusFailed || got.Error.Code != inference.CodeShuttingDown {
		t.Errorf("%+v", got)
	}
	if err := m.Keep(o.ID, queued); err != nil { // as after a power cut
		t.Fatal(err)
	}
	if got := read(t, next.do("GET", "/v1/responses/"+o.ID, "").body); got.Status != statusFailed || got.Error.Code != inference.CodeShuttingDown {
		t.Errorf("%+v", got)
	}
}

func TestResponseFailures(t *testing.T) {
	w := newKept(t, t.TempDir(), talker)
	w.respond(`{"input":"be busy"}`).wantError(t, 429, kindLimit, "queue_full", "", "")
	broken := w.respond(`{"stream":true,"input":"break"}`).body
	if !strings.Contains(broken, "event: response.failed") || !strings.Contains(broken, `"code":"runner_lost"`) || !strings.Contains(broken, `"text":"Hal"`) {
		t.Error(broken)
	}
	for body, param := range map[string]string{
		`{}`:                                     "input",
		`{"input":[1]}`:                          "input[0]",
		`{"input":[{"x":1}]}`:                    "input[0].type",
		`{"input":[{"type":"web_search_call"}]}`: "input[0].type",
		`{"input":[{"role":"user","content":[{"type":"input_image","image_url":"x"}]}]}`: "input[0].content[0]",
		`{"input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`:         "input[0].call_id",
		`{"input":[{"type":"item_reference","id":"msg_A_0"}]}`:                           "input[0].id",
		`{"input":[{"type":"reasoning","encrypted_content":"gAAA"}]}`:                    "input[0].encrypted_content",
		`{"input":"x","tools":[{"type":"file_search"}]}`:                                 "tools[0].type",
		`{"input":"x","tool_choice":{"type":"function","name":"n"}}`:                     "tool_choice",
		`{"input":"x","conversation":"c"}`:                                               "conversation",
		`{"input":"x","truncation":"auto"}`:                                              "truncation",
		`{"input":"x","background":true,"store":false}`:                                  "background",
		`{"input":"x","reasoning":{"summary":"concise"}}`:                                "reasoning.summary",
		`{"input":"x","top_logprobs":3}`:                                                 "top_logprobs",
		`{"input":"x","max_tokens":3}`:                                                   "max_tokens",
		`{"input":"x","text":{"verbosity":"low"}}`:                                       "text.verbosity",
	} {
		if got := w.respond(body); got.status != 400 || !strings.Contains(got.body, `"param":"`+param+`"`) {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
}

// Reasoning goes round in whichever member the client wanted to have it.
func TestReasoningGoesRound(t *testing.T) {
	w := newKept(t, t.TempDir(), talker)
	for _, wish := range []string{`"reasoning":{"effort":"low"}`, `"reasoning":{"effort":"low","summary":"auto"}`,
		`"reasoning":{"effort":"low"},"include":["reasoning.encrypted_content"]`} {
		o := read(t, w.respond(`{"store":false,"input":"hi",`+wish+`}`).body)
		if strings.Contains(wish, "include") {
			o.Output[0].Content = nil
		}
		var got *inference.Request
		next := newWorld(t, asked(&got, started(), done()))
		next.respond(`{"input":` + toJSON(t, o.Output) + `}`)
		if len(got.Messages) != 1 || got.Messages[0].Reasoning != "Let me think." || got.Messages[0].Content != "Hello, 이 사람!" {
			t.Errorf("%s: %+v", wish, got.Messages)
		}
	}
}

func TestInputTokens(t *testing.T) {
	w := newKept(t, t.TempDir(), talker)
	if got := w.do("POST", "/v1/responses/input_tokens", `{"input":"hi"}`); got.body != `{"object":"response.input_tokens","input_tokens":20}`+"\n" {
		t.Error(got.body)
	}
}

// The stock Go client reads responses, whole and streamed.
func TestStockClientResponses(t *testing.T) {
	w := newKept(t, t.TempDir(), talker)
	c := client.NewClient(option.WithBaseURL(w.URL+"/v1/"), option.WithAPIKey("k"), option.WithMaxRetries(0))
	ask := responses.ResponseNewParams{Model: "small", Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("hi")}}
	whole, err := c.Responses.New(t.Context(), ask)
	if err != nil || whole.OutputText() != "Hello, 이 사람!" || whole.Usage.InputTokensDetails.CachedTokens != 2 {
		t.Fatalf("%v %s", err, whole.RawJSON())
	}
	stream := c.Responses.NewStreaming(t.Context(), ask)
	said, last := "", ""
	for stream.Next() {
		e := stream.Current()
		if last = e.Type; last == "response.output_text.delta" {
			said += e.Delta
		}
	}
	if stream.Err() != nil || said != whole.OutputText() || last != "response.completed" {
		t.Errorf("%v %q %s", stream.Err(), said, last)
	}
	if got, err := c.Responses.Get(t.Context(), whole.ID, responses.ResponseGetParams{}); err != nil || got.OutputText() != said {
		t.Errorf("%v", err)
	}
	if err := c.Responses.Delete(t.Context(), whole.ID); err != nil {
		t.Error(err)
	}
}

// An agent of OpenAI's own library uses a tool, over both of the APIs.
func TestStockAgents(t *testing.T) {
	home, err := os.UserHomeDir()
	if dir := os.Getenv("DURE_HOME"); dir != "" {
		home = dir
	} else if err == nil {
		home = filepath.Join(home, ".dure")
	}
	clients := filepath.Join(home, "clients", "agents")
	if _, err := os.Stat(filepath.Join(clients, "agents")); err != nil {
		t.Skip("openai-agents is not there; `make clients` fetches it")
	}
	w := newKept(t, t.TempDir(), talker)
	cmd := exec.Command("python3", filepath.Join("testdata", "tooluser.py"), w.URL+"/v1")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+clients)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "all good") {
		t.Errorf("%v\n%s", err, out)
	}
}
