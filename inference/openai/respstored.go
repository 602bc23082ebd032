package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"
)

// rawJSON is JSON that is encoded already.
type rawJSON []byte

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// appendRespError ends a stream of events that belong to something else than the
// request that reads them.
func appendRespError(dst []byte, f *front.Failure) ([]byte, error) {
	e := struct {
		Type    string         `json:"type"`
		Code    inference.Code `json:"code"`
		Message string         `json:"message"`
		Param   *string        `json:"param"`
	}{"error", f.Code, f.Message, nil}
	if f.Param != "" {
		e.Param = &f.Param
	}
	return front.AppendNamedEvent(dst, e.Type, e)
}

// show answers GET /v1/responses/{id}.
func (s *Responses) show(x *front.Exchange, r *http.Request) error {
	id := r.PathValue("id")
	query := r.URL.Query()
	after, err := queryNumber(query.Get("starting_after"), "starting_after", -1, -1, 1<<40)
	if err != nil {
		return err
	}
	j := s.job(x.KeyName(), id)
	if query.Get("stream") == "true" {
		return s.replay(x, r, id, j, after+1)
	}
	if j != nil {
		return x.JSON(http.StatusOK, rawJSON(j.now()))
	}
	rec, o, _, err := s.recall(x.KeyName(), id)
	if err != nil {
		return err
	}
	if o.Status == statusQueued || o.Status == statusInProgress {
		return s.showLost(x, rec)
	}
	return x.JSON(http.StatusOK, rec.Response)
}

// showLost answers with a response whose server ended before it.
func (s *Responses) showLost(x *front.Exchange, rec record) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(rec.Response, &all); err != nil {
		return err
	}
	why, err := json.Marshal(respError{inference.CodeShuttingDown, "the server ended before the response was complete"})
	if err != nil {
		return err
	}
	all["status"], all["error"] = json.RawMessage(`"`+statusFailed+`"`), why
	return x.JSON(http.StatusOK, all)
}

// replay answers with the events of a response from a number on, also of those to come.
func (s *Responses) replay(x *front.Exchange, r *http.Request, id string, j *job, from int) error {
	if j == nil {
		if _, _, _, err := s.recall(x.KeyName(), id); err != nil {
			return err
		}
		return strict.At("stream").Unsupported("the events of the response %s are not there: only those of the latest responses with background: true are; leave it out", strict.Clip(id))
	}
	if err := j.tape.has(from); err != nil {
		return err
	}
	return x.Stream(r, front.EventStream(appendRespError), func(ctx context.Context, out *front.Stream) error {
		return j.tape.play(ctx, out, from)
	})
}

// cancel answers POST /v1/responses/{id}/cancel. What came to its end stays as it is.
func (s *Responses) cancel(x *front.Exchange, r *http.Request) error {
	id := r.PathValue("id")
	if j := s.job(x.KeyName(), id); j != nil {
		if err := j.stop(r.Context()); err != nil {
			return err
		}
		return x.JSON(http.StatusOK, rawJSON(j.now()))
	}
	_, o, _, err := s.recall(x.KeyName(), id)
	if err != nil {
		return err
	}
	if !o.Background {
		return strict.At("id").Invalid("the response %s was not made in the background; only such a one can be cancelled", strict.Clip(id))
	}
	return s.show(x, r)
}

// stop ends a job and waits for that.
func (j *job) stop(ctx context.Context) error {
	j.cancel(errCancelled)
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// remove answers DELETE /v1/responses/{id}.
func (s *Responses) remove(x *front.Exchange, r *http.Request) error {
	id := r.PathValue("id")
	if j := s.job(x.KeyName(), id); j != nil {
		if err := j.stop(r.Context()); err != nil {
			return err
		}
		s.forget(j)
	} else if _, _, _, err := s.recall(x.KeyName(), id); err != nil {
		return err
	}
	if err := s.unkeep(id); err != nil {
		return err
	}
	return x.JSON(http.StatusOK, struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
	}{id, "response", true})
}

// itemList is a page of items.
type itemList struct {
	Object  string  `json:"object"` // "list"
	Data    []item  `json:"data"`
	First   *string `json:"first_id"`
	Last    *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

// inputItems answers GET /v1/responses/{id}/input_items.
func (s *Responses) inputItems(x *front.Exchange, r *http.Request) error {
	rec, _, _, err := s.recall(x.KeyName(), r.PathValue("id"))
	if err != nil {
		return err
	}
	query := r.URL.Query()
	most, err := queryNumber(query.Get("limit"), "limit", 20, 1, 100)
	if err != nil {
		return err
	}
	all := rec.Input
	switch order := query.Get("order"); order {
	case "", "desc":
		slices.Reverse(all)
	case "asc":
	default:
		return strict.At("order").Invalid("must be asc or desc, not %q", strict.Clip(order))
	}
	if after := query.Get("after"); after != "" {
		i := slices.IndexFunc(all, func(it item) bool { return it.ID == after })
		if i < 0 {
			return strict.At("after").Invalid("there is no item %q", strict.Clip(after))
		}
		all = all[i+1:]
	}
	list := itemList{Object: "list", Data: listed(all[:min(most, len(all))]), HasMore: len(all) > most}
	if n := len(list.Data); n > 0 {
		list.First, list.Last = &list.Data[0].ID, &list.Data[n-1].ID
	}
	return x.JSON(http.StatusOK, list)
}

// queryNumber reads a number of a query.
func queryNumber(given, name string, absent, low, high int) (int, error) {
	if given == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < low || n > high {
		return 0, strict.At(name).Invalid("must be a number between %d and %d, not %q", low, high, strict.Clip(given))
	}
	return n, nil
}
