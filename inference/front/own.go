package front

import "net/http"

// maxControl is more than any order needs.
const maxControl = 4 << 10

// own are the routes that belong to no surface.
func (h *Handler) own() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/dure/agents", Doc: "the agents that have requests here, or had of late", Handle: h.listAgents},
		{Method: "DELETE", Path: "/v1/dure/agents/{id}", Doc: "cancel the requests of an agent and of all below it", Handle: h.stopAgent},
		{Method: "GET", Path: "/v1/dure/cache", Doc: "what the caches of the loaded models hold", Handle: h.showCache},
		{Method: "GET", Path: "/v1/dure/models", Doc: "the models that are loaded, load, or failed to", Handle: h.listPool},
		{Method: "POST", Path: "/v1/dure/models/{id}/load", MaxBody: maxControl,
			Doc: "load a model, and keep it for `keep_alive`", Handle: h.loadModel},
		{Method: "POST", Path: "/v1/dure/models/{id}/unload", MaxBody: maxControl,
			Doc: "unload a model when its requests have ended, or `now`", Handle: h.unloadModel},
		{Method: "POST", Path: "/v1/dure/pause", MaxBody: maxControl,
			Doc: "unload all models and refuse requests, to leave the memory to others", Handle: h.pausePool},
		{Method: "POST", Path: "/v1/dure/resume", MaxBody: maxControl, Doc: "load again what pause unloaded", Handle: h.resumePool},
		{Method: "GET", Path: "/health", Open: true, Quiet: true, Doc: "200 while serving, 503 while shutting down", Handle: h.health},
		{Method: "GET", Path: "/metrics", Quiet: true, Doc: "metrics for Prometheus", Handle: h.showMetrics},
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
