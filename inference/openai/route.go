package openai

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Route is one row of the route table.
type Route struct {
	Method string
	// Path may hold one "{id}", which takes as much as there is: names of models may
	// hold slashes.
	Path string
	// MaxBody is the largest request body in bytes; 0 means that no body is
	// read.
	MaxBody int64
	// Open routes need no API key.
	Open bool
	// Quiet routes are polled by machines: their log line is Debug.
	Quiet bool
	// Doc is one line for people.
	Doc string

	handle func(*handler, *exchange, *http.Request) error
}

// maxBody has room for a few hundred thousand tokens of text, with JSON escapes,
// and for two million as numbers.
const maxBody = 16 << 20

// maxControl is more than any order needs.
const maxControl = 4 << 10

// Routes returns the route table, in the order in which it is documented.
func Routes() []Route { return slices.Clone(routes) }

var routes = []Route{
	{Method: "GET", Path: "/v1/models", Doc: "the models that can be asked for", handle: (*handler).listModels},
	{Method: "GET", Path: "/v1/models/{id}", Doc: "one model", handle: (*handler).showModel},
	{Method: "POST", Path: "/v1/chat/completions", MaxBody: maxBody,
		Doc: "answer a conversation, whole or as a stream", handle: (*handler).chat},
	{Method: "POST", Path: "/v1/completions", MaxBody: maxBody,
		Doc: "continue texts or tokens, whole or as a stream", handle: (*handler).textCompletion},
	{Method: "POST", Path: "/v1/tokenize", MaxBody: maxBody, Doc: "the tokens of a text", handle: (*handler).tokenize},
	{Method: "POST", Path: "/v1/detokenize", MaxBody: maxBody, Doc: "the text of tokens", handle: (*handler).detokenize},
	{Method: "POST", Path: "/v1/apply-template", MaxBody: maxBody,
		Doc: "the prompt that a conversation becomes", handle: (*handler).applyTemplate},
	{Method: "GET", Path: "/v1/dure/agents", Doc: "the agents that have requests here, or had of late", handle: (*handler).listAgents},
	{Method: "DELETE", Path: "/v1/dure/agents/{id}",
		Doc: "cancel the requests of an agent and of all below it", handle: (*handler).stopAgent},
	{Method: "GET", Path: "/v1/dure/cache", Doc: "what the caches of the loaded models hold", handle: (*handler).showCache},
	{Method: "GET", Path: "/v1/dure/models", Doc: "the models that are loaded, load, or failed to", handle: (*handler).listPool},
	{Method: "POST", Path: "/v1/dure/models/{id}/load", MaxBody: maxControl,
		Doc: "load a model, and keep it for `keep_alive`", handle: (*handler).loadModel},
	{Method: "POST", Path: "/v1/dure/models/{id}/unload", MaxBody: maxControl,
		Doc: "unload a model when its requests have ended, or `now`", handle: (*handler).unloadModel},
	{Method: "POST", Path: "/v1/dure/pause", MaxBody: maxControl,
		Doc: "unload all models and refuse requests, to leave the memory to others", handle: (*handler).pausePool},
	{Method: "POST", Path: "/v1/dure/resume", MaxBody: maxControl,
		Doc: "load again what pause unloaded", handle: (*handler).resumePool},
	{Method: "GET", Path: "/health", Open: true, Quiet: true,
		Doc: "200 while serving, 503 while shutting down", handle: (*handler).health},
	{Method: "GET", Path: "/metrics", Quiet: true, Doc: "metrics for Prometheus", handle: (*handler).showMetrics},
}

const wildcard = "{id}"

// matches reports whether the row's path fits, and what {id} stands for.
func (t Route) matches(path string) (id string, ok bool) {
	prefix, suffix, wild := strings.Cut(t.Path, wildcard)
	if !wild {
		return "", path == t.Path
	}
	if id, ok = strings.CutPrefix(path, prefix); ok {
		id, ok = strings.CutSuffix(id, suffix)
	}
	return id, ok && id != ""
}

// findRoute returns the row for r and stores {id} as a path value. HEAD goes
// where GET goes. The error is a 404 or 405.
func findRoute(r *http.Request) (Route, error) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, t := range routes {
		id, ok := t.matches(r.URL.Path)
		if ok && t.Method == method {
			r.SetPathValue("id", id)
			return t, nil
		}
	}
	if allowed := allowedMethods(r.URL.Path); allowed != "" {
		f := refusal(http.StatusMethodNotAllowed, "method_not_allowed",
			"%s is not allowed on %s; allowed: %s", clip(r.Method), clip(r.URL.Path), allowed)
		f.header("Allow", allowed)
		return Route{}, f
	}
	return Route{}, refusal(http.StatusNotFound, "unknown_url",
		"there is no %s; the routes are: %s", clip(r.URL.Path), routeList())
}

// allowedMethods lists the methods that a path answers to, empty when the path
// does not exist.
func allowedMethods(path string) string {
	var methods []string
	for _, t := range routes {
		if _, ok := t.matches(path); ok {
			methods = append(methods, t.Method)
			if t.Method == http.MethodGet {
				methods = append(methods, http.MethodHead)
			}
		}
	}
	return strings.Join(methods, ", ")
}

// label names the row in metrics.
func (t Route) label() string {
	if t.Path == "" {
		return "none"
	}
	return t.Path
}

func routeList() string {
	var list []string
	for _, t := range routes {
		list = append(list, fmt.Sprintf("%s %s", t.Method, t.Path))
	}
	return strings.Join(list, ", ")
}

// clip keeps what a client sent from filling an error message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
