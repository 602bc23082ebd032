package remote

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestModels(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   []string
		kind   Kind
	}{
		"two":         {200, `{"object":"list","data":[{"id":"a"},{"id":"b/c"}]}`, []string{"a", "b/c"}, ""},
		"none":        {200, `{"data":[]}`, []string{}, ""},
		"no list":     {404, "nothing here", nil, ""},
		"a wrong key": {401, `{"error":{"message":"bad k-secret","type":"authentication_error"}}`, nil, Refused},
		"a page":      {200, "<html>", nil, Garbled},
		"broken":      {500, "", nil, Failed},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer k-secret" {
				t.Errorf("%s: asked %s with %q", name, r.URL.Path, r.Header.Get("Authorization"))
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		got, err := New(srv.URL+"/v1", "k-secret", "a", http.DefaultClient).Models(t.Context())
		srv.Close()
		var e *Error
		if c.kind == "" && err != nil || c.kind != "" && (!errors.As(err, &e) || e.Kind != c.kind) || !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "k-secret") {
			t.Errorf("%s: the error has the key: %v", name, err)
		}
	}
	var e *Error
	if _, err := New("http://127.0.0.1:1/v1", "", "", http.DefaultClient).Models(t.Context()); !errors.As(err, &e) || e.Kind != Unreachable {
		t.Errorf("nobody there: %v", err)
	}
}
