package front_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/fronttest"
	"dure/inference/team"
)

type eventSeq = iter.Seq2[inference.Event, error]

// keyed is a world with a key "u" of a user, and "a" of an admin.
func keyed(t *testing.T, generate generateFunc, change ...func(*front.Options)) (w *world, user, admin *fronttest.Key) {
	user, admin = &fronttest.Key{Called: "ci"}, &fronttest.Key{Called: "me", Right: true}
	keys := func(o *front.Options) { o.Keys = fronttest.Keys{"u": user, "a": admin} }
	return newWorld(t, generate, append(change, keys)...), user, admin
}

func (w *world) as(secret, method, path, body string) reply {
	return w.do(method, path, body, "Authorization", "Bearer "+secret)
}

// What concerns the whole server is for admins, and said so.
func TestAdminRoutes(t *testing.T) {
	w, _, _ := keyed(t, nil)
	admin := 0
	for _, route := range front.New(front.Options{Surfaces: surfaces()}).Routes() {
		path := strings.ReplaceAll(route.Path, "{id}", "small")
		if route.Admin {
			admin++
			w.as("u", route.Method, path, "").wantError(t, 403, "admin_key_required", "", `"ci"`, "dure key add NAME --admin")
		} else if got := w.as("u", route.Method, path, ""); got.Status == 403 {
			t.Errorf("%s %s: %s", route.Method, path, got.Body)
		}
		if got := w.as("a", route.Method, path, ""); got.Status == 403 {
			t.Errorf("an admin, %s %s: %s", route.Method, path, got.Body)
		}
	}
	if admin != 7 {
		t.Errorf("%d routes are for admins", admin)
	}
}

// A key sees the models that it may use, and asking for another one is asked of it.
func TestModelsOfAKey(t *testing.T) {
	w, user, _ := keyed(t, script(nil, started(), done()))
	user.Models = []string{"small"}
	if got := w.as("u", "GET", "/names", ""); got.Body != "[\"small\"]\n" {
		t.Error(got.Body)
	}
	if got := w.as("a", "GET", "/names", ""); got.Body != "[\"small\",\"org/large\"]\n" {
		t.Error(got.Body)
	}
	for _, id := range []string{"org/large", "nope"} {
		got := w.as("u", "GET", "/names/"+id, "")
		got.wantError(t, 404, "model_not_found", "model", "the models are: small")
		if strings.Contains(strings.Replace(got.Body, id, "", 1), "large") {
			t.Error(got.Body)
		}
	}
	if got := w.as("u", "POST", "/say", `{"model":"nope","text":"hi"}`); got.Status != 404 || strings.Contains(got.Body, "large") {
		t.Error(got.Body)
	}
	no := front.Refuse(403, "model_not_allowed", "not this one")
	user.Refuse = no
	for _, path := range []string{"/say", "/spell"} {
		w.as("u", "POST", path, `{"model":"org/large","text":"hi"}`).wantError(t, 403, "model_not_allowed", "", "not this one")
	}
	for _, ask := range user.Asks() {
		if ask.Model != "org/large" {
			t.Errorf("%+v", ask)
		}
	}
	if w.models.Opened.Load() != 0 || len(user.Settled()) != 0 {
		t.Error("a model was opened for a request that was refused")
	}
	line := w.Lines()[len(w.Lines())-1]
	if line["key"] != "ci" || line["code"] != "model_not_allowed" || line["model"] != "org/large" {
		t.Errorf("log line %v", line)
	}
}

// A refusal has its headers, and no stream begins.
func TestLimitOfAKey(t *testing.T) {
	w, user, _ := keyed(t, script(nil, started(), done()))
	no := front.Refuse(429, "limit_reached", "later")
	no.Header("Retry-After", "7")
	user.Refuse = no
	for _, body := range []string{hello, helloStream} {
		got := w.as("u", "POST", "/say", body)
		got.wantError(t, 429, "limit_reached", "", "later")
		if got.Header.Get("Retry-After") != "7" || got.Header.Get("Content-Type") != "application/json" {
			t.Error(got.Header)
		}
	}
}

// What a request may take is told before, and what it took afterwards, once, however
// it ends.
func TestWhatARequestTakes(t *testing.T) {
	fail := errors.New("broken")
	long := strings.Repeat("word ", 60) // 300 bytes
	for name, tt := range map[string]struct {
		generate generateFunc
		body     string
		ask      int64
		took     inference.Usage
	}{
		"whole":          {script(nil, started(), says("a"), done()), `{"text":"` + long + `"}`, 100 + 64, inference.Usage{PromptTokens: 7, CompletionTokens: 3, CachedTokens: 2}},
		"choices":        {script(nil, started(), says("a"), done()), `{"n":3,"text":"` + long + `"}`, 100 + 3*64, inference.Usage{PromptTokens: 7, CompletionTokens: 9, CachedTokens: 2}},
		"no limit":       {script(nil, started(), done()), `{"model":"org/large","text":"hi"}`, 0, inference.Usage{PromptTokens: 7, CompletionTokens: 3, CachedTokens: 2}},
		"fails midway":   {script(fail, started(), says("a"), says("b")), hello, 64, inference.Usage{PromptTokens: 7, CompletionTokens: 2}},
		"fails at once":  {script(fail), helloStream, 64, inference.Usage{}},
		"stream breaks":  {script(fail, started(), says("a")), helloStream, 64, inference.Usage{PromptTokens: 7, CompletionTokens: 1}},
		"handler crashs": {func(context.Context, *inference.Request) (_ eventSeq) { panic("x") }, hello, 64, inference.Usage{}},
	} {
		t.Run(name, func(t *testing.T) {
			w, user, _ := keyed(t, tt.generate)
			user.Priority = inference.PriorityWorker
			w.as("u", "POST", "/say", tt.body)
			<-w.Over
			asks, took := user.Asks(), user.Settled()
			if len(asks) != 1 || asks[0].Tokens != tt.ask || asks[0].Priority != "" {
				t.Errorf("asked %+v, want %d tokens", asks, tt.ask)
			}
			if len(took) != 1 || took[0].PromptTokens != tt.took.PromptTokens || took[0].CompletionTokens != tt.took.CompletionTokens || took[0].CachedTokens != tt.took.CachedTokens {
				t.Errorf("took %+v, want %+v", took, tt.took)
			}
		})
	}
	t.Run("load fails", func(t *testing.T) {
		w, user, _ := keyed(t, nil)
		w.models.OnOpen = func(context.Context, string) error { return fail }
		w.as("u", "POST", "/say", hello)
		w.as("u", "POST", "/spell", hello)
		<-w.Over
		<-w.Over
		if took := user.Settled(); !reflect.DeepEqual(took, []inference.Usage{{}, {}}) {
			t.Errorf("took %+v", took)
		}
	})
	t.Run("client leaves", func(t *testing.T) {
		w, user, _ := keyed(t, holdAt("decode"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "POST", w.URL+"/say", strings.NewReader(helloStream))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", "u")
		res, err := w.Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		for text := ""; !strings.Contains(text, "one"); {
			var b [256]byte
			n, err := res.Body.Read(b[:])
			if text += string(b[:n]); err != nil && err != io.EOF {
				t.Fatal(err)
			}
		}
		cancel()
		<-w.Over
		if took := user.Settled(); len(took) != 1 || took[0].PromptTokens != 7 || took[0].CompletionTokens != 1 {
			t.Errorf("took %+v", took)
		}
	})
}

// What a request names is its key's own: sessions and agents of two keys do not meet.
func TestKeysAreApart(t *testing.T) {
	known := team.New()
	var callers []inference.Caller
	answer := script(nil, started(), done())
	w, user, admin := keyed(t, func(ctx context.Context, req *inference.Request) eventSeq {
		callers = append(callers, req.Caller)
		return answer(ctx, req)
	}, func(o *front.Options) { o.Team = teamed{known} })
	user.Priority = inference.PriorityWorker
	body := `{"session":"s","agent":"b","parent":"a",` + hello[1:]
	for _, secret := range []string{"u", "a"} {
		if got := w.as(secret, "POST", "/say", body); got.Status != 200 {
			t.Fatal(got.Body)
		}
	}
	want := []inference.Caller{
		{Session: "ci/s", Agent: "ci/b", Parent: "ci/a", Priority: inference.PriorityWorker},
		{Session: "me/s", Agent: "me/b", Parent: "me/a"},
	}
	if !reflect.DeepEqual(callers, want) {
		t.Errorf("the model was told %+v", callers)
	}
	list := func(secret string) (ids []string) {
		var page struct{ Data []front.Agent }
		decodeInto(t, w.as(secret, "GET", "/v1/dure/agents", "").Body, &page)
		for _, a := range page.Data {
			ids = append(ids, a.ID+"<"+a.Parent)
		}
		slices.Sort(ids)
		return ids
	}
	if got := list("u"); fmt.Sprint(got) != "[a< b<a]" {
		t.Errorf("a user sees %v", got)
	}
	if got := list("a"); fmt.Sprint(got) != "[a< b<a ci/a< ci/b<ci/a]" {
		t.Errorf("an admin sees %v", got)
	}
	for _, id := range []string{"me/a", "me/b", "ci/b"} {
		w.as("u", "DELETE", "/v1/dure/agents/"+id, "").wantError(t, 404, "agent_not_found", "", id)
	}
	for _, step := range [][3]string{{"u", "b", `"id":"b"`}, {"a", "b", `"id":"b"`}, {"a", "ci/a", `"id":"ci/b"`}} {
		if got := w.as(step[0], "DELETE", "/v1/dure/agents/"+step[1], ""); got.Status != 200 || !strings.Contains(got.Body, step[2]) {
			t.Errorf("%v: %d %s", step, got.Status, got.Body)
		}
	}
	if len(admin.Settled()) != 1 {
		t.Errorf("%+v", admin.Settled())
	}
}
