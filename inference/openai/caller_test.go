package openai

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"dure/inference"
	"dure/inference/front/strict"

	"github.com/google/go-cmp/cmp"
)

// checkCaller says what holds for every caller that was decoded.
func checkCaller(c inference.Caller) error {
	for _, name := range []string{c.Session, c.Agent, c.Parent} {
		if len(name) > strict.MaxLabel || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
			return fmt.Errorf("name %q", name)
		}
	}
	if c.DeadlineMS < 0 {
		return fmt.Errorf("caller %+v", c)
	}
	return nil
}

// Everything about a caller reaches the model, from both routes, whether it
// stands in the body or in headers or in both.
func TestCallerReachesTheModel(t *testing.T) {
	long := strings.Repeat("é", strict.MaxLabel/2)
	want := inference.Caller{Session: long, Agent: "a/b é", Parent: "lead", Priority: inference.PriorityWorker,
		DeadlineMS: 3_600_000, Next: inference.PhaseWaiting, PinPrefix: true}
	body := `"session":"` + long + `","agent":"a/b é","parent":"lead","priority":"worker","deadline_ms":3600000,"next":"waiting","pin_prefix":true`
	headers := []string{"x-dure-session", long, "X-Dure-Agent", "a/b é", "X-Dure-Parent", "lead", "X-Dure-Priority", "worker",
		"X-Dure-Deadline-Ms", "3600000", "X-Dure-Next", "waiting", "X-Dure-Pin-Prefix", "true"}
	var got []inference.Caller
	w := newWorld(t, func(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		got = append(got, req.Caller)
		return script(nil, started(), says("x"), done())(nil, nil)
	})
	for path, rest := range map[string]string{"/v1/chat/completions": hello[1:], "/v1/completions": `"prompt":"a"}`} {
		for name, send := range map[string]func() reply{
			"body":    func() reply { return w.do("POST", path, `{`+body+`,`+rest) },
			"headers": func() reply { return w.do("POST", path, `{`+rest, headers...) },
			"both":    func() reply { return w.do("POST", path, `{`+body+`,`+rest, headers...) },
		} {
			got = nil
			if r := send(); r.status != 200 || strings.Contains(r.body, "warnings") || len(got) != 1 {
				t.Fatalf("%s %s: %d %s", path, name, r.status, r.body)
			}
			if got[0].DeadlineMS > want.DeadlineMS || got[0].DeadlineMS < want.DeadlineMS-600_000 {
				t.Errorf("%s %s: %d ms are left", path, name, got[0].DeadlineMS)
			}
			got[0].DeadlineMS = want.DeadlineMS
			if diff := cmp.Diff(want, got[0]); diff != "" {
				t.Errorf("%s %s: %s", path, name, diff)
			}
		}
	}
	got = nil
	w.chat(hello)
	if got[0] != (inference.Caller{}) {
		t.Errorf("%+v came from nothing", got[0])
	}
}

func TestCacheKeyIsTheSession(t *testing.T) {
	for _, tc := range []struct {
		members, header, want, refused string
	}{
		{`"prompt_cache_key":"k"`, "", "k", ""},
		{`"prompt_cache_key":"k","session":"k"`, "", "k", ""},
		{`"prompt_cache_key":"k"`, "k", "k", ""},
		{`"prompt_cache_key":"","session":"s"`, "", "s", ""},
		{`"prompt_cache_key":"k","session":"s"`, "", "", "prompt_cache_key"},
		{`"prompt_cache_key":"k"`, "s", "", "prompt_cache_key"},
	} {
		header := http.Header{}
		if tc.header != "" {
			header.Set("X-Dure-Session", tc.header)
		}
		r, err := decodeChat([]byte(with(tc.members)))
		if err == nil {
			err = r.addHeaders(header)
		}
		switch {
		case tc.refused == "" && (err != nil || r.caller.Session != tc.want):
			t.Errorf("%+v: %+v %v", tc, r.caller, err)
		case tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused) || !strings.Contains(err.Error(), "session")):
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

func TestCallersThatAreRefused(t *testing.T) {
	long := strings.Repeat("x", strict.MaxLabel+1)
	for _, tc := range []struct {
		members string
		headers []string
		param   string
		message string
	}{
		{`"session":""`, nil, "session", "1 to 256 bytes"},
		{`"session":7`, nil, "session", "expected a string"},
		{`"session":"` + long + `"`, nil, "session", "not 257"},
		{`"prompt_cache_key":"` + long + `"`, nil, "prompt_cache_key", "not 257"},
		{`"agent":"a\nb"`, nil, "agent", "control"},
		{`"agent":"a\u0085b"`, nil, "agent", "control"},
		{`"agent":"a\u0000b"`, nil, "agent", "NUL"},
		{`"agent":"\ud800"`, nil, "agent", "surrogate"},
		{`"agent":".."`, nil, "agent", `".."`},
		{`"agent":"a","parent":"a/./b"`, nil, "parent", `"."`},
		{`"parent":"p"`, nil, "parent", "agent"},
		{`"agent":["a"]`, nil, "agent", "expected a string"},
		{`"priority":"workr"`, nil, "priority", `interactive, planner, merge, worker, background (did you mean "worker"?)`},
		{`"priority":"WORKER"`, nil, "priority", `did you mean "worker"`},
		{`"priority":"0123456789abcdefghijklmnopqrstuvwxyz"`, nil, "priority", "background"},
		{`"priority":5`, nil, "priority", "expected a string"},
		{`"next":"end"`, nil, "next", `waiting, idle, ended (did you mean "ended"?)`},
		{`"deadline_ms":0`, nil, "deadline_ms", "between 1 and"},
		{`"deadline_ms":-1`, nil, "deadline_ms", "between 1 and"},
		{`"deadline_ms":1.5`, nil, "deadline_ms", "integer"},
		{`"deadline_ms":2147483648`, nil, "deadline_ms", "between 1 and"},
		{`"deadline_ms":"5"`, nil, "deadline_ms", "integer"},
		{`"pin_prefix":1`, nil, "pin_prefix", "true or false"},
		{`"id_slot":3`, nil, "id_slot", "session"},
		{`"cache_salt":"s"`, nil, "cache_salt", "null"},

		{``, []string{"X-Dure-Session", ""}, "X-Dure-Session", "1 to 256"},
		{``, []string{"X-Dure-Session", long}, "X-Dure-Session", "not 257"},
		{``, []string{"X-Dure-Agent", "a\tb"}, "X-Dure-Agent", "control"},
		{``, []string{"X-Dure-Agent", "a\xffb"}, "X-Dure-Agent", "UTF-8"},
		{``, []string{"X-Dure-Agent", "../x"}, "X-Dure-Agent", `".."`},
		{``, []string{"X-Dure-Parent", "p"}, "parent", "agent"},
		{``, []string{"X-Dure-Priority", "planer"}, "X-Dure-Priority", `did you mean "planner"`},
		{``, []string{"X-Dure-Deadline-Ms", "5s"}, "X-Dure-Deadline-Ms", "integer"},
		{``, []string{"X-Dure-Deadline-Ms", ""}, "X-Dure-Deadline-Ms", "integer"},
		{``, []string{"X-Dure-Deadline-Ms", "null"}, "X-Dure-Deadline-Ms", "integer"},
		{``, []string{"X-Dure-Deadline-Ms", `{"a":1}`}, "X-Dure-Deadline-Ms", "integer"},
		{``, []string{"X-Dure-Deadline-Ms", "0"}, "X-Dure-Deadline-Ms", "between 1 and"},
		{``, []string{"X-Dure-Pin-Prefix", "yes"}, "X-Dure-Pin-Prefix", "true or false"},
		{`"session":"a"`, []string{"X-Dure-Session", "b"}, "session", "X-Dure-Session"},
		{`"agent":"a"`, []string{"X-Dure-Agent", "b"}, "agent", "X-Dure-Agent"},
		{`"agent":"a","parent":"p"`, []string{"X-Dure-Parent", "b"}, "parent", "X-Dure-Parent"},
		{`"priority":"worker"`, []string{"X-Dure-Priority", "merge"}, "priority", "X-Dure-Priority"},
		{`"deadline_ms":5`, []string{"X-Dure-Deadline-Ms", "6"}, "deadline_ms", "X-Dure-Deadline-Ms"},
		{`"next":"idle"`, []string{"X-Dure-Next", "ended"}, "next", "X-Dure-Next"},
		{`"pin_prefix":false`, []string{"X-Dure-Pin-Prefix", "true"}, "pin_prefix", "X-Dure-Pin-Prefix"},
	} {
		members := tc.members
		if members == "" {
			members = `"n":1`
		}
		for body, decode := range map[string]func([]byte) (*request, error){
			with(members): decodeChat, `{` + members + `,"prompt":"a"}`: decodeText,
		} {
			header := http.Header{}
			for i := 0; i < len(tc.headers); i += 2 {
				header.Add(tc.headers[i], tc.headers[i+1])
			}
			r, err := decode([]byte(body))
			if err == nil {
				err = r.addHeaders(header)
			}
			var e *inference.Error
			if !errors.As(err, &e) || e.Code != inference.CodeInvalidRequest && e.Code != inference.CodeUnsupported || e.Param != tc.param || !strings.Contains(e.Message, tc.message) {
				t.Errorf("%s %.60q: %v", body[:min(60, len(body))], tc.headers, err)
			}
		}
	}
	twice := http.Header{"X-Dure-Agent": {"a", "a"}}
	if err := (&request{}).addHeaders(twice); err == nil || !strings.Contains(err.Error(), "2 times") {
		t.Errorf("a header twice: %v", err)
	}
}

func TestUnknownHeadersAreNamed(t *testing.T) {
	w := newWorld(t, script(nil, started(), done()))
	got := w.do("POST", "/v1/chat/completions", hello, "X-Dure-Sesion", "a", "X-Dure-", "b", "X-Other", "c", "X-Request-Id", "r")
	if !strings.Contains(got.body, `"warnings":["X-Dure-: unknown header, ignored","X-Dure-Sesion: unknown header, ignored"]`) {
		t.Errorf("%s", got.body)
	}
	header := http.Header{}
	for i := range 100 {
		header.Set(fmt.Sprintf("X-Dure-A%03d%s", i, strings.Repeat("x", 1000)), "")
	}
	r := &request{}
	if err := r.addHeaders(header); err != nil || len(r.warnings) != strict.MaxWarnings+1 || len(r.warnings[0]) > 200 {
		t.Errorf("%v, %d warnings", err, len(r.warnings))
	}
}
