package openai

import (
	"context"
	"fmt"
	"iter"
	"math"
	"testing"

	"dure/inference"

	"github.com/google/go-cmp/cmp"
)

// What both routes take reaches the model's parameters.
func TestDecodeParams(t *testing.T) {
	base := inference.Params{Temperature: 0.5, TopP: 0.9, Seed: 5, MaxTokens: 64,
		Penalties: inference.Penalties{Frequency: 0.5}, DRY: inference.DRY{Multiplier: 1}}
	for members, change := range map[string]func(*inference.Params){
		`"frequency_penalty":-2,"presence_penalty":2`: func(p *inference.Params) { p.Penalties.Frequency, p.Penalties.Presence = -2, 2 },
		`"repeat_penalty":1.5,"repeat_last_n":-1`:     func(p *inference.Params) { p.Penalties.Repeat, p.Penalties.LastN = 1.5, -1 },
		`"repeat_last_n":7`:                           func(p *inference.Params) { p.Penalties.LastN = 7 },
		`"repeat_last_n":0,"repeat_penalty":2`:        func(p *inference.Params) { p.Penalties = inference.Penalties{} },
		`"logit_bias":{}`:                             func(*inference.Params) {},
		`"logit_bias":{"0":-100,"2147483647":0.5}`: func(p *inference.Params) {
			p.LogitBias = []inference.TokenBias{{Token: 0, Bias: -100}, {Token: math.MaxInt32, Bias: 0.5}}
		},
		`"dry_multiplier":0.5,"dry_base":2,"dry_allowed_length":3,"dry_penalty_last_n":9,"dry_sequence_breakers":["\n","\ud83d\ude00"]`: func(p *inference.Params) {
			p.DRY = inference.DRY{Multiplier: 0.5, Base: 2, AllowedLength: 3, LastN: 9, Breakers: []string{"\n", "😀"}}
		},
		`"dry_penalty_last_n":-1`:                   func(p *inference.Params) { p.DRY.LastN = -1 },
		`"dry_penalty_last_n":0,"dry_multiplier":3`: func(p *inference.Params) { p.DRY = inference.DRY{} },
		`"xtc_probability":0.5`:                     func(p *inference.Params) { p.XTC = inference.XTC{Probability: 0.5, Threshold: 0.1} },
		`"xtc_probability":0.5,"xtc_threshold":0`:   func(p *inference.Params) { p.XTC = inference.XTC{Probability: 0.5} },
		`"xtc_probability":0,"xtc_threshold":0.25`:  func(p *inference.Params) { p.XTC.Threshold = 0.25 },
		`"typical_p":0.25,"min_p":1,"top_k":0`:      func(p *inference.Params) { p.TypicalP, p.MinP = 0.25, 1 },
		`"mirostat":2,"mirostat_tau":5,"mirostat_eta":0.5`: func(p *inference.Params) {
			p.Mirostat = inference.Mirostat{Version: 2, Tau: 5, Eta: 0.5}
		},
		`"max_tokens":-1`: func(p *inference.Params) { p.MaxTokens = 0 },
		`"seed":-0,"temperature":-0`: func(p *inference.Params) {
			p.Seed, p.Temperature = 0, float32(math.Copysign(0, -1))
		},
	} {
		want := base
		change(&want)
		for body, decode := range map[string]func([]byte) (*request, error){
			with(members): decodeChat, `{` + members + `,"prompt":"a"}`: decodeText,
		} {
			r, err := decode([]byte(body))
			if err != nil || len(r.warnings) > 0 {
				t.Errorf("%s: %v, %q", body, err, r.warnings)
				continue
			}
			if diff := cmp.Diff(want, r.params(base)); diff != "" {
				t.Errorf("%s: %s", body, diff)
			}
		}
	}
}

// A seed is told as it was sent, and so can be sent again.
func TestSeedIsToldAsSent(t *testing.T) {
	var used []uint64
	w := newWorld(t, func(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		used = append(used, req.Params.Seed)
		return script(nil, started(), done())(nil, nil)
	})
	w.models.Info.Sequences = 1
	for _, seed := range []int64{0, 1, -1, -2, math.MinInt64, math.MaxInt64} {
		used = nil
		body := fmt.Sprintf(`{"n":2,"seed":%d,"prompt":"a"}`, seed)
		for _, got := range []answered{w.answer(t, "/v1/completions", body), w.streamed(t, "/v1/completions", body)} {
			if got.Usage.Dure.Seed != seed {
				t.Errorf("%d is told as %d", seed, got.Usage.Dure.Seed)
			}
		}
		if s := uint64(seed); fmt.Sprint(used) != fmt.Sprint([]uint64{s, s + 1, s, s + 1}) {
			t.Errorf("%d: used %d", seed, used)
		}
	}
}

// Logprobs are asked for in two ways.
func TestDecodeLogprobs(t *testing.T) {
	for _, tt := range []struct {
		decode func([]byte) (*request, error)
		body   string
		on     bool
		top    int
	}{
		{decodeChat, with(`"logprobs":true,"top_logprobs":20`), true, 20},
		{decodeChat, with(`"top_logprobs":1,"logprobs":true`), true, 1},
		{decodeChat, with(`"logprobs":true`), true, 0},
		{decodeChat, with(`"logprobs":false,"top_logprobs":0`), false, 0},
		{decodeText, `{"prompt":"a","logprobs":0}`, true, 0},
		{decodeText, `{"prompt":"a","logprobs":20}`, true, 20},
		{decodeText, `{"prompt":"a","logprobs":null}`, false, 0},
	} {
		r, err := tt.decode([]byte(tt.body))
		if err != nil {
			t.Fatalf("%s: %v", tt.body, err)
		}
		if p := r.params(inference.Params{}); p.Logprobs != tt.on || p.TopLogprobs != tt.top {
			t.Errorf("%s: %+v", tt.body, p)
		}
	}
}

func TestDecodePrompt(t *testing.T) {
	texts := func(all ...string) (p []inference.Prompt) {
		for _, s := range all {
			p = append(p, inference.Prompt{Text: s})
		}
		return p
	}
	for members, want := range map[string][]inference.Prompt{
		`"prompt":"a"`:            texts("a"),
		`"prompt":""`:             texts(""),
		`"prompt":["a"]`:          texts("a"),
		`"prompt":["", "\u00e9"]`: texts("", "é"),
		`"prompt":[ 0, 5 ]`:       {{Tokens: []int32{0, 5}}},
		`"prompt":[[2147483647]]`: {{Tokens: []int32{math.MaxInt32}}},
		`"prompt":[[1], [2,3]],"n":64,"best_of":64,"suffix":null,"user":"u"`: {{Tokens: []int32{1}}, {Tokens: []int32{2, 3}}},
		`"suffix":"","best_of":1,"echo":false,"prompt":"b"`:                  texts("b"),
	} {
		r, err := decodeText([]byte(`{` + members + `}`))
		if err != nil || len(r.warnings) > 0 {
			t.Errorf("%s: %v", members, err)
		} else if diff := cmp.Diff(want, r.prompts); diff != "" {
			t.Errorf("%s: %s", members, diff)
		}
	}
	r, err := decodeText([]byte(`{"prompt":"a","messages":[],"max_completion_tokens":5,"n":1}`))
	if err != nil || len(r.warnings) != 2 {
		t.Errorf("%v %q", err, r.warnings)
	}
}

// A threshold that the model's entry sets stands.
func TestXTCThresholdOfTheEntry(t *testing.T) {
	r, err := decodeChat([]byte(with(`"xtc_probability":0.5`)))
	if err != nil {
		t.Fatal(err)
	}
	if p := r.params(inference.Params{XTC: inference.XTC{Threshold: 0.25}}); p.XTC.Threshold != 0.25 {
		t.Errorf("%+v", p.XTC)
	}
}
