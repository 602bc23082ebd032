package front_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"testing"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/fronttest"
	"dure/inference/team"
)

// outcome is what came of a generation that nobody waited for.
type outcome struct {
	answer sayWhole
	err    error
}

// apart is a surface whose answers are made when their request is over.
func apart(ctx context.Context, outcomes chan<- outcome) front.Surface {
	s := saySurface()
	s.Routes = []front.Route{{Method: "POST", Path: "/later", MaxBody: front.MaxBody, Doc: "answer later", Handle: func(x *front.Exchange, r *http.Request) error {
		req, listing, err := readSay(x, r)
		if err != nil {
			return err
		}
		own := x.Apart()
		g := generation(own, req, listing)
		if err := own.Admit(&g); err != nil {
			return err
		}
		go func() {
			err := own.Run(ctx, g)
			outcomes <- outcome{*g.Answer.(*sayWhole), err}
		}()
		return x.JSON(http.StatusAccepted, own.ID())
	}}}
	return s
}

func TestApart(t *testing.T) {
	outcomes := make(chan outcome)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	known := team.New()
	inner := fronttest.New(t, []front.Surface{apart(ctx, outcomes)}, script(nil, started(), says("a"), done()),
		func(o *front.Options) { o.Team = teamed{known} })
	w := &world{inner, inner.Models}
	ask := func() outcome {
		t.Helper()
		if got := w.do("POST", "/later", `{"agent":"a","foo":1,`+hello[1:], "X-Request-Id", "r1"); got.Status != 202 || got.Body != "\"r1\"\n" {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return <-outcomes
	}
	got := ask()
	if got.err != nil || got.answer.choices[0].Text != "a" || got.answer.choices[0].Finish != "stop" || len(got.answer.x.Warnings()) != 1 {
		t.Errorf("%+v", got)
	}
	if a := known.Agents(); len(a) != 1 || a[0].Running != 0 {
		t.Errorf("%+v", a)
	}
	// Which of the request's line and the answer's is first is open.
	if line := lineOf(t, w.Lines(), "generation"); line["request_id"] != "r1" || line["completion_tokens"] != 3.0 {
		t.Errorf("log line %v", line)
	}
	if v := w.Metric(`dure_completion_tokens_total{model="small"}`); v != "3" {
		t.Errorf("completion tokens: %q", v)
	}
	var f *front.Failure
	w.models.Generate = script(inference.ErrRunnerLost, started())
	if got := ask(); !errors.As(got.err, &f) || f.Status != 502 || f.Code != inference.CodeRunnerLost {
		t.Errorf("%v", got.err)
	}
	w.models.Generate = func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] { panic("secret") }
	if got := ask(); !errors.As(got.err, &f) || f.Status != 500 || f.Cause == nil {
		t.Errorf("%v", got.err)
	}
	w.models.Generate = func(ctx context.Context, _ *inference.Request) iter.Seq2[inference.Event, error] {
		cancel()
		<-ctx.Done()
		return script(ctx.Err())(nil, nil)
	}
	if got := ask(); !errors.Is(got.err, context.Canceled) {
		t.Errorf("%v", got.err)
	}
	if v := w.Metric(`dure_requests_cancelled_total{phase="prompt"}`); v != "1" {
		t.Errorf("cancelled: %q", v)
	}
	if o, r := w.models.Opened.Load(), w.models.Released.Load(); o != 4 || r != 4 {
		t.Errorf("opened %d, released %d", o, r)
	}
}

func lineOf(t *testing.T, lines []map[string]any, msg string) map[string]any {
	t.Helper()
	i := slices.IndexFunc(lines, func(l map[string]any) bool { return l["msg"] == msg })
	if i < 0 {
		t.Fatalf("no line %q in %v", msg, lines)
	}
	return lines[i]
}

// A key is asked while its client can be refused, and once.
func TestApartIsAdmitted(t *testing.T) {
	outcomes := make(chan outcome, 1)
	user := &fronttest.Key{Called: "ci", Priority: inference.PriorityWorker}
	var caller inference.Caller
	w := fronttest.New(t, []front.Surface{apart(t.Context(), outcomes)}, func(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		caller = req.Caller
		return script(nil, started(), says("a"), done())(ctx, req)
	}, func(o *front.Options) { o.Keys = fronttest.Keys{"u": user} })
	later := func() reply {
		return reply{w.Do("POST", "/later", `{"session":"s",`+hello[1:], "X-Api-Key", "u")}
	}
	if got := later(); got.Status != 202 {
		t.Fatal(got.Body)
	}
	if got := <-outcomes; got.err != nil {
		t.Error(got.err)
	}
	if caller.Session != "ci/s" || caller.Priority != inference.PriorityWorker {
		t.Errorf("%+v", caller)
	}
	if asks, took := user.Asks(), user.Settled(); len(asks) != 1 || len(took) != 1 || took[0].CompletionTokens != 3 {
		t.Errorf("asked %v, took %v", asks, took)
	}
	if line := lineOf(t, w.Lines(), "generation"); line["key"] != "ci" {
		t.Errorf("log line %v", line)
	}
	user.Refuse = front.Refuse(429, "limit_reached", "later")
	later().wantError(t, 429, "limit_reached", "", "later")
}
