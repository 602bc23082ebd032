package anthropic

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"
)

type modelObject struct {
	Type    string `json:"type"` // "model"
	ID      string `json:"id"`
	Name    string `json:"display_name"`
	Created string `json:"created_at"`
	// MaxInput is in tokens, with the answer.
	MaxInput *int `json:"max_input_tokens"`
}

type modelList struct {
	Data    []modelObject `json:"data"`
	HasMore bool          `json:"has_more"`
	First   *string       `json:"first_id"`
	Last    *string       `json:"last_id"`
}

// mostModels is how long a page may be.
const mostModels = 1000

// listModels answers GET /v1/models, page by page where a client wants that.
func listModels(x *front.Exchange, r *http.Request) error {
	all := x.Listings()
	page, more, err := pageOf(all, r.URL.Query())
	if err != nil {
		return err
	}
	list := modelList{Data: []modelObject{}, HasMore: more}
	for _, l := range page {
		list.Data = append(list.Data, wireModel(l))
	}
	if n := len(list.Data); n > 0 {
		list.First, list.Last = &list.Data[0].ID, &list.Data[n-1].ID
	}
	return x.JSON(http.StatusOK, list)
}

// pageOf is the part of a list that a query asks for, and whether there is more of it
// in that direction. Without a limit it is all there is.
func pageOf(all []front.Listing, query url.Values) (page []front.Listing, more bool, err error) {
	limit := mostModels
	if text := query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > mostModels {
			return nil, false, badQuery("limit", "must be a whole number from 1 to %d, not %q", mostModels, strict.Clip(text))
		}
	}
	after, before := query.Get("after_id"), query.Get("before_id")
	if after != "" && before != "" {
		return nil, false, badQuery("before_id", "is not allowed beside after_id")
	}
	place := func(name, id string) (int, error) {
		i := slices.IndexFunc(all, func(l front.Listing) bool { return l.Name == id })
		if i < 0 {
			err = badQuery(name, "there is no model %q", strict.Clip(id))
		}
		return i, err
	}
	if before != "" {
		end, err := place("before_id", before)
		if err != nil {
			return nil, false, err
		}
		begin := max(0, end-limit)
		return all[begin:end], begin > 0, nil
	}
	begin := 0
	if after != "" {
		i, err := place("after_id", after)
		if err != nil {
			return nil, false, err
		}
		begin = i + 1
	}
	end := min(len(all), begin+limit)
	return all[begin:end], end < len(all), nil
}

func badQuery(name, format string, args ...any) error {
	err := inference.Errorf(inference.CodeInvalidRequest, name+": "+format, args...)
	err.Param = name
	return err
}

func showModel(x *front.Exchange, r *http.Request) error {
	l, err := x.Lookup(r.PathValue("id"))
	if err != nil {
		return err
	}
	return x.JSON(http.StatusOK, wireModel(l))
}

// wireModel is a model in this form. A time that is not known is the epoch, as in that
// API's reference.
func wireModel(l front.Listing) modelObject {
	created := l.Created
	if created.IsZero() {
		created = time.Unix(0, 0)
	}
	m := modelObject{Type: "model", ID: l.Name, Name: l.Name, Created: created.UTC().Format(time.RFC3339)}
	if l.Context > 0 {
		m.MaxInput = &l.Context
	}
	return m
}
