package swarm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/inference"
)

// fake is a server in this process: as much of the API as the client needs. Its
// tokens are the bytes of a text.
type fake struct {
	owner string // "llamacpp", "" or "dure"
	// answer writes what a chat request gets; nil: the words that were asked for.
	answer http.HandlerFunc

	mu    sync.Mutex
	asked []wireAsk
	raw   []map[string]any
}

func (f *fake) start(t *testing.T) *Endpoint {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", f.models)
	mux.HandleFunc("POST /v1/chat/completions", f.chat)
	base := ""
	if f.owner == "dure" {
		base = "/v1"
	}
	mux.HandleFunc("POST "+base+"/tokenize", tokenize)
	mux.HandleFunc("POST "+base+"/apply-template", template)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	e, err := Connect(t.Context(), Options{URL: srv.URL, Key: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func (f *fake) models(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer secret" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if f.owner == "dure" {
		fmt.Fprint(w, `{"data":[{"id":"other","owned_by":"dure","dure":{"default":false}},{"id":"main","owned_by":"dure","dure":{"default":true}}]}`)
		return
	}
	fmt.Fprintf(w, `{"data":[{"id":"main","owned_by":%q},{"id":"other","owned_by":%q}]}`, f.owner, f.owner)
}

func tokenize(w http.ResponseWriter, r *http.Request) {
	var body struct{ Content string }
	json.NewDecoder(r.Body).Decode(&body)
	tokens := []int32{}
	for _, b := range []byte(body.Content) {
		tokens = append(tokens, int32(b))
	}
	json.NewEncoder(w).Encode(map[string]any{"tokens": tokens})
}

func template(w http.ResponseWriter, r *http.Request) {
	var body struct{ Messages []inference.Message }
	json.NewDecoder(r.Body).Decode(&body)
	json.NewEncoder(w).Encode(map[string]any{"prompt": render(body.Messages)})
}

func render(messages []inference.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "<%s>%s", m.Role, m.Content)
	}
	return b.String() + "<assistant>"
}

func (f *fake) chat(w http.ResponseWriter, r *http.Request) {
	var raw map[string]any
	json.NewDecoder(r.Body).Decode(&raw)
	data, _ := json.Marshal(raw)
	var ask wireAsk
	json.Unmarshal(data, &ask)
	f.mu.Lock()
	f.asked, f.raw = append(f.asked, ask), append(f.raw, raw)
	f.mu.Unlock()
	if f.answer != nil {
		f.answer(w, r.WithContext(context.WithValue(r.Context(), askKey{}, ask)))
		return
	}
	for range ask.MaxTokens {
		event(w, `{"choices":[{"delta":{"content":"x"}}]}`)
	}
	prompt := len(render(ask.Messages))
	event(w, fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":10}}}`, prompt, ask.MaxTokens))
	event(w, "[DONE]")
}

type askKey struct{}

// asked is what the request of an answer holds.
func asked(r *http.Request) wireAsk { return r.Context().Value(askKey{}).(wireAsk) }

func event(w http.ResponseWriter, data string) {
	fmt.Fprintf(w, "data: %s\n\n", data)
	w.(http.Flusher).Flush()
}

func ask() Ask { return Ask{Messages: User("hello"), Output: 3} }

func TestConnectFindsKindAndModel(t *testing.T) {
	for owner, want := range map[string]Kind{"dure": Dure, "llamacpp": LlamaServer, "": Other} {
		e := (&fake{owner: owner}).start(t)
		if e.Kind != want || e.Model != "main" || e.Counts() != (want != Other) {
			t.Errorf("%q: %+v", owner, e)
		}
		if want == Other {
			continue
		}
		tokens, err := e.PromptTokens(t.Context(), User("ab"))
		if got := string(rune(tokens[6])); err != nil || len(tokens) != len("<user>ab<assistant>") || got != "a" {
			t.Errorf("%q: %v, %v", owner, tokens, err)
		}
	}
	for _, url := range []string{"127.0.0.1:1", "http://127.0.0.1:1"} {
		if _, err := Connect(t.Context(), Options{URL: url}); err == nil {
			t.Errorf("%s is taken for a server", url)
		}
	}
}

func TestOwnFieldsGoToDureOnly(t *testing.T) {
	for _, owner := range []string{"dure", "llamacpp", ""} {
		f := &fake{owner: owner}
		e := f.start(t)
		a := ask()
		a.Caller = inference.Caller{Session: "s", Agent: "a", Next: inference.PhaseWaiting}
		if turn := e.Chat(t.Context(), a, nil); !turn.OK() || turn.Text != "xxx" || turn.Completion != 3 || turn.Read != turn.Prompt-10 {
			t.Fatalf("%+v", turn)
		}
		sent := f.raw[0]
		_, session := sent["session"]
		_, ignore := sent["ignore_eos"]
		if session != (owner == "dure") || ignore != (owner != "") || sent["next"] != nil != session || sent["temperature"] != 0. || sent["stream"] != true {
			t.Errorf("%q gets %v", owner, sent)
		}
	}
}

func TestFailuresByKind(t *testing.T) {
	text := func(s string) string { return `{"choices":[{"delta":{"content":"` + s + `"}}]}` }
	for name, tc := range map[string]struct {
		kind   string
		answer http.HandlerFunc
	}{
		"drop":    {KindDropped, func(w http.ResponseWriter, _ *http.Request) { event(w, text("a")) }},
		"cut":     {KindDropped, func(w http.ResponseWriter, _ *http.Request) { event(w, text("a")); panic(http.ErrAbortHandler) }},
		"garbled": {KindMalformed, func(w http.ResponseWriter, _ *http.Request) { event(w, text("a")); event(w, `{"choices":[`) }},
		"error": {KindEvent + ": runner_lost", func(w http.ResponseWriter, _ *http.Request) {
			event(w, `{"error":{"code":"runner_lost","message":"m"}}`)
		}},
		"status": {KindStatus + " 400: context_length_exceeded", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			fmt.Fprint(w, `{"error":{"code":"context_length_exceeded","message":"m"}}`)
		}},
		"no JSON":   {KindStatus + " 502", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502); fmt.Fprint(w, "<html>") }},
		"429 alone": {KindStatus + " 429", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }},
		"empty":     {KindEmpty, func(w http.ResponseWriter, _ *http.Request) { event(w, "[DONE]") }},
		"no answer": {KindUnreachable, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"endless": {KindEndless, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				event(w, text("a"))
			}
		}},
		"long line": {KindDropped, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "data: "+strings.Repeat("x", maxLine+100_000))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			turn := (&fake{answer: tc.answer}).start(t).Chat(t.Context(), ask(), nil)
			if turn.OK() || turn.Err.Kind != tc.kind {
				t.Errorf("%v, want %s", turn.Err, tc.kind)
			}
		})
	}
}

func TestSilenceIsAStall(t *testing.T) {
	e := (&fake{answer: func(w http.ResponseWriter, r *http.Request) {
		event(w, `{"choices":[{"delta":{"content":"a"}}]}`)
		<-r.Context().Done()
	}}).start(t)
	e.Stall = 50 * time.Millisecond
	if turn := e.Chat(t.Context(), ask(), nil); turn.OK() || turn.Err.Kind != KindStalled || len(turn.Deliveries) != 1 {
		t.Errorf("%v", turn.Err)
	}
}

func TestBusyIsFollowed(t *testing.T) {
	left := 2
	f := &fake{}
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		if left--; left >= 0 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(429)
			return
		}
		event(w, `{"choices":[{"delta":{"content":"a"}}]}`)
		event(w, "[DONE]")
	}
	turn := f.start(t).Chat(t.Context(), ask(), nil)
	if !turn.OK() || turn.Refusals != 2 || len(f.asked) != 3 || turn.Prompt != notTold || turn.Read != notTold {
		t.Errorf("%+v", turn)
	}
	left = 1 << 20 // for ever: the client gives up
	if turn = f.start(t).Chat(t.Context(), ask(), nil); turn.OK() || turn.Refusals != maxTries || turn.Err.Kind != KindStatus+" 429" {
		t.Errorf("%+v", turn)
	}
}

func TestInterruptIsNobodysFault(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := (&fake{answer: func(w http.ResponseWriter, r *http.Request) {
		event(w, `{"choices":[{"delta":{"content":"a"}}]}`)
		<-r.Context().Done()
	}}).start(t)
	turn := e.Chat(ctx, ask(), cancel)
	if turn.OK() || turn.Err.Kind != KindInterrupted {
		t.Errorf("%v", turn.Err)
	}
}

// What the server computed outweighs what it counts as cached.
func TestTimingsOutweighUsage(t *testing.T) {
	e := (&fake{owner: "llamacpp", answer: func(w http.ResponseWriter, _ *http.Request) {
		event(w, `{"choices":[{"delta":{"content":"a"}}]}`)
		event(w, `{"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":19}},"timings":{"cache_n":19,"prompt_n":4}}`)
		event(w, "[DONE]")
	}}).start(t)
	if turn := e.Chat(t.Context(), ask(), nil); turn.Read != 4 || turn.Prompt != 20 {
		t.Errorf("%+v", turn)
	}
}
