package swarm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"dure/inference"
)

// Kind of a server, as far as it tells.
type Kind string

// Kinds that speak more than OpenAI's API.
const (
	Dure        Kind = "dure"
	LlamaServer Kind = "llama-server"
	Other       Kind = "other"
)

// Options of Connect. URL is required.
type Options struct {
	URL   string // up to and including /v1, which is added where it is absent
	Key   string // sent as bearer token; empty sends none
	Model string // empty: the one the server names first, or its default
	// Kind of the server; empty: found out from its list of models.
	Kind Kind
	// Stall is how long a server may be silent; 0 means 10 minutes.
	Stall time.Duration
}

// Endpoint is a server that is measured. It is safe for concurrent use.
type Endpoint struct {
	Kind  Kind
	Model string
	Stall time.Duration

	base, key string
	client    *http.Client
}

// callTimeout bounds the calls around a measurement.
const callTimeout = time.Minute

// Connect looks at a server's list of models.
func Connect(ctx context.Context, o Options) (*Endpoint, error) {
	base := strings.TrimRight(o.URL, "/")
	if !strings.HasPrefix(base, "http://") && !strings.HasPrefix(base, "https://") {
		return nil, fmt.Errorf("endpoint %q: write a URL such as http://127.0.0.1:8484/v1", o.URL)
	}
	if !strings.HasSuffix(base, "/v1") {
		base += "/v1"
	}
	e := &Endpoint{Kind: o.Kind, Model: o.Model, Stall: o.Stall, base: base, key: o.Key}
	if e.Stall == 0 {
		e.Stall = 10 * time.Minute
	}
	// No limit on connections and no compression: neither side is to wait for
	// anything but the server.
	e.client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1024, DisableCompression: true}}
	var list struct {
		Data []listed `json:"data"`
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := e.call(ctx, http.MethodGet, e.base+"/models", nil, &list); err != nil {
		return nil, fmt.Errorf("list the models: %w", err)
	}
	e.choose(list.Data)
	return e, nil
}

type listed struct {
	ID    string `json:"id"`
	Owner string `json:"owned_by"`
	Dure  *struct {
		Default bool `json:"default"`
	} `json:"dure"`
}

func (e *Endpoint) choose(models []listed) {
	kind := Other
	for i, m := range models {
		switch {
		case m.Dure != nil:
			kind = Dure
		case m.Owner == "llamacpp":
			kind = LlamaServer
		}
		if e.Model == "" && (i == len(models)-1 || m.Dure == nil || m.Dure.Default) {
			e.Model = m.ID
		}
	}
	if e.Kind == "" {
		e.Kind = kind
	}
}

// Close ends idle connections.
func (e *Endpoint) Close() { e.client.CloseIdleConnections() }

// Counts reports whether the server tells the tokens of a text.
func (e *Endpoint) Counts() bool { return e.Kind != Other }

// toolBase is where the routes lie that OpenAI's API does not have.
func (e *Endpoint) toolBase() string {
	if e.Kind == LlamaServer {
		return strings.TrimSuffix(e.base, "/v1")
	}
	return e.base
}

// Tokens of a text, special ones included.
func (e *Endpoint) Tokens(ctx context.Context, text string) ([]int32, error) {
	body := map[string]any{"model": e.Model, "content": text, "add_special": true}
	if e.Kind == LlamaServer {
		body["parse_special"] = true // dure has one switch for both
	}
	var answer struct {
		Tokens []int32 `json:"tokens"`
	}
	if err := e.call(ctx, http.MethodPost, e.toolBase()+"/tokenize", body, &answer); err != nil {
		return nil, fmt.Errorf("tokenize: %w", err)
	}
	return answer.Tokens, nil
}

// PromptTokens are those that a conversation becomes.
func (e *Endpoint) PromptTokens(ctx context.Context, messages []inference.Message) ([]int32, error) {
	var answer struct {
		Prompt string `json:"prompt"`
	}
	body := map[string]any{"model": e.Model, "messages": messages}
	if err := e.call(ctx, http.MethodPost, e.toolBase()+"/apply-template", body, &answer); err != nil {
		return nil, fmt.Errorf("apply the template: %w", err)
	}
	return e.Tokens(ctx, answer.Prompt)
}

// counter is nil where the server does not tell.
func (e *Endpoint) counter() counter {
	if !e.Counts() {
		return nil
	}
	return func(ctx context.Context, text string) (int, error) {
		tokens, err := e.Tokens(ctx, text)
		return len(tokens), err
	}
}

// Warm has the server answer something short, so that what a first request
// costs is behind it.
func (e *Endpoint) Warm(ctx context.Context) error {
	t := e.Chat(ctx, Ask{Messages: User("Say something about the weather."), Output: 16}, nil)
	if !t.OK() {
		return fmt.Errorf("warm up: %w", t.Err)
	}
	return nil
}

// User is a conversation of one message.
func User(text string) []inference.Message {
	return []inference.Message{{Role: inference.RoleUser, Content: text}}
}

func (e *Endpoint) post(ctx context.Context, path string, body any) (*http.Response, error) {
	return e.send(ctx, http.MethodPost, e.base+path, body)
}

func (e *Endpoint) send(ctx context.Context, method, url string, body any) (*http.Response, error) {
	var data io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		data = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, data)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	// Not sent: it lets the client repeat a request whose idle connection the
	// server closed in the same moment. Some do after a few seconds.
	req.Header["Idempotency-Key"] = []string{}
	if e.key != "" {
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	return e.client.Do(req)
}

// call is a request whose answer is one JSON value.
func (e *Endpoint) call(ctx context.Context, method, url string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := e.send(ctx, method, url, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		_, f := refusal(resp)
		return fmt.Errorf("%s: %w", url, f)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err == nil {
		err = json.Unmarshal(data, answer)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}
