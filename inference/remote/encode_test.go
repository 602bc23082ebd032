package remote

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dure/inference"
)

// own is a server of one's own.
var own = &Endpoint{Model: "m", Own: true}

// Every parameter that is set reaches the wire, and none that is not.
func TestEveryParameterIsSent(t *testing.T) {
	const usual = `"stream":true,"stream_options":{"include_usage":true},"temperature":0,"top_p":1`
	_, body, err := openAI{}.encode(own, &inference.Request{Params: inference.Params{TopP: 1}})
	if err != nil || string(body) != `{"model":"m",`+usual+`}` {
		t.Errorf("%s, %v", body, err)
	}
	full := inference.Params{}
	fill(reflect.ValueOf(&full).Elem())
	bare := reflect.ValueOf(newParams(inference.Params{}))
	all := reflect.ValueOf(newParams(full))
	for i := range all.NumField() {
		if all.Type().Field(i).Name == "MaxCompletion" {
			continue // max_tokens under OpenAI's name
		}
		if reflect.DeepEqual(all.Field(i).Interface(), bare.Field(i).Interface()) {
			t.Errorf("%s does not follow the parameters", all.Type().Field(i).Name)
		}
	}
}

// So does everything about the caller.
func TestWholeCallerIsSent(t *testing.T) {
	full := inference.Request{}
	fill(reflect.ValueOf(&full.Caller).Elem())
	_, body, err := openAI{}.encode(own, &full)
	want := `,"prompt_cache_key":"x","agent":"x","parent":"x","priority":"x","deadline_ms":3,"next":"x","pin_prefix":true,"keep_alive":"3ns"}`
	if err != nil || !strings.HasSuffix(string(body), want) {
		t.Errorf("%s, %v", body, err)
	}
	if n := reflect.TypeFor[inference.Caller]().NumField(); n != strings.Count(want, ":") {
		t.Errorf("a caller has %d fields", n)
	}
}

// fill sets every field to something that is not its zero value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float32:
		v.SetFloat(0.5)
	case reflect.Uint64:
		v.SetUint(3)
	default:
		v.SetInt(3)
	}
}

func TestPromptGoesToTheOtherRoute(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/completions" || !strings.Contains(string(body), `"prompt":[1,2]`) {
			t.Errorf("%s %s", r.URL, body)
		}
		io.WriteString(w, `data: {"choices":[{"text":"ab"}]}`+"\n\n"+`data: {"choices":[{"text":"","finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	req := &inference.Request{Prompt: &inference.Prompt{Tokens: []int32{1, 2}}}
	text := ""
	for ev, err := range m.Generate(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		text += ev.Text
	}
	if text != "ab" {
		t.Errorf("%q", text)
	}
	req.Params.Logprobs = true
	for _, err := range m.Generate(t.Context(), req) {
		if !errors.Is(err, inference.ErrUnsupported) {
			t.Errorf("logprobs: %v", err)
		}
	}
}

func TestLogprobs(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `data: {"choices":[{"delta":{"content":"é"},"logprobs":{"content":[`+
			`{"token":"\ufffd","logprob":-1,"bytes":[195],"top_logprobs":[{"token":"x","logprob":-0.5,"bytes":null}]},`+
			`{"token":"\ufffd","logprob":-2,"bytes":[169],"top_logprobs":[]}]}}]}`+"\n\n"+
			`data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	var got []inference.TokenLogprob
	for ev, err := range m.Generate(t.Context(), &inference.Request{Params: inference.Params{Logprobs: true}}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev.Logprobs...)
	}
	want := []inference.TokenLogprob{
		{Candidate: inference.Candidate{Token: unknownToken, Bytes: []byte{195}, Logprob: -1},
			Top: []inference.Candidate{{Token: unknownToken, Bytes: []byte("x"), Logprob: -0.5}}},
		{Candidate: inference.Candidate{Token: unknownToken, Bytes: []byte{169}, Logprob: -2}},
	}
	if !slices.EqualFunc(got, want, func(a, b inference.TokenLogprob) bool { return reflect.DeepEqual(a, b) }) {
		t.Errorf("%+v", got)
	}
}
