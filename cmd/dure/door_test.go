package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dure/inference/key"
)

// guarded is a server with https and a file of keys, and a client that trusts it.
type guarded struct {
	*server
	root   string // up to the port
	client *http.Client
	file   string            // of keys
	keys   map[string]string // by name
}

func startGuarded(t *testing.T) *guarded {
	g := &guarded{file: filepath.Join(t.TempDir(), "keys.json"), keys: map[string]string{}}
	for _, args := range []string{"user --model smol* --priority worker --rpm 2", "other --model nope*", "boss --admin"} {
		out, errs, err := keyRun(t, append([]string{"add", "--keys", g.file}, strings.Fields(args)...)...)
		if err != nil {
			t.Fatalf("%v: %s", err, errs)
		}
		g.keys[strings.Fields(args)[0]] = strings.TrimSpace(out)
	}
	g.server = startServer(t, "--tls", "--keys", g.file, "--context", "1024", "--sequences", "2")
	trust := regexp.MustCompile(`clients trust it with (\S+)`).FindStringSubmatch(g.out)
	if trust == nil || !strings.Contains(g.out, "SHA-256 ") || !strings.HasPrefix(g.url, "https://127.0.0.1:") {
		t.Fatalf("what it says:\n%s", g.out)
	}
	pem, err := os.ReadFile(trust[1])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatalf("no certificate in %s", trust[1])
	}
	g.root = strings.TrimSuffix(g.url, "/v1")
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	g.client = &http.Client{Transport: transport}
	return g
}

// as sends a request with the key of a name, the way that Anthropic's clients do where
// the path is theirs.
func (g *guarded) as(name, method, path, body string) (*http.Response, string) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.root+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	switch secret := g.keys[name]; {
	case secret == "":
	case strings.HasPrefix(path, "/v1/messages"):
		req.Header.Set("X-Api-Key", secret)
	default:
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return resp, string(data)
}

const doorQuestion = `"model":"smollm2-135m","max_tokens":4,"messages":[{"role":"user","content":"hi"}]`

// askEach asks on every surface, and wants a refusal in its form.
func (g *guarded) askEach(name, more string, status int, openaiType, code, anthropicType string) {
	g.t.Helper()
	body := `{` + doorQuestion + more + `}`
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/api/chat"} {
		resp, text := g.as(name, "POST", path, body)
		if resp.StatusCode != status {
			g.t.Errorf("%s as %s: %s %s", path, name, resp.Status, text)
			continue
		}
		wants := []string{`"type":"` + openaiType + `"`, `"code":"` + code + `"`}
		switch path {
		case "/v1/messages":
			wants[0] = `"type":"` + anthropicType + `"`
		case "/api/chat":
			wants[0] = `"error":"`
		}
		for _, want := range wants {
			if !strings.Contains(text, want) {
				g.t.Errorf("%s as %s: no %s in %s", path, name, want, text)
			}
		}
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); status == 429 && (err != nil || seconds < 1) {
			g.t.Errorf("%s: Retry-After %q", path, resp.Header.Get("Retry-After"))
		}
		if status == 401 && resp.Header.Get("WWW-Authenticate") != "Bearer" {
			g.t.Errorf("%s: %v", path, resp.Header)
		}
	}
}

// The whole door with a real certificate, a real file of keys and a real model.
func TestDoor(t *testing.T) {
	g := startGuarded(t)
	resp, text := g.as("user", "GET", "/v1/models", "")
	if resp.StatusCode != 200 || resp.Proto != "HTTP/1.1" || !strings.Contains(text, `"smollm2-135m"`) || strings.Contains(text, "gemma") {
		t.Errorf("%s %s %s", resp.Proto, resp.Status, text)
	}
	if _, text := g.as("other", "GET", "/v1/models", ""); strings.Contains(text, "smollm2") {
		t.Errorf("a key that may not use it is shown a model: %s", text)
	}
	if resp, text := g.as("", "GET", "/health", ""); resp.StatusCode != 200 {
		t.Errorf("health: %s %s", resp.Status, text)
	}
	g.keys["stranger"] = "dure-wrong"
	g.askEach("", "", 401, "invalid_request_error", "invalid_api_key", "authentication_error")
	g.askEach("stranger", "", 401, "invalid_request_error", "invalid_api_key", "authentication_error")
	g.askEach("other", "", 403, "invalid_request_error", "model_not_allowed", "permission_error")
	g.askEach("user", `,"priority":"interactive"`, 403, "invalid_request_error", "priority_not_allowed", "permission_error")
	for path, want := range map[string]string{"/v1/chat/completions": `"completion_tokens":4`, "/v1/messages": `"output_tokens":4`} {
		if resp, text := g.as("user", "POST", path, `{`+doorQuestion+`}`); resp.StatusCode != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %s %s", path, resp.Status, text)
		}
	}
	g.askEach("user", "", 429, "rate_limit_error", "limit_reached", "rate_limit_error")
	for _, order := range []string{"/v1/dure/models/smollm2-135m/unload", "/v1/dure/pause"} {
		if resp, text := g.as("user", "POST", order, ""); resp.StatusCode != 403 || !strings.Contains(text, "admin_key_required") {
			t.Errorf("%s: %s %s", order, resp.Status, text)
		}
	}
	if resp, text := g.as("user", "POST", "/api/pull", `{"model":"smollm2-135m"}`); resp.StatusCode != 403 {
		t.Errorf("pull: %s %s", resp.Status, text)
	}
	testAskingCommands(t, g)
	for _, want := range []string{"status=429", "key=user", "code=limit_reached", "key=boss"} {
		if !strings.Contains(g.errs.String(), want) {
			t.Errorf("%s is not in the log", want)
		}
	}
	if strings.Contains(g.errs.String()+g.out, g.keys["user"]) {
		t.Error("a key is in the log")
	}
	if _, errs, err := keyRun(t, "disable", "boss", "--keys", g.file); err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	eventually(t, "a key that was disabled does not work", func() bool {
		resp, _ := g.as("boss", "GET", "/metrics", "")
		return resp.StatusCode == 401
	})
	if err := g.stop(); err != nil {
		t.Errorf("%v\n%s", err, g.errs)
	}
	wantUsage(t, g)
}

// testAskingCommands has the commands that ask a running server ask this one.
func testAskingCommands(t *testing.T, g *guarded) {
	for _, tc := range []struct {
		key, args string
		ok        bool
		want      string
	}{
		{"boss", "ps --addr " + g.root, true, "smollm2-135m"},
		{"boss", "load smollm2-135m --addr " + g.root, true, "smollm2-135m"},
		{"boss", "run --addr " + g.root + " --max-tokens 4 smollm2-135m hello", true, "using smollm2-135m of the server at https://"},
		{"user", "ps --addr " + g.root, false, "dure key add NAME --admin"},
		{"", "ps --addr " + g.root, false, "DURE_API_KEYS"},
		{"boss", "ps --addr " + strings.TrimPrefix(g.root, "https://"), false, "name it as " + g.root},
		{"boss", "run --addr " + strings.TrimPrefix(g.root, "https://") + " smollm2-135m hello", false, "name it as " + g.root},
	} {
		cmd := dureCommand(t, strings.Fields(tc.args)...)
		cmd.Env = append(cmd.Env, envKeys+"="+g.keys[tc.key])
		out, err := cmd.CombinedOutput()
		if (err == nil) != tc.ok || !strings.Contains(string(out), tc.want) {
			t.Errorf("%s as %q: %v, want %q in\n%s", tc.args, tc.key, err, tc.want, out)
		}
	}
	// Who does not have the certificate is told what to trust.
	cmd := dureCommand(t, "ps", "--addr", g.root)
	cmd.Env = append(cmd.Env, envHome+"="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "SSL_CERT_FILE") {
		t.Errorf("%v: %s", err, out)
	}
}

// wantUsage checks what is known of the keys when the server is gone.
func wantUsage(t *testing.T, g *guarded) {
	keys, err := key.Read(g.file)
	if err != nil {
		t.Fatal(err)
	}
	usage, err := key.ReadUsage(g.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		total := usage[k.ID()].Total
		if k.Name == "user" && (total.Requests != 2 || total.CompletionTokens != 8 || total.PromptTokens == 0 || total.Refused != 6) ||
			k.Name == "other" && (total.Requests != 0 || total.Refused != 3) {
			t.Errorf("%s: %+v", k.Name, total)
		}
	}
}

// A client that leaves has its tokens counted, and its place is free again.
func TestKeyOfAClientThatLeaves(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	secret, errs, err := keyRun(t, "add", "--keys", file, "one", "--concurrency", "1")
	if err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	s := startServer(t, "--keys", file, "--context", "1024", "--sequences", "2")
	ask := func(ctx context.Context, body string) *http.Response {
		req, err := http.NewRequestWithContext(ctx, "POST", s.url+"/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(secret))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	firstToken(t, ask(ctx, chatBody("go on", endlessMore)))
	if resp := ask(t.Context(), chatBody("hi", `,"max_tokens":2`)); resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("two at once: %s %v", resp.Status, resp.Header)
	}
	cancel()
	eventually(t, "its place is free", func() bool {
		return ask(t.Context(), chatBody("hi", `,"max_tokens":2`)).StatusCode == 200
	})
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	usage, err := key.ReadUsage(file)
	if err != nil || len(usage) != 1 {
		t.Fatalf("%v, %v", usage, err)
	}
	for _, u := range usage {
		if u.Total.Requests != 2 || u.Total.CompletionTokens < 3 { // one at least of the stream that was left
			data, _ := json.Marshal(u)
			t.Errorf("%s", data)
		}
	}
}

func TestDoorFlags(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.json")
	for args, want := range map[string]string{
		"--tls-cert a.pem":                       "--tls-cert and --tls-key belong together",
		"--tls-key a.pem":                        "--tls-cert and --tls-key belong together",
		"--tls --tls-cert a.pem --tls-key b.pem": "give one of them",
		"--tls-cert a.pem --tls-key b.pem":       "a.pem",
		"--keys " + missing:                      "dure key add NAME --keys " + missing,
		"--addr 0.0.0.0:0":                       "dure key add NAME",
	} {
		args := append([]string{"serve", "--addr", "127.0.0.1:0"}, strings.Fields(args)...)
		if out, err := dureCommand(t, args...).CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v, want %q in\n%s", args, err, want, out)
		}
	}
}

// A service starts in a folder of its own, where a relative path means another file.
func TestServiceWantsAbsolutePathsOfKeys(t *testing.T) {
	for _, flag := range []string{"--keys", "--tls-cert", "--tls-key"} {
		if _, err := serveArguments([]string{flag, "a.json"}); err == nil || !strings.Contains(err.Error(), flag+" a.json") {
			t.Errorf("%s: %v", flag, err)
		}
		if _, err := serveArguments([]string{flag, "/a.json"}); err != nil {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
