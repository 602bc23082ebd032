package openai

import (
	"net/http"
	"strings"

	"dure/inference"
)

// lookup finds a model of the catalogue, the default one for an empty name.
func (h *handler) lookup(name string) (Listing, error) {
	list := h.models.List()
	names := make([]string, len(list))
	for i, l := range list {
		if l.Name == name || name == "" && l.Default {
			return l, nil
		}
		names[i] = l.Name
	}
	err := inference.Errorf(inference.CodeModelNotFound,
		"there is no model %q; the models are: %s", clip(name), strings.Join(names, ", "))
	if name == "" {
		err = inference.Errorf(inference.CodeInvalidRequest,
			"model: is required, because none is the default; the models are: %s", strings.Join(names, ", "))
	}
	err.Param = "model"
	return Listing{}, err
}

// listModels answers GET /v1/models.
func (h *handler) listModels(x *exchange, _ *http.Request) error {
	list := modelList{Object: "list", Data: []modelObject{}}
	for _, l := range h.models.List() {
		list.Data = append(list.Data, l.wire())
	}
	return x.json(http.StatusOK, list)
}

// showModel answers GET /v1/models/{id}.
func (h *handler) showModel(x *exchange, r *http.Request) error {
	l, err := h.lookup(r.PathValue("id"))
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, l.wire())
}

func (l Listing) wire() modelObject {
	m := modelObject{
		ID: l.Name, Object: "model", OwnedBy: l.OwnedBy,
		Dure: modelDure{Role: l.Role, Default: l.Default, Loaded: l.Loaded, Context: l.Context},
	}
	if !l.Created.IsZero() {
		m.Created = l.Created.Unix()
	}
	return m
}

type healthBody struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}

// health answers GET /health.
func (h *handler) health(x *exchange, _ *http.Request) error {
	if h.isClosing() {
		return x.json(http.StatusServiceUnavailable, healthBody{Status: "shutting_down", Version: h.version})
	}
	return x.json(http.StatusOK, healthBody{Status: "ok", Version: h.version})
}

// showMetrics answers GET /metrics.
func (h *handler) showMetrics(x *exchange, r *http.Request) error {
	if h.metricsPage == nil {
		return refusal(http.StatusNotFound, "unknown_url", "this server shows no metrics")
	}
	h.metricsPage.ServeHTTP(x, r)
	return nil
}
