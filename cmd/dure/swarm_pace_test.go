package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/remote"
	"dure/runtime/event/sqlite"
	"dure/runtime/swarm"
)

// gated is a model whose answers begin and end when a test lets them.
type gated struct{ begin, end chan error }

func (g *gated) Info() inference.Info { return inference.Info{Name: "gated"} }

func (g *gated) Generate(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		if err := <-g.begin; err != nil {
			yield(inference.Event{}, err)
			return
		}
		if yield(inference.Event{Kind: inference.EventStarted}, nil) {
			<-g.end
			yield(inference.Event{Kind: inference.EventDone, Usage: &inference.Usage{CompletionTokens: 600}}, nil)
		}
	}
}

// pacedRun notes what a run is told. Its state is that of a run in a log.
type pacedRun struct {
	state  *swarm.State
	active int
	why    string
	rate   float64
}

func (r *pacedRun) Inspect(_ context.Context, look func(*swarm.State)) error {
	look(r.state)
	return nil
}
func (r *pacedRun) SetActive(_ context.Context, active int, why string) error {
	r.active, r.why = active, why
	return nil
}
func (r *pacedRun) Measure(_ context.Context, rate float64) error { r.rate = rate; return nil }

// A run follows what its model server has room for, and what it refuses; and it knows how
// fast its models write.
func TestPaceFollowsTheServer(t *testing.T) {
	log, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	now := time.Unix(1_800_000_000, 0)
	if err := swarm.Begin(t.Context(), log, now, swarm.Started{Spec: "s", Check: "true", Limits: swarm.Limits{Agents: 40}}); err != nil {
		t.Fatal(err)
	}
	s, err := swarm.Load(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "# TYPE dure_model_info gauge\ndure_model_info{model=\"m\",sequences=\"6\",pid=\"1\"} 1\n# TYPE dure_model_requests gauge\ndure_model_requests{model=\"m\",state=\"waiting\"} 3\n")
	}))
	defer server.Close()
	if slots, waiting := slotsOf(t.Context(), server.URL+"/v1"); slots != 6 || waiting != 3 {
		t.Fatalf("%d slots, %d waiting", slots, waiting)
	}
	for _, base := range []string{"http://192.0.2.1/v1", "http://example.invalid/v1", "::"} {
		if slots, _ := slotsOf(t.Context(), base); slots != 0 {
			t.Errorf("%s was asked", base)
		}
	}
	g := &gated{make(chan error), make(chan error)}
	m := watch(g, remote.Endpoint{Base: server.URL + "/v1", Own: true})
	m.now = func() time.Time { return now }
	run := &pacedRun{state: s}
	p := &pacer{run: run, models: []*watchedModel{m}, slots: slotsOf}
	look := func(active int, why string) {
		t.Helper()
		run.active, run.why = 0, ""
		if err := p.look(t.Context(), now); err != nil || run.active != active || !strings.Contains(run.why, why) {
			t.Fatalf("%d agents at work (%s), want %d (%s): %v", run.active, run.why, active, why, err)
		}
	}
	look(12, "computes 6 requests at once")
	// An answer of a minute, with 600 tokens.
	var all sync.WaitGroup
	ask := func(want bool) {
		for _, err := range m.Generate(t.Context(), &inference.Request{}) {
			if (err == nil) != want {
				t.Error(err)
			}
		}
	}
	all.Go(func() { ask(true) })
	g.begin <- nil
	for begun := false; !begun; {
		m.count(func() { begun = m.started == 1 })
	}
	m.count(func() { now = now.Add(time.Minute) })
	g.end <- nil
	all.Wait()
	look(12, "")
	if run.rate != 10 {
		t.Errorf("%v tokens a second, want 10", run.rate)
	}
	// It refuses, and says for how long.
	all.Go(func() { ask(false) })
	g.begin <- &inference.Error{Code: inference.CodeQueueFull, RetryAfter: 90 * time.Second}
	all.Go(func() { ask(false) })
	g.begin <- errors.New("something else")
	all.Wait()
	look(6, "refused 1 requests")
	if !p.pace.Until.Equal(now.Add(90 * time.Second)) {
		t.Errorf("until %v", p.pace.Until)
	}
	if f := m.look(); f.flying != 0 || f.started != 0 || f.refused != 0 {
		t.Errorf("left over: %+v", f)
	}
}
