package openai

import (
	"strings"
	"testing"

	"dure/inference/front"
)

func TestModels(t *testing.T) {
	w := newWorld(t, nil)
	const small = `{"id":"small","object":"model","created":1700000000,"owned_by":"dure","dure":{"role":"demo","default":true,"loaded":true,"context_tokens":2048}}`
	const large = `{"id":"org/large","object":"model","created":0,"owned_by":"dure","dure":{"default":false,"loaded":false}}`
	for path, want := range map[string]string{
		"/v1/models":             `{"object":"list","data":[` + small + "," + large + `]}`,
		"/v1/models/small":       small,
		"/v1/models/org/large":   large,
		"/v1/models/org%2Flarge": large,
	} {
		if got := w.do("GET", path, ""); got.status != 200 || got.body != want+"\n" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	w.do("GET", "/v1/models/nope", "").wantError(t, 404, kindInvalid, "model_not_found", "model", "small, org/large")
	w.models.Listings = nil
	if got := w.do("GET", "/v1/models", ""); got.body != `{"object":"list","data":[]}`+"\n" {
		t.Error(got.body)
	}
}

// Every row of the table is told about, and takes a body if it is posted to, but for
// what only ends something.
func TestRoutes(t *testing.T) {
	for _, route := range front.New(front.Options{Surfaces: surfaces()}).Routes() {
		if route.Doc == "" || (route.Method == "POST" && !strings.HasSuffix(route.Path, "/cancel")) != (route.MaxBody > 0) {
			t.Errorf("%s %s: doc %q, body %d", route.Method, route.Path, route.Doc, route.MaxBody)
		}
	}
}
