package front_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"dure/inference/front"
	"dure/inference/front/fronttest"
)

func TestHost(t *testing.T) {
	w := newWorld(t, nil, func(o *front.Options) { o.Hosts = []string{"Box.lan", "10.1.2.3"} })
	for host, ok := range map[string]bool{
		"localhost": true, "localhost:8484": true, "LOCALHOST": true, "app.localhost": true, "localhost.": true,
		"127.0.0.1:1": true, "127.9.9.9": true, "[::1]:80": true, "[::1]": true, "[::ffff:127.0.0.1]": true,
		"box.lan": true, "BOX.lan:99": true, "10.1.2.3:8484": true,
		"evil.example": false, "10.1.2.4": false, "localhost.evil.example": false, "notlocalhost": false,
		"128.0.0.1": false, "box.lan.evil.example": false, "0.0.0.0": false,
	} {
		got := w.do("GET", "/names", "", "Host", host)
		if ok && got.Status != 200 {
			t.Errorf("%s: refused: %s", host, got.Body)
		}
		if !ok {
			got.wantError(t, 403, "host_not_allowed", "", host, "allowed hosts")
		}
	}
	anyHost := newWorld(t, nil, func(o *front.Options) { o.Hosts = []string{"*"} })
	if got := anyHost.do("GET", "/names", "", "Host", "evil.example"); got.Status != 200 {
		t.Error(got.Body)
	}
}

// HTTP/1.0 knows requests without a Host.
func TestNoHost(t *testing.T) {
	w := newWorld(t, nil)
	got := halfClosed(t, w.URL, "GET /names HTTP/1.0\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.0 403 ") || !strings.Contains(got, "no Host header: send one") || strings.Contains(got, "another server") {
		t.Error(got)
	}
	if got := halfClosed(t, w.URL, "GET /names HTTP/1.0\r\nHost: localhost\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.0 200 ") {
		t.Error(got)
	}
}

func TestOrigin(t *testing.T) {
	w := newWorld(t, nil, func(o *front.Options) { o.Origins = []string{"https://App.example:8443/"} })
	for origin, ok := range map[string]bool{
		"": true, "http://localhost:3000": true, "http://127.0.0.1": true, "https://[::1]:9": true, "tauri://localhost": true,
		"https://app.example:8443": true, w.URL: true,
		"https://app.example": false, "http://app.example:8443": false, "https://evil.example": false, "null": false,
		"http://localhost.evil.example": false, "file://": false, "http://localhost@evil.example": false,
	} {
		var headers []string
		if origin != "" {
			headers = []string{"Origin", origin}
		}
		got := w.do("GET", "/names", "", headers...)
		if ok && (got.Status != 200 || got.Header.Get("Access-Control-Allow-Origin") != origin) {
			t.Errorf("%q: %d %v", origin, got.Status, got.Header)
		}
		if !ok {
			got.wantError(t, 403, "origin_not_allowed", "", origin)
			if got.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%q may read the refusal", origin)
			}
		}
	}
	anyOrigin := newWorld(t, nil, func(o *front.Options) { o.Origins = []string{"*"} })
	if got := anyOrigin.do("GET", "/names", "", "Origin", "https://evil.example"); got.Status != 200 {
		t.Error(got.Body)
	}
}

func TestPreflight(t *testing.T) {
	w := newWorld(t, nil, func(o *front.Options) { o.Keys = fronttest.OneKey("k") })
	ask := func(origin, path string) reply {
		return w.do("OPTIONS", path, "", "Origin", origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization, x-stainless-lang")
	}
	got := ask("http://localhost:3000", "/say")
	if got.Status != 204 || got.Header.Get("Access-Control-Allow-Origin") != "http://localhost:3000" ||
		got.Header.Get("Access-Control-Allow-Methods") != "POST" ||
		got.Header.Get("Access-Control-Allow-Headers") != "authorization, x-stainless-lang" {
		t.Errorf("%d %v", got.Status, got.Header)
	}
	ask("http://localhost:3000", "/nope").wantError(t, 404, "unknown_url", "")
	if got := ask("https://evil.example", "/say"); got.Status != 403 || got.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%d %v", got.Status, got.Header)
	}
}

func TestAPIKeys(t *testing.T) {
	w := newWorld(t, script(nil, started(), done()), func(o *front.Options) {
		o.Keys = fronttest.Keys{"first-key": {Right: true}, "second-key": {Right: true}}
	})
	for header, ok := range map[string]bool{
		"Bearer first-key": true, "bearer second-key": true, "Bearer  second-key ": true,
		"": false, "Bearer": false, "Bearer ": false, "Bearer first-ke": false, "Bearer first-key2": false,
		"Basic first-key": false, "first-key": false,
	} {
		for _, path := range []string{"/names", "/metrics", "/nope"} {
			got := w.do("GET", path, "", "Authorization", header)
			if ok {
				if got.Status == 401 {
					t.Errorf("%q on %s: %s", header, path, got.Body)
				}
				continue
			}
			got.wantError(t, 401, "invalid_api_key", "", "API key")
			if got.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Error(got.Header)
			}
		}
	}
	if got := w.do("GET", "/health", ""); got.Status != 200 {
		t.Error("health needs a key")
	}
	for key, status := range map[string]int{"first-key": 200, " second-key ": 200, "first-ke": 401, "": 401} {
		if got := w.do("GET", "/names", "", "X-Api-Key", key); got.Status != status {
			t.Errorf("X-Api-Key %q: %d", key, got.Status)
		}
	}
	// Of two keys that of Authorization counts.
	w.do("GET", "/names", "", "X-Api-Key", "first-key", "Authorization", "Bearer wrong").wantError(t, 401, "invalid_api_key", "")
	w.do("POST", "/say", `{"text":"very private"}`,
		"Authorization", "Bearer first-key")
	for _, secret := range []string{"first-ke", "second-ke", "private"} {
		if strings.Contains(w.Log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

func TestRequestID(t *testing.T) {
	w := newWorld(t, nil)
	for given, kept := range map[string]bool{
		"abc": true, "A.b-c_1:2/3": true, strings.Repeat("x", 128): true,
		"": false, "a b": false, "한글": false, `"`: false, strings.Repeat("x", 129): false,
	} {
		got := w.do("GET", "/health", "", "X-Request-Id", given).Header.Get("X-Request-Id")
		if kept != (got == given) || got == "" {
			t.Errorf("%q became %q", given, got)
		}
	}
	ask := func() string { return w.do("GET", "/health", "").Header.Get("X-Request-Id") }
	if a, b := ask(), ask(); a == b {
		t.Errorf("%s twice", a)
	}
}

func TestRoutes(t *testing.T) {
	w := newWorld(t, nil)
	for _, path := range []string{"/", "/v1", "/names/", "/v1//models", "/V1/models", "/say/x"} {
		w.do("GET", path, "").wantError(t, 404, "unknown_url", "", path, "POST /say", "GET /names/{id}")
	}
	for _, tt := range []struct{ method, path, allow string }{
		{"GET", "/say", "POST"}, {"DELETE", "/names", "GET, HEAD"}, {"PUT", "/names/x", "GET, HEAD"},
		{"OPTIONS", "/health", "GET, HEAD"},
	} {
		got := w.do(tt.method, tt.path, "")
		got.wantError(t, 405, "method_not_allowed", "", tt.method, tt.allow)
		if got.Header.Get("Allow") != tt.allow {
			t.Errorf("%s %s: Allow %q", tt.method, tt.path, got.Header.Get("Allow"))
		}
	}
	if got := w.do("HEAD", "/names", ""); got.Status != 200 || got.Body != "" {
		t.Errorf("%d %q", got.Status, got.Body)
	}
	for _, route := range front.New(front.Options{Surfaces: surfaces()}).Routes() {
		if route.Doc == "" || (route.Method == "POST") != (route.MaxBody > 0) {
			t.Errorf("%s %s: doc %q, body %d", route.Method, route.Path, route.Doc, route.MaxBody)
		}
	}
}

func TestLogLineAndMetrics(t *testing.T) {
	w := newWorld(t, script(nil, started(), says("a"), says("b"), done()))
	w.do("POST", "/say", helloStream, "X-Request-Id", "r1")
	w.do("GET", "/nope?secret=1", "")
	w.do("GET", "/health", "")
	lines := w.Lines()
	if len(lines) != 2 {
		t.Fatalf("%d lines: %v", len(lines), lines)
	}
	first := lines[0]
	for name, want := range map[string]any{
		"msg": "request", "level": "INFO", "request_id": "r1", "model": "small", "status": 200.0, "stream": true,
		"prompt_tokens": 7.0, "completion_tokens": 3.0, "cached_tokens": 2.0, "finish": "stop",
		"method": "POST", "path": "/say",
	} {
		if first[name] != want {
			t.Errorf("%s is %v, want %v", name, first[name], want)
		}
	}
	if total, ttft := first["ms"].(float64), first["ttft_ms"].(float64); ttft <= 0 || total < ttft {
		t.Errorf("ms %v, ttft_ms %v", total, ttft)
	}
	if second := fmt.Sprint(lines[1]); !strings.Contains(second, "unknown_url") || strings.Contains(second, "secret") {
		t.Error(second)
	}
	for line, want := range map[string]string{
		`dure_http_requests_total{route="/say",status="200"}`:                          "1",
		`dure_http_requests_total{route="none",status="404"}`:                          "1",
		`dure_http_failures_total{code="unknown_url",route="none"}`:                    "1",
		`dure_http_request_duration_seconds_count{route="/say"}`:                       "1",
		`dure_time_to_first_token_seconds_count{model="small",priority="interactive"}`: "1",
		`dure_inter_token_gap_seconds_count{model="small",priority="interactive"}`:     "1",
		`dure_prompt_tokens_total{model="small"}`:                                      "7",
		`dure_completion_tokens_total{model="small"}`:                                  "3",
		`dure_requests_cancelled_total{phase="decode"}`:                                "0",
	} {
		if got := w.Metric(line); got != want {
			t.Errorf("%s is %q, want %q", line, got, want)
		}
	}
	bare := newWorld(t, nil, func(o *front.Options) { o.Metrics = nil })
	bare.do("GET", "/metrics", "").wantError(t, 404, "unknown_url", "", "no metrics")
}

// Without deadlines a stuck client would be served for ever, so a wrapper that
// hides them is an error and not a smaller guarantee.
func TestWriterWithoutDeadlines(t *testing.T) {
	rec := httptest.NewRecorder()
	front.New(front.Options{Models: &fronttest.Models{}, Surfaces: surfaces()}).ServeHTTP(rec, httptest.NewRequest("GET", "http://localhost/health", nil))
	if rec.Code != 500 || !strings.Contains(rec.Body.String(), "internal_error") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}
