package openai

import (
	"net/http"

	"dure/inference/front"
)

// listModels answers GET /v1/models.
func listModels(x *front.Exchange, _ *http.Request) error {
	list := modelList{Object: "list", Data: []modelObject{}}
	for _, l := range x.Listings() {
		list.Data = append(list.Data, wireModel(l))
	}
	return x.JSON(http.StatusOK, list)
}

// showModel answers GET /v1/models/{id}.
func showModel(x *front.Exchange, r *http.Request) error {
	l, err := x.Lookup(r.PathValue("id"))
	if err != nil {
		return err
	}
	return x.JSON(http.StatusOK, wireModel(l))
}

func wireModel(l front.Listing) modelObject {
	m := modelObject{
		ID: l.Name, Object: "model", OwnedBy: l.OwnedBy,
		Dure: modelDure{Role: l.Role, Default: l.Default, Loaded: l.Loaded, Context: l.Context},
	}
	if !l.Created.IsZero() {
		m.Created = l.Created.Unix()
	}
	return m
}
