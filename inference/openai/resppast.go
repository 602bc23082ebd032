package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"dure/inference/front"
	"dure/inference/front/strict"
)

// Memory keeps responses beyond their request: package memory's, or another. It is safe
// for concurrent use. The error for an id that it does not hold is fs.ErrNotExist.
type Memory interface {
	// Keep keeps a record under its id, in place of an earlier one.
	Keep(id string, record []byte) error
	Recall(id string) ([]byte, error)
	Forget(id string) error
}

// Limits of what one response may follow.
const (
	maxTurns     = 10000
	maxPastBytes = 64 << 20
)

// record is what is kept of a response.
type record struct {
	// Format is that of the record, recordFormat.
	Format   int             `json:"format"`
	Owner    string          `json:"owner,omitempty"` // name of the key that asked for it
	Input    []item          `json:"input"`
	Response json.RawMessage `json:"response"` // as the client gets it
}

const recordFormat = 1

// outline is what is read of a kept response; the rest goes to the client as it is.
type outline struct {
	Status     string `json:"status"`
	Background bool   `json:"background"`
	Previous   string `json:"previous_response_id"`
	Output     []item `json:"output"`
}

// CodeResponseUnknown is the code for a response that is not kept.
const CodeResponseUnknown = "response_not_found"

func responseUnknown(id string) error {
	f := front.Refuse(http.StatusNotFound, CodeResponseUnknown,
		"there is no response %s: it was not stored, was deleted, or is too long ago", strict.Clip(id))
	f.Param = "id"
	return f
}

// recall reads a kept response. Those of other keys are not there.
func (s *Responses) recall(owner, id string) (rec record, o outline, size int, err error) {
	data, err := s.memory.Recall(id)
	if errors.Is(err, fs.ErrNotExist) {
		return rec, o, 0, responseUnknown(id)
	}
	if err == nil {
		err = json.Unmarshal(data, &rec)
	}
	if err == nil && rec.Format != recordFormat {
		err = fmt.Errorf("its form %d is not known; this version reads %d", rec.Format, recordFormat)
	}
	if err == nil {
		err = json.Unmarshal(rec.Response, &o)
	}
	if err == nil && rec.Owner != owner {
		return record{}, outline{}, 0, responseUnknown(id)
	}
	if err != nil {
		return rec, o, 0, fmt.Errorf("recall response %s: %w", id, err)
	}
	return rec, o, len(data), nil
}

// past are the items of the conversation that ends with a response, in order.
func (s *Responses) past(owner, last string) ([]item, error) {
	var turns [][]item
	size := 0
	for id := last; id != ""; {
		rec, o, n, err := s.recall(owner, id)
		var unknown *front.Failure
		switch size += n; {
		case errors.As(err, &unknown):
			return nil, s.noPast(last, id)
		case err != nil:
			return nil, err
		case o.Status != statusCompleted && o.Status != statusIncomplete:
			return nil, strict.At("previous_response_id").Invalid("the response %s is %s; only one that came to its end can be followed", id, o.Status)
		case size > maxPastBytes || len(turns) == 2*maxTurns:
			return nil, strict.At("previous_response_id").Invalid("the conversation has more than %d turns or %d bytes; begin a new one", maxTurns, maxPastBytes)
		}
		turns = append(turns, o.Output, rec.Input)
		id = o.Previous
	}
	slices.Reverse(turns)
	return slices.Concat(turns...), nil
}

// noPast is the error for a conversation that has a gap.
func (s *Responses) noPast(last, gap string) error {
	e := strict.At("previous_response_id").Invalid("there is no response %s: it was not stored, was deleted, or is too long ago", strict.Clip(gap))
	if gap != last {
		e = strict.At("previous_response_id").Invalid("the response %s follows %s, which was deleted or is too long ago; send the whole conversation as input",
			strict.Clip(last), strict.Clip(gap))
	}
	f := front.Refuse(http.StatusBadRequest, "previous_response_not_found", "%s", e)
	f.Param = "previous_response_id"
	return f
}

// itemID names the k-th item of a response so that it can be found by its name.
func itemID(kind, response string, k int) string {
	prefixes := map[string]string{itemMessage: "msg", itemReasoning: "rs", itemCall: "fc", itemOutput: "fco"}
	return fmt.Sprintf("%s_%s_%d", prefixes[kind], strings.TrimPrefix(response, idPrefix), k)
}

// settle replaces references by what they refer to, and names the items of the input of
// a response that have no name.
func (s *Responses) settle(owner string, items []item, response string) error {
	for i := range items {
		it := &items[i]
		if it.Type == itemReference {
			found, err := s.find(owner, it.ID)
			if err != nil {
				return err
			}
			if found == nil {
				return strict.At(fmt.Sprintf("input[%d].id", i)).Invalid("there is no item %q among the responses that are kept; send the item itself", strict.Clip(it.ID))
			}
			*it = *found
		}
		if it.ID == "" {
			it.ID = itemID(it.Type, response, i) + "i"
		}
	}
	return nil
}

// find looks for an item of a kept response; nil where there is none.
func (s *Responses) find(owner, id string) (*item, error) {
	_, rest, _ := strings.Cut(id, "_")
	response, _, _ := strings.Cut(rest, "_")
	rec, o, _, err := s.recall(owner, idPrefix+response)
	var unknown *front.Failure
	if errors.As(err, &unknown) {
		return nil, nil
	}
	for _, it := range slices.Concat(o.Output, rec.Input) {
		if it.ID == id {
			return &it, err
		}
	}
	return nil, err
}
