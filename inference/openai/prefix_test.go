package openai

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"dure/inference"
)

// Where the prefix came from is told in both shapes of an answer.
func TestPrefixUsage(t *testing.T) {
	end := inference.Event{Kind: inference.EventDone, Finish: inference.FinishStop, Usage: &inference.Usage{
		PromptTokens: 7, CompletionTokens: 3, CachedTokens: 2, QueueMS: 1.5, RestoreMS: 0.25, PrefillMS: 2.5, DecodeMS: 3.5,
		Prefix: &inference.PrefixUsage{Tier: "disk", Reason: "checkpoint", Break: &inference.PrefixBreak{Position: 2, Was: "\"<", Is: ""}}}}
	w := newWorld(t, script(nil, started(), says("x"), end))
	const want = `"prompt_tokens_details":{"cached_tokens":2},"dure":{"queue_ms":1.5,"restore_ms":0.25,"prefill_ms":2.5,"decode_ms":3.5,` +
		`"tier":"disk","reason":"checkpoint","break":{"position":2,"was":"\"<","is":""},"seed":0}}`
	for _, got := range []reply{w.chat(hello), w.complete(`{"prompt":"a"}`),
		w.chat(`{"stream_options":{"include_usage":true},` + helloStream[1:])} {
		if !strings.Contains(steady(got.body), want) {
			t.Errorf("%s", got.body)
		}
	}
}

// Of several choices, the one that read most of its prompt tells why.
func TestPrefixUsageOfChoices(t *testing.T) {
	calls := 0
	w := newWorld(t, func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
		calls++
		u := &inference.Usage{PromptTokens: 7, CachedTokens: 2 * (calls % 3), RestoreMS: 1, Prefix: &inference.PrefixUsage{Tier: fmt.Sprint("tier", calls)}}
		return script(nil, started(), inference.Event{Kind: inference.EventDone, Finish: inference.FinishStop, Usage: u})(nil, nil)
	})
	w.models.Info.Sequences = 1
	if got := w.chat(`{"n":3,` + hello[1:]); !strings.Contains(got.body, `"cached_tokens":0`) || !strings.Contains(got.body, `"tier":"tier3"`) ||
		!strings.Contains(got.body, `"restore_ms":3`) {
		t.Errorf("%s", got.body)
	}
}

// Each priority has its own histograms; none stands for a person who waits.
func TestMetricsOfPriorities(t *testing.T) {
	w := newWorld(t, script(nil, started(), says("a"), says("b"), done()))
	w.chat(hello)
	w.chat(`{"priority":"interactive",` + hello[1:])
	w.chat(`{"priority":"background",` + hello[1:])
	for _, name := range []string{"dure_time_to_first_token_seconds", "dure_inter_token_gap_seconds", "dure_queue_wait_seconds"} {
		for priority, want := range map[string]string{"interactive": "2", "background": "1", "": ""} {
			if got := w.Metric(name + `_count{model="small",priority="` + priority + `"}`); got != want {
				t.Errorf("%s of %q is %q, want %q", name, priority, got, want)
			}
		}
	}
	if got := w.Metric(`dure_queue_wait_seconds_sum{model="small",priority="background"}`); got != "0.0015" {
		t.Errorf("waited %s s", got)
	}
}
