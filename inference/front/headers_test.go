package front_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"

	"github.com/google/go-cmp/cmp"
)

// Everything about a caller reaches the model, whether it stands in the body or in
// headers or in both.
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
	for name, send := range map[string]func() reply{
		"body":    func() reply { return w.say(`{` + body + `,` + hello[1:]) },
		"headers": func() reply { return w.do("POST", "/say", hello, headers...) },
		"both":    func() reply { return w.do("POST", "/say", `{`+body+`,`+hello[1:], headers...) },
	} {
		got = nil
		if r := send(); r.Status != 200 || strings.Contains(r.Body, "warnings") || len(got) != 1 {
			t.Fatalf("%s: %d %s", name, r.Status, r.Body)
		}
		if got[0].DeadlineMS > want.DeadlineMS || got[0].DeadlineMS < want.DeadlineMS-600_000 {
			t.Errorf("%s: %d ms are left", name, got[0].DeadlineMS)
		}
		got[0].DeadlineMS = want.DeadlineMS
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	got = nil
	w.say(hello)
	if got[0] != (inference.Caller{}) {
		t.Errorf("%+v came from nothing", got[0])
	}
}

func TestHeadersThatAreRefused(t *testing.T) {
	told := map[string]bool{"agent": true}
	for _, tt := range []struct {
		header         http.Header
		param, message string
	}{
		{http.Header{"X-Dure-Agent": {"a", "a"}}, "X-Dure-Agent", "2 times"},
		{http.Header{"X-Dure-Agent": {"b"}}, "agent", "contradicts the header X-Dure-Agent"},
		{http.Header{"X-Dure-Parent": {".."}}, "X-Dure-Parent", "slashes"},
		{http.Header{"X-Dure-Priority": {"wrker"}}, "X-Dure-Priority", `did you mean "worker"`},
		{http.Header{"X-Dure-Deadline-Ms": {`[]`}}, "X-Dure-Deadline-Ms", "integer"},
	} {
		c := inference.Caller{Agent: "a"}
		_, err := front.AddHeaders(&c, told, tt.header)
		e, ok := err.(*inference.Error)
		if !ok || e.Param != tt.param || !strings.Contains(e.Message, tt.message) {
			t.Errorf("%v: %v", tt.header, err)
		}
	}
	c := inference.Caller{Parent: "p"}
	if _, err := front.AddHeaders(&c, nil, nil); err == nil || !strings.Contains(err.Error(), "beside agent") {
		t.Errorf("%v", err)
	}
}

func TestUnknownHeadersAreNamed(t *testing.T) {
	header := http.Header{}
	for i := range 100 {
		header.Set(fmt.Sprintf("X-Dure-A%03d%s", i, strings.Repeat("x", 1000)), "")
	}
	var c inference.Caller
	warnings, err := front.AddHeaders(&c, nil, header)
	if err != nil || len(warnings) != strict.MaxWarnings+1 || len(warnings[0]) > 200 || warnings[strict.MaxWarnings] != "68 more unknown headers, ignored" {
		t.Errorf("%v, %q", err, warnings)
	}
}
