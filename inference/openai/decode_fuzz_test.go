package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"dure/inference"
	"dure/inference/front/strict"

	"pgregory.net/rapid"
)

// checkDecoded says what holds for every body: a typed refusal, or a request
// that a model can take.
func checkDecoded(body []byte, decode func([]byte) (*request, error)) error {
	r, err := decode(body)
	if err != nil {
		var e *inference.Error
		if !errors.As(err, &e) || e.Message == "" || len(e.Message) > 2000 || !utf8.ValidString(e.Message) {
			return fmt.Errorf("error %#v", err)
		}
		if e.Code != inference.CodeInvalidRequest && e.Code != inference.CodeUnsupported {
			return fmt.Errorf("code %s for %v", e.Code, err)
		}
		return nil
	}
	if !json.Valid(body) || !utf8.Valid(body) {
		return errors.New("a body that is not JSON was accepted")
	}
	if (len(r.messages) == 0) == (len(r.prompts) == 0) {
		return errors.New("neither messages nor prompts, or both")
	}
	for _, m := range r.messages {
		if m.Role == "" || !utf8.ValidString(m.Content) || strings.ContainsRune(m.Content+m.Name, 0) {
			return fmt.Errorf("message %+v", m)
		}
	}
	for _, p := range r.prompts {
		if p.Tokens == nil && (!utf8.ValidString(p.Text) || strings.ContainsRune(p.Text, 0)) || p.Tokens != nil && len(p.Tokens) == 0 {
			return fmt.Errorf("prompt %+v", p)
		}
	}
	p := r.params(inference.Params{TopP: 1})
	for _, f := range []float32{p.Temperature / maxTemperature, p.TopP, p.MinP, p.TypicalP, p.XTC.Probability, p.XTC.Threshold,
		(p.Penalties.Frequency + 2) / 4, (p.Penalties.Presence + 2) / 4, p.Penalties.Repeat / 100, p.DRY.Multiplier / 100, p.DRY.Base / 100,
		p.Mirostat.Tau / 100, p.Mirostat.Eta} {
		if math.IsNaN(float64(f)) || f < 0 || f > 1 {
			return fmt.Errorf("params %+v", p)
		}
	}
	if p.TopK < 0 || p.MaxTokens < 0 || len(p.Stop) > maxStops || len(r.warnings) > strict.MaxWarnings+1 ||
		p.Penalties.LastN < -1 || p.DRY.LastN < -1 || len(p.LogitBias) > maxBiases || p.TopLogprobs > inference.MaxTopLogprobs {
		return fmt.Errorf("params %+v, warnings %q", p, r.warnings)
	}
	if err := checkCaller(r.caller); err != nil {
		return err
	}
	if asks := r.requests(p); len(asks) < 1 || len(asks) > maxChoices {
		return fmt.Errorf("%d choices", len(asks))
	}
	return nil
}

func FuzzDecodeChat(f *testing.F) {
	for _, seed := range []string{hello, helloStream,
		with(`"temperature":0.5,"top_p":1,"top_k":3,"min_p":0,"seed":-1,"stop":["a","b"],"max_tokens":-1,"stream":true,"stream_options":{"include_usage":true}`),
		`{"messages":[{"role":"developer","content":[{"type":"text","text":"\ud83d\ude00"}]}],"foo":[{"a":[null]}]}`,
		with(`"session":"a/b","agent":"\u00e9","parent":"p","priority":"worker","deadline_ms":5,"next":"idle","pin_prefix":true,"prompt_cache_key":""`),
		with(`"response_format":{"type":"text"},"tools":[],"modalities":["text"],"metadata":{"a":[1]},"n":1,"logit_bias":{}`),
	} {
		f.Add([]byte(seed))
	}
	for _, refused := range refusedBodies() {
		f.Add([]byte(refused.body))
	}
	for _, refused := range refusedShared() {
		f.Add([]byte(with(refused.body)))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := checkDecoded(body, decodeChat); err != nil {
			t.Error(err)
		}
	})
}

func FuzzDecodeText(f *testing.F) {
	for _, seed := range []string{
		`{"prompt":"a"}`, `{"prompt":["a","b"],"n":2,"best_of":2,"echo":true,"stream":true}`, `{"prompt":[1,2],"logprobs":5,"suffix":""}`,
		`{"prompt":[[1],[2,3]],"logit_bias":{"5":-100},"xtc_probability":0.5,"repeat_last_n":0,"dry_penalty_last_n":0}`,
	} {
		f.Add([]byte(seed))
	}
	for _, refused := range refusedTexts() {
		f.Add([]byte(refused.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := checkDecoded(body, decodeText); err != nil {
			t.Error(err)
		}
	})
}

// A body of many small unknown values, which has to be read through.
func BenchmarkDecodeUnknown(b *testing.B) {
	body := []byte(with(`"foo":[` + strings.Repeat("0,", 4<<20) + `0]`))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if r, err := decodeChat(body); err != nil || len(r.warnings) != 1 {
			b.Fatal(err)
		}
	}
}

// A skipped value ends where encoding/json says it ends.
func TestSkipProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) any
		value = func(depth int) any {
			switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case kind == 0 && depth > 0:
				list := []any{}
				for range rapid.IntRange(0, 3).Draw(t, "items") {
					list = append(list, value(depth-1))
				}
				return list
			case kind == 1 && depth > 0:
				object := map[string]any{}
				for range rapid.IntRange(0, 3).Draw(t, "members") {
					object[rapid.String().Draw(t, "name")] = value(depth - 1)
				}
				return object
			case kind == 2:
				return rapid.Float64Range(-1e300, 1e300).Draw(t, "number")
			case kind == 3:
				return rapid.SampledFrom([]any{nil, true, false}).Draw(t, "literal")
			}
			return rapid.StringMatching(`[\\"\[\]{},:a é]*`).Draw(t, "text")
		}
		foo := value(4)
		body, err := json.Marshal(map[string]any{"a": foo, "messages": []any{map[string]any{"role": "user", "content": "hi"}}, "z": foo})
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "spaces") {
			var buf bytes.Buffer
			json.Indent(&buf, body, " ", "\t")
			body = buf.Bytes()
		}
		r, err := decodeChat(body)
		if err != nil || len(r.messages) != 1 || len(r.warnings) != 2 {
			t.Fatalf("%v %q: %s", err, r.warnings, body)
		}
	})
}

// Whatever the order and spacing of members, the same request comes out.
func TestDecodeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clean := rapid.String().Filter(func(s string) bool { return !strings.ContainsRune(s, 0) })
		roleNames := []string{"system", "developer", "user", "assistant"}
		var want []inference.Message
		var sent []map[string]any
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			role := rapid.SampledFrom(roleNames).Draw(t, "role")
			parts := rapid.SliceOfN(clean, 1, 3).Draw(t, "parts")
			m := map[string]any{"role": role, "content": parts[0]}
			if len(parts) > 1 {
				var list []map[string]any
				for _, p := range parts {
					list = append(list, map[string]any{"type": "text", "text": p})
				}
				m["content"] = list
			}
			sent = append(sent, m)
			want = append(want, inference.Message{Role: roles[role], Content: strings.Join(parts, "\n")})
		}
		seed := rapid.Int64().Draw(t, "seed")
		temperature := rapid.Float32Range(0, 5).Draw(t, "temperature")
		body, err := json.Marshal(map[string]any{"messages": sent, "seed": seed, "temperature": temperature})
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "spaces") {
			var buf bytes.Buffer
			json.Indent(&buf, body, " ", "\t")
			body = buf.Bytes()
		}
		r, err := decodeChat(body)
		if err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		p := r.params(inference.Params{})
		if fmt.Sprint(r.messages) != fmt.Sprint(want) || p.Seed != uint64(seed) || p.Temperature != temperature {
			t.Fatalf("got %+v from %s", r, body)
		}
	})
}

// No body makes the decoder of responses or the way to messages panic, and what it
// takes can be kept and read again as the same conversation.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		`{"input":"hi"}`, `{"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"reasoning","summary":[]}]}`,
		`{"input":[{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}]}`,
		`{"input":"x","text":{"format":{"type":"json_schema","name":"n","schema":{}}},"reasoning":{"effort":"low","summary":"auto"},"include":[]}`,
		`{"input":"x","tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}}`,
		`{"input":[{"type":"function_call","call_id":"c","namespace":"n","name":"f","arguments":"{}"}],"tools":[{"type":"web_search","a":1},
			{"type":"namespace","name":"n","description":"d","tools":[{"type":"function","name":"f","parameters":{}}]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decodeResponse(body)
		if err != nil {
			return
		}
		said, err := conversation(r.input, 0)
		if err != nil {
			return
		}
		written, err := json.Marshal(r.input)
		if err != nil {
			t.Fatal(err)
		}
		var again []item
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatal(err)
		}
		if got, err := conversation(again, 0); err != nil || !reflect.DeepEqual(got, said) {
			t.Errorf("%v\n%+v\n%+v", err, got, said)
		}
	})
}
