package front

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// A failure has the form of the surface that its path belongs to, by a route, by
// the longest prefix, and in the end by the first surface.
func TestFormOfAFailure(t *testing.T) {
	form := func(name, prefix string, routes ...Route) Surface {
		return Surface{Routes: routes, Prefix: prefix, Fail: func(_ *Exchange, f *Failure) any { return name + " " + string(f.Code) }}
	}
	broken := func(*Exchange, *http.Request) error { return errors.New("broken") }
	h := New(Options{Keys: oneKey("k"), Surfaces: []Surface{
		form("first", "", Route{Method: "GET", Path: "/v1/models", Handle: broken}),
		form("second", "/v1/messages", Route{Method: "POST", Path: "/v1/messages", MaxBody: 1, Handle: broken}),
		form("third", "/api/", Route{Method: "POST", Path: "/api/chat", MaxBody: 1, Handle: broken},
			Route{Method: "GET", Path: "/odd/{id}", Open: true, Handle: broken},
			Route{Method: "GET", Path: "/v1/models", Header: "X-Third", Handle: broken}),
	}})
	for request, want := range map[string]string{
		"GET /v1/models":             "first internal_error",
		"GET /v1/models X-Third":     "third internal_error",
		"GET /nope":                  "first unknown_url",
		"POST /v1/models":            "first method_not_allowed",
		"DELETE /health":             "first method_not_allowed",
		"POST /v1/messages":          "second internal_error",
		"GET /v1/messages":           "second method_not_allowed",
		"POST /v1/messages/batches":  "second unknown_url",
		"POST /api/chat":             "third internal_error",
		"GET /api/nope":              "third unknown_url",
		"PUT /odd/a/b":               "third method_not_allowed",
		"GET /odd/a/b":               "third internal_error",
		"POST /api/chat no key":      "third invalid_api_key",
		"GET /odd/a no key":          "third internal_error",
		"POST /v1/messages evil":     "second host_not_allowed",
		"GET /nope no key":           "first invalid_api_key",
		"GET /v1/messages/evil evil": "second host_not_allowed",
	} {
		method, rest, _ := strings.Cut(request, " ")
		path, without, _ := strings.Cut(rest, " ")
		to := &written{writes: writes{header: http.Header{}}}
		r, err := http.NewRequest(method, "http://localhost"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if without != "no key" {
			r.Header.Set("Authorization", "Bearer k")
		}
		switch without {
		case "evil":
			r.Host = "evil.example"
		case "X-Third":
			r.Header.Set(without, "1")
		}
		h.ServeHTTP(to, r)
		if got := strings.TrimSpace(to.body); got != `"`+want+`"` {
			t.Errorf("%s: %s, want %s", request, got, want)
		}
	}
}

// written keeps what it takes.
type written struct {
	writes
	body string
}

func (w *written) Write(p []byte) (int, error) {
	w.body += string(p)
	return len(p), nil
}

func TestNewNeedsASurface(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no surface is no mistake")
		}
	}()
	New(Options{})
}

// oneKey is the only secret that gets in.
type oneKey string

func (oneKey) Required() bool { return true }
func (k oneKey) Identify(secret string) (Holder, error) {
	if secret != string(k) {
		return nil, Refuse(http.StatusUnauthorized, CodeKey, "wrong")
	}
	return anybody{}, nil
}
