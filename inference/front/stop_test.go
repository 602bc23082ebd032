package front_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/fronttest"
	"dure/inference/team"
)

// teamed is a real team as this surface wants to see it.
type teamed struct{ *team.Team }

func (t teamed) Agents() []front.Agent {
	var all []front.Agent
	for _, a := range t.Team.Agents() {
		all = append(all, front.Agent(a))
	}
	return all
}

func (t teamed) Stop(id string) ([]front.Stopped, bool) {
	rows, ok := t.Team.Stop(id)
	var all []front.Stopped
	for _, row := range rows {
		all = append(all, front.Stopped(row))
	}
	return all, ok
}

// holdAt returns a model that waits for its context at one stage and, where it
// talks, says what it has to say before that.
func holdAt(stage string) generateFunc {
	return func(ctx context.Context, _ *inference.Request) iter.Seq2[inference.Event, error] {
		return func(yield func(inference.Event, error) bool) {
			if stage != "queue" && !yield(started(), nil) {
				return
			}
			if stage == "decode" && !yield(says("one"), nil) {
				return
			}
			<-ctx.Done()
			yield(inference.Event{}, ctx.Err())
		}
	}
}

// holding is a world whose requests stand still at a stage, among them the load.
func holding(t *testing.T, stage string) (*world, *team.Team) {
	known := team.New()
	w := newWorld(t, holdAt(stage), func(o *front.Options) { o.Team = teamed{known} })
	if stage == "load" {
		w.models.OnOpen = func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		}
	}
	return w, known
}

var stages = []string{"load", "queue", "prompt", "decode"}

// A deadline that passes is a 504 while nothing is out, and an event after that;
// no stock client repeats it.
func TestDeadline(t *testing.T) {
	for _, stage := range stages {
		for _, body := range []string{hello, helloStream} {
			w, _ := holding(t, stage)
			ask := func(ms int) reply {
				return w.say(fmt.Sprintf(`{"deadline_ms":%d,`, ms) + body[1:])
			}
			got := ask(20)
			if body == helloStream && (stage == "prompt" || stage == "decode") {
				ms := 20
				for got.Status == 504 { // it passed before the stream began
					ms *= 2
					got = ask(ms)
				}
				all := events(t, got.Body)
				if got.Status != 200 || got.Err != nil {
					t.Fatalf("%s: %d %v", stage, got.Status, got.Err)
				}
				wantErrorObject(t, all[len(all)-1], "deadline_exceeded", "deadline_ms", fmt.Sprint(ms, " ms"))
				continue
			}
			got.wantError(t, 504, "deadline_exceeded", "deadline_ms", "20 ms")
			if got.Header.Get("X-Should-Retry") != "false" {
				t.Error("clients would repeat it")
			}
			if w.models.Opened.Load() != w.models.Released.Load() {
				t.Error("the model was not given back")
			}
		}
	}
}

// The model is told what is left of the deadline, and its own word counts too.
func TestDeadlineOfTheModel(t *testing.T) {
	w := newWorld(t, script(inference.Errorf(inference.CodeDeadline, "it waited too long")))
	w.say(`{"deadline_ms":60000,`+hello[1:]).wantError(t, 504, "deadline_exceeded", "", "it waited too long")
}

// A client that leaves has no deadline passed and no agent stopped.
func TestGoneClientBeforeItsDeadline(t *testing.T) {
	w, known := holding(t, "decode")
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "POST", w.URL+"/say",
		strings.NewReader(`{"deadline_ms":600000,"agent":"a",`+helloStream[1:]))
	res, err := w.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	res.Body.Close()
	<-w.Over
	if got := w.Lines()[0]; fmt.Sprint(got["status"]) != "499" || got["code"] != nil || got["agent"] != "a" {
		t.Errorf("%v", got)
	}
	if a := known.Agents(); len(a) != 1 || a[0].Running != 0 {
		t.Errorf("%+v", a)
	}
}

// Stopping an agent ends what it and those below it have, wherever that stands.
func TestStopAgent(t *testing.T) {
	for _, stage := range stages {
		t.Run(stage, func(t *testing.T) {
			w, known := holding(t, stage)
			w.models.Info.Sequences = 1
			var wg sync.WaitGroup
			replies := make(chan reply, 4)
			post := func(members string) {
				wg.Go(func() { replies <- w.say(`{` + members + `,` + hello[1:]) })
			}
			post(`"agent":"lead"`)
			post(`"agent":"a/b c","parent":"lead"`)
			post(`"agent":"deep","parent":"a/b c"`)
			post(`"agent":"deep","parent":"a/b c","n":3`) // its later choices wait
			waitFor(t, func() bool {
				n := 0
				for _, a := range known.Agents() {
					n += a.Running
				}
				return n == 4
			})
			listed := w.do("GET", "/v1/dure/agents", "")
			if listed.Status != 200 || !strings.Contains(listed.Body, `{"id":"a/b c","parent":"lead","running":1,"prompt_tokens":0,"completion_tokens":0,"last_seen":"`) {
				t.Errorf("%s", listed.Body)
			}
			got := w.do("DELETE", "/v1/dure/agents/a%2Fb%20c", "")
			want := `{"id":"a/b c","cancelled":3,"agents":[{"id":"a/b c","cancelled":1},{"id":"deep","cancelled":2}]}` + "\n"
			if got.Status != 200 || got.Body != want {
				t.Errorf("%d %s", got.Status, got.Body)
			}
			for range 3 {
				r := <-replies
				r.wantError(t, 409, "agent_stopped", "", "stopped")
				if r.Header.Get("X-Should-Retry") != "false" {
					t.Error("clients would repeat it")
				}
			}
			if a := known.Agents(); len(a) != 3 || a[2].Running != 1 {
				t.Errorf("lead: %+v", a)
			}
			w.do("DELETE", "/v1/dure/agents/lead", "")
			wg.Wait()
		})
	}
}

// Inside a stream, a stop is an event.
func TestStopAgentInsideAStream(t *testing.T) {
	w, known := holding(t, "decode")
	req, _ := http.NewRequestWithContext(t.Context(), "POST", w.URL+"/say", strings.NewReader(`{"agent":"a",`+helloStream[1:]))
	res, err := w.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	known.Stop("a")
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	all := events(t, string(body))
	wantErrorObject(t, all[len(all)-1], "agent_stopped", "", `"a" was stopped`)
}

func TestUnknownAgent(t *testing.T) {
	w, _ := holding(t, "decode")
	for _, path := range []string{"/v1/dure/agents/nobody", "/v1/dure/agents/a/b", "/v1/dure/agents/%FF%00"} {
		w.do("DELETE", path, "").wantError(t, 404, "agent_not_found", "", "GET /v1/dure/agents")
	}
	w.do("DELETE", "/v1/dure/agents/", "").wantError(t, 404, "unknown_url", "", "the routes are")
	if got := w.do("GET", "/v1/dure/agents", ""); got.Body != `{"object":"list","data":[]}`+"\n" {
		t.Errorf("%s", got.Body)
	}
	bare := newWorld(t, script(nil, started(), done()))
	if got := bare.say(`{"agent":"a",` + hello[1:]); got.Status != 200 {
		t.Errorf("without a team: %d %s", got.Status, got.Body)
	}
	bare.do("DELETE", "/v1/dure/agents/a", "").wantError(t, 404, "agent_not_found", "", `no agent "a"`)
}

func TestCyclicParent(t *testing.T) {
	known := team.New()
	w := newWorld(t, script(nil, started(), done()), func(o *front.Options) { o.Team = teamed{known} })
	w.say(`{"agent":"b","parent":"a",` + hello[1:])
	w.say(`{"agent":"a","parent":"b",`+hello[1:]).wantError(t, 400, "invalid_request", "parent", "below the agent")
}

// The routes of this server's own need a key like all others.
func TestAgentsNeedAKey(t *testing.T) {
	w := newWorld(t, script(nil), func(o *front.Options) { o.Keys = fronttest.OneKey("k") })
	for _, route := range [][2]string{{"GET", "/v1/dure/agents"}, {"DELETE", "/v1/dure/agents/a"}, {"GET", "/v1/dure/cache"}} {
		if got := w.do(route[0], route[1], ""); got.Status != 401 {
			t.Errorf("%v: %d", route, got.Status)
		}
	}
}

func TestCacheRoute(t *testing.T) {
	w := newWorld(t, script(nil), func(o *front.Options) {
		o.Cache = func(context.Context) []front.CacheReport {
			return []front.CacheReport{{Model: "small", Cache: []byte(`{"hits":{"ram":3}}`)}, {Model: "large", Error: "no answer"}}
		}
	})
	want := `{"object":"list","data":[{"model":"small","cache":{"hits":{"ram":3}}},{"model":"large","cache":null,"error":"no answer"}]}` + "\n"
	if got := w.do("GET", "/v1/dure/cache", ""); got.Status != 200 || got.Body != want {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if got := newWorld(t, script(nil)).do("GET", "/v1/dure/cache", ""); got.Body != `{"object":"list","data":[]}`+"\n" {
		t.Errorf("%s", got.Body)
	}
}

// waitFor waits for what another goroutine brings about.
func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(errors.New("it never happened"))
		}
	}
}
