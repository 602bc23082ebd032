package front

import "net/http"

// maxControl is more than any order needs.
const maxControl = 4 << 10

// own are the routes that belong to no surface.
func (h *Handler) own() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/dure/agents", Doc: "the agents that have requests here, or had of late: of all keys, or without the admin right of this one", Handle: h.listAgents},
		{Method: "DELETE", Path: "/v1/dure/agents/{id}", Doc: "cancel the requests of an agent and of all below it; those of other keys with the admin right only", Handle: h.stopAgent},
		{Method: "GET", Path: "/v1/dure/cache", Admin: true, Doc: "what the caches of the loaded models hold", Handle: h.showCache},
		{Method: "GET", Path: "/v1/dure/models", Admin: true, Doc: "the models that are loaded, load, or failed to", Handle: h.listPool},
		{Method: "POST", Path: "/v1/dure/models/{id}/load", Admin: true, MaxBody: maxControl,
			Doc: "load a model, and keep it for `keep_alive`", Handle: h.loadModel},
		{Method: "POST", Path: "/v1/dure/models/{id}/unload", Admin: true, MaxBody: maxControl,
			Doc: "unload a model when its requests have ended, or `now`", Handle: h.unloadModel},
		{Method: "POST", Path: "/v1/dure/pause", Admin: true, MaxBody: maxControl,
			Doc: "unload all models and refuse requests, to leave the memory to others", Handle: h.pausePool},
		{Method: "POST", Path: "/v1/dure/resume", Admin: true, MaxBody: maxControl, Doc: "load again what pause unloaded", Handle: h.resumePool},
		{Method: "GET", Path: "/openapi.json", Open: true, Doc: "this table of routes as an OpenAPI 3.1 document", Handle: h.showDocument},
		{Method: "GET", Path: "/health", Open: true, Quiet: true, Doc: "200 while serving, 503 while shutting down", Handle: h.health},
		{Method: "GET", Path: "/metrics", Admin: true, Quiet: true, Doc: "metrics for Prometheus", Handle: h.showMetrics},
	}
}

type healthBody struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}

// health answers GET /health.
func (h *Handler) health(x *Exchange, _ *http.Request) error {
	if h.isClosing() {
		return x.JSON(http.StatusServiceUnavailable, healthBody{Status: "shutting_down", Version: h.version})
	}
	return x.JSON(http.StatusOK, healthBody{Status: "ok", Version: h.version})
}

// showMetrics answers GET /metrics.
func (h *Handler) showMetrics(x *Exchange, r *http.Request) error {
	if h.metricsPage == nil {
		return Refuse(http.StatusNotFound, CodeUnknownURL, "this server shows no metrics")
	}
	h.metricsPage.ServeHTTP(x, r)
	return nil
}
