package front

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestDocument(t *testing.T) {
	answer := func(*Exchange, *http.Request) error { return nil }
	fail := func(word string) func(*Exchange, *Failure) any {
		return func(x *Exchange, f *Failure) any {
			x.Header().Set("X-Word", word) // is nobody's here
			return map[string]any{word: map[string]any{"message": f.Message, "n": 1, "all": []int{1}, "is": true, "none": nil}}
		}
	}
	h := New(Options{Version: "v1", Keys: oneKey("k"), Surfaces: []Surface{
		{Prefix: "/v1/", Fail: fail("one"), Routes: []Route{
			{Method: "POST", Path: "/v1/say", MaxBody: 9, Doc: "says", Handle: answer},
			{Method: "POST", Path: "/v1/say", MaxBody: 7, Doc: "never reached", Handle: answer},
			{Method: "GET", Path: "/v1/models/{id}", Doc: "shows", Handle: answer},
		}},
		{Prefix: "/v2/say", Fail: fail("two"), Routes: []Route{
			{Method: "GET", Path: "/v1/models/{id}", Header: "X-Two", Doc: "shows it in two", Handle: answer},
			{Method: "GET", Path: "/v2/say/only", Header: "X-Two", Admin: true, Doc: "only two", Handle: answer},
		}},
	}})
	to := &written{writes: writes{header: http.Header{}}}
	r, err := http.NewRequest("GET", "http://localhost/openapi.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	h.ServeHTTP(to, r) // without a key
	var doc map[string]any
	if err := json.Unmarshal([]byte(to.body), &doc); err != nil {
		t.Fatalf("%v: %s", err, to.body)
	}
	for path, want := range map[string]string{
		"openapi": `"3.1.0"`, "info": `{"title":"dure","version":"v1"}`, "security": `[{"bearer":[]},{"key":[]}]`,
		"paths /v1/say post": `{"requestBody":{"content":{"application/json":{"schema":{"type":"object"}}},"description":"at most 9 bytes"},` +
			`"responses":{"200":{"description":"the answer"},"default":{"$ref":"#/components/responses/failure-v1"}},"summary":"says"}`,
		"paths /v1/models/{id} get summary":     `"shows"`,
		"paths /v1/models/{id} get description": `"With the header X-Two: shows it in two."`,
		"paths /v1/models/{id} get parameters": `[{"description":"may hold slashes, as they are","in":"path","name":"id","required":true,"schema":{"type":"string"}},` +
			`{"in":"header","name":"X-Two","required":false,"schema":{"type":"string"}}]`,
		"paths /v2/say/only get description":                                  `"Where keys are required, one with the admin right is. With the header X-Two: only two."`,
		"paths /v2/say/only get parameters":                                   `[{"in":"header","name":"X-Two","required":true,"schema":{"type":"string"}}]`,
		"paths /v2/say/only get responses":                                    `{"200":{"description":"the answer"},"default":{"$ref":"#/components/responses/failure-v2-say"}}`,
		"paths /health get security":                                          `[]`,
		"components responses failure-v2-say content application/json schema": `{"properties":{"two":{"properties":{"all":{"type":"array"},"is":{"type":"boolean"},"message":{"type":"string"},"n":{"type":"number"},"none":{}},"type":"object"}},"type":"object"}`,
	} {
		at := any(doc)
		for step := range strings.FieldsSeq(path) {
			members, _ := at.(map[string]any)
			at = members[step]
		}
		var wanted any
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(at, wanted) {
			t.Errorf("%s: got %v, want %v", path, at, wanted)
		}
	}
	// Every row of the table is there.
	paths, _ := doc["paths"].(map[string]any)
	for _, route := range h.Routes() {
		methods, _ := paths[route.Path].(map[string]any)
		if methods[strings.ToLower(route.Method)] == nil {
			t.Errorf("%s %s is missing", route.Method, route.Path)
		}
	}
	free, err := New(Options{Surfaces: []Surface{{Fail: fail("x")}}}).document()
	if err != nil || len(free.Security) != 3 {
		t.Errorf("without keys: %+v, %v", free, err)
	}
}
