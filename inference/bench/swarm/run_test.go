package swarm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func smallShape() Shape {
	return Shape{Agents: 3, Turns: 3, SharedTokens: 200, TaskWords: 5, ResultWords: 5, Output: 4, Seed: 7}
}

func TestRunAgainstAServerThatTellsItsTokens(t *testing.T) {
	f := &fake{owner: "dure"}
	r, err := Run(t.Context(), f.start(t), smallShape())
	if err != nil {
		t.Fatal(err)
	}
	if r.Finished != 3 || r.Answered != 9 || len(r.Errors) != 0 || r.Interrupted || *r.Completion != 36 || r.First.N != 3 || r.Later.N != 6 {
		t.Errorf("%+v", r)
	}
	// The fake counts bytes, so the tree can be counted from what was asked.
	nodes := map[string]bool{}
	prompt := 0
	for _, a := range f.asked {
		text := render(a.Messages)
		prompt += len(text)
		for n := range len(text) {
			nodes[text[:n+1]] = true
		}
	}
	if *r.Prompt != prompt || *r.Read != prompt-90 || *r.Distinct != len(nodes) {
		t.Errorf("prompt %d, read %d, distinct %d; want %d, %d, %d", *r.Prompt, *r.Read, *r.Distinct, prompt, prompt-90, len(nodes))
	}
	// Three agents, two answers each in later prompts, four tokens of which the
	// last was not computed.
	if *r.Fresh != *r.Distinct-3*2*3 {
		t.Errorf("fresh %d of %d", *r.Fresh, *r.Distinct)
	}
	ended := 0
	for _, a := range f.asked {
		if a.Next == "ended" {
			ended++
		}
	}
	if ended != 3 {
		t.Errorf("%d turns say that nobody comes back", ended)
	}
}

func TestTheSameSeedAsksTheSame(t *testing.T) {
	prompts := func(seed uint64) map[string]bool {
		f := &fake{owner: "llamacpp"}
		s := smallShape()
		s.Seed = seed
		if _, err := Run(t.Context(), f.start(t), s); err != nil {
			t.Fatal(err)
		}
		all := map[string]bool{}
		for _, a := range f.asked {
			all[render(a.Messages)] = true
		}
		return all
	}
	a, b, other := prompts(1), prompts(1), prompts(2)
	if len(a) != 9 {
		t.Errorf("%d different prompts of 9", len(a))
	}
	for text := range a {
		if !b[text] || other[text] {
			t.Fatalf("the seed does not decide: %.80s", text)
		}
	}
}

// An agent whose turn failed goes no further; the others do.
func TestRunCountsErrors(t *testing.T) {
	f := &fake{}
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		event(w, `{"choices":[{"delta":{"content":"a"}}]}`)
		if !strings.Contains(render(asked(r).Messages), "Agent 1,") {
			event(w, "[DONE]")
		}
	}
	s := smallShape()
	s.Staggered, s.ToolWait = true, time.Millisecond
	s.SharedTokens = 0
	r, err := Run(t.Context(), f.start(t), s)
	if err != nil {
		t.Fatal(err)
	}
	if r.Finished != 2 || r.Answered != 6 || len(r.Errors) != 1 || r.Errors[KindDropped] != 1 || r.Read != nil || r.Distinct != nil {
		t.Errorf("%+v", r)
	}
}

func TestRunInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var n atomic.Int64
	e := (&fake{owner: "dure", answer: func(w http.ResponseWriter, r *http.Request) {
		event(w, `{"choices":[{"delta":{"content":"a"}}]}`)
		if n.Add(1) == 5 {
			cancel()
			<-r.Context().Done()
			return
		}
		event(w, `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}`)
		event(w, "[DONE]")
	}}).start(t)
	r, err := Run(ctx, e, smallShape())
	if err != nil || !r.Interrupted || r.Answered == 0 || r.Answered > 4 || len(r.Errors) != 0 || r.Distinct == nil {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestShapesAreChecked(t *testing.T) {
	e := (&fake{}).start(t)
	for _, change := range []func(*Shape){
		func(s *Shape) { s.Agents = 0 }, func(s *Shape) { s.Turns = -1 }, func(s *Shape) { s.Output = 1 << 30 },
		func(s *Shape) { s.ToolWait = -1 }, func(s *Shape) { s.SharedTokens = -1 },
	} {
		s := smallShape()
		if change(&s); s.validate() == nil {
			t.Errorf("%+v is taken", s)
		}
	}
	if _, err := Gap(t.Context(), e, GapShape{Streams: 1, PromptTokens: 1, StreamTokens: 1, Before: 1}); err == nil {
		t.Error("a gap needs two deliveries")
	}
	if _, err := Resume(t.Context(), e, ResumeShape{}, nil); err == nil {
		t.Error("an empty shape is taken")
	}
}

func TestGap(t *testing.T) {
	stopped := make(chan struct{}, 2)
	f := &fake{owner: "llamacpp"}
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		for range asked(r).MaxTokens {
			event(w, `{"choices":[{"delta":{"content":"a"}}]}`)
			if r.Context().Err() != nil {
				stopped <- struct{}{}
				return
			}
		}
		event(w, `{"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":8}}`)
		event(w, "[DONE]")
	}
	e := f.start(t)
	r, err := Gap(t.Context(), e, GapShape{Streams: 2, PromptTokens: 300, StreamTokens: 50_000_000, Before: 5, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	<-stopped // the streams end with the measurement
	<-stopped
	if r.Step.N < 8 || r.Gap.N == 0 || r.Loaded <= 0 || r.Solo <= 0 || *r.Prompt != 50 {
		t.Errorf("%+v", r)
	}
	prompts := f.asked[2:]
	if len(prompts) != 2 || render(prompts[0].Messages)[:20] == render(prompts[1].Messages)[:20] {
		t.Error("the prompt on the idle server begins as the one before it")
	}
	if _, err := Gap(t.Context(), e, GapShape{Streams: 2, PromptTokens: 300, StreamTokens: 3, Before: 5, Seed: 3}); err == nil {
		t.Error("streams that ended are measured")
	}
}

func TestResume(t *testing.T) {
	f := &fake{owner: "dure"}
	e := f.start(t)
	fresh := &fake{owner: "dure"}
	shape := ResumeShape{PromptTokens: 400, Others: 3, OtherTokens: 60, Output: 4, ResultWords: 3, Seed: 1}
	r, err := Resume(t.Context(), e, shape, func(context.Context) (*Endpoint, error) { return fresh.start(t), nil })
	if err != nil || r.Disk == nil || r.Cold.TTFT <= 0 || r.Parked.TTFT <= 0 || *r.Cold.Read != *r.Cold.Prompt-10 {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(f.asked) != 5 || len(fresh.asked) != 1 || len(fresh.asked[0].Messages) != 5 || fresh.asked[0].Session != f.asked[0].Session {
		t.Errorf("%d and %d requests", len(f.asked), len(fresh.asked))
	}
	_, err = Resume(t.Context(), e, shape, func(context.Context) (*Endpoint, error) { return nil, errors.New("no such server") })
	if err == nil || !strings.Contains(err.Error(), "no such server") {
		t.Errorf("%v", err)
	}
	_, err = Resume(t.Context(), (&fake{answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); fmt.Fprint(w, "no") }}).start(t), shape, nil)
	if err == nil {
		t.Error("a server that fails has a figure")
	}
}
