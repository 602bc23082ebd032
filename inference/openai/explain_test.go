package openai

import (
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/fronttest"
)

// explained answers every question with the same, and keeps it.
func explained(w *world, e inference.Explanation) *[]*inference.ExplainRequest {
	var asked []*inference.ExplainRequest
	w.models.Explain = func(req *inference.ExplainRequest) (*inference.Explanation, error) {
		asked = append(asked, req)
		return &e, nil
	}
	return &asked
}

func TestExplain(t *testing.T) {
	w := newWorld(t, nil)
	one := 1
	asked := explained(w, inference.Explanation{
		Text: "<b>hi", PromptTokens: 9, From: 2, Tokens: []inference.TokenPiece{{ID: 7, Piece: []byte("<b>")}, {ID: 8, Piece: []byte{0xc3}}},
		Remembered: 1, CachedTokens: 4, KnownTokens: 5, PrefixUsage: inference.PrefixUsage{Tier: "ram", Reason: "new"},
		Spans: []inference.CachedSpan{{From: 0, To: 3, Tier: "hot"}, {From: 3, To: 4, Tier: "ram"}},
		Past: &inference.PastPrompt{PromptTokens: 12, SameTokens: 4, Was: []inference.TokenPiece{{ID: 1, Piece: []byte("was")}},
			Is: []inference.TokenPiece{{ID: 2, Piece: []byte("is")}}, Message: &one},
		Warnings: []inference.Warning{{Message: "w"}},
	})
	got := w.do("POST", "/v1/dure/explain", `{"messages":[{"role":"system","content":"a"},{"role":"user","content":"b"}],"session":"s",
		"tokens_from":2,"tokens_limit":2,"temperature":1,"stream":true,"stream_options":{"include_usage":true},"tools":[`+look+`],"foo":1}`)
	want := `{"object":"dure.explanation","model":"small","text":"<b>hi","prompt_tokens":9,` +
		`"tokens":{"from":2,"next":4,"list":[{"id":7,"piece":"<b>"},{"id":8,"piece":[195]}]},"remembered_tokens":1,` +
		`"cache":{"cached_tokens":4,"known_tokens":5,"tier":"ram","reason":"new","spans":[{"from":0,"to":3,"tier":"hot"},{"from":3,"to":4,"tier":"ram"}]},` +
		`"session":{"prompt_tokens":12,"same_tokens":4,"difference":{"position":4,"was":[{"id":1,"piece":"was"}],"is":[{"id":2,"piece":"is"}],"message":{"index":1,"role":"user"}}},` +
		`"warnings":["foo: unknown field, ignored","w"]}` + "\n"
	if got.status != 200 || got.body != want {
		t.Errorf("%d\n got %s\nwant %s", got.status, got.body, want)
	}
	if len(*asked) != 1 {
		t.Fatalf("asked %d times", len(*asked))
	}
	if a := (*asked)[0]; a.From != 2 || a.Limit != 2 || a.Request.Caller.Session != "s" || len(a.Request.Tools) != 1 || len(a.Request.Messages) != 2 || a.Request.ID == "" {
		t.Errorf("asked %+v %+v", a, a.Request)
	}
	explained(w, inference.Explanation{PromptTokens: 1, Tokens: []inference.TokenPiece{{}}, PrefixUsage: inference.PrefixUsage{Tier: "gone"}})
	got = w.do("POST", "/v1/dure/explain", `{"messages":[{"role":"user","content":"b"}]}`)
	if want := `"next":null`; got.status != 200 || !strings.Contains(got.body, want) || !strings.Contains(got.body, `"session":null`) || !strings.Contains(got.body, `"spans":[]`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestExplainRefuses(t *testing.T) {
	w := newWorld(t, nil)
	for _, tt := range []struct{ body, code, param string }{
		{`{}`, "invalid_request", "messages"},
		{`{"messages":[]}`, "invalid_request", "messages"},
		{`{"messages":[{"role":"user","content":"a"}],"tokens_from":-1}`, "invalid_request", "tokens_from"},
		{`{"messages":[{"role":"user","content":"a"}],"tokens_limit":8193}`, "invalid_request", "tokens_limit"},
		{`{"messages":[{"role":"user","content":"a"}],"tokens_limit":"9"}`, "invalid_request", "tokens_limit"},
		{`{"messages":[{"role":"user","content":"a"}],"temperature":9}`, "invalid_request", "temperature"},
		{`{"messages":[{"role":"user","content":"a"}],"audio":{}}`, "unsupported_parameter", "audio"},
		{`{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, "unsupported_parameter", "messages[0].content[0]"},
		{`{"messages":[{"role":"user","content":"a"}],"stream_options":{}}`, "invalid_request", "stream_options"},
		{`{"messages":[{"role":"user","content":"a"}],"model":"nobody"}`, "model_not_found", "model"},
		{`{"messages":[{"role":"user","content":"a"}]}`, "unsupported_parameter", "model"}, // no explainer
		{`[`, "invalid_request", ""},
	} {
		got := w.do("POST", "/v1/dure/explain", tt.body)
		if got.status/100 != 4 && got.status != 501 || !strings.Contains(got.body, `"code":"`+tt.code+`"`) || tt.param != "" && !strings.Contains(got.body, `"param":"`+tt.param+`"`) {
			t.Errorf("%s: %d %s", tt.body, got.status, got.body)
		}
	}
}

// Nothing is computed, so that nothing is counted to the key.
func TestExplainIsNotBilled(t *testing.T) {
	keys := fronttest.Keys{"k": {Called: "k"}}
	w := newWorld(t, nil, func(o *front.Options) { o.Keys = keys })
	explained(w, inference.Explanation{PromptTokens: 9})
	ask := `{"messages":[{"role":"user","content":"b"}],"session":"s"}`
	if got := w.Do("POST", "/v1/dure/explain", ask, "Content-Type", "application/json", "Authorization", "Bearer k"); got.Status != 200 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if s := keys["k"].Settled(); len(s) != 1 || s[0].PromptTokens != 0 {
		t.Errorf("settled %+v", s)
	}
}

func FuzzDecodeExplain(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[{"role":"user","content":"a"}],"tokens_from":1,"tokens_limit":2}`,
		`{"messages":[{"role":"user","content":"a"}],"tokens_from":1e9,"tokens_limit":null,"stream":true}`,
		`{"tokens_limit":{}}`, `{"messages":[{"role":"tool","content":"a","tool_call_id":"x"}],"tools":[` + look + `]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decodeExplain(body)
		chat, chatErr := decodeChat(body)
		switch {
		case err != nil:
			return
		case r.from < 0 || r.limit < 0 || r.limit > maxExplainTokens || len(r.messages) == 0:
			t.Fatalf("%+v", r)
		case chatErr != nil:
			t.Fatalf("explained, but no chat: %v", chatErr)
		case len(chat.messages) != len(r.messages) || len(chat.wishes.tools) != len(r.wishes.tools):
			t.Fatalf("%+v\n%+v", chat, r)
		}
	})
}
