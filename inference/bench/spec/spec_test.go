package spec

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"dure/inference"
)

// steady is a model that writes so many tokens a second, as told.
type steady struct {
	speed    float64
	text     string
	accepted int
	order    *[]string
	name     string
}

func (s steady) Info() inference.Info { return inference.Info{} }

func (s steady) Generate(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		if req.Params.MaxTokens > 1 && s.order != nil {
			*s.order = append(*s.order, s.name)
		}
		n := req.Params.MaxTokens
		_ = yield(inference.Event{Kind: inference.EventText, Text: s.text}, nil) &&
			yield(inference.Event{Kind: inference.EventDone, Usage: &inference.Usage{
				CompletionTokens: n, DecodeMS: float64(n) / s.speed * 1000, DraftedTokens: 2 * s.accepted, AcceptedTokens: s.accepted,
			}}, nil)
	}
}

func TestComparePairsTheTwoSidesInTurn(t *testing.T) {
	var order []string
	all, err := Compare(t.Context(), PairOptions{
		On: steady{speed: 300, text: "a", accepted: 4, order: &order, name: "on"}, Off: steady{speed: 200, text: "a", order: &order, name: "off"},
		Tasks: Tasks[:1], Streams: []int{1}, Tokens: 50, Pairs: 3,
	})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	r := all[0]
	if r.Speed.Ratio < 1.499 || r.Speed.Ratio > 1.501 || r.Drafted != 24 || r.Accepted != 12 || r.Tokens != 150 || r.Same != 3 || r.Answers != 3 {
		t.Errorf("%+v", r)
	}
	if want := []string{"on", "off", "off", "on", "on", "off"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	all, err = Compare(t.Context(), PairOptions{On: steady{speed: 1, text: "a"}, Off: steady{speed: 1, text: "b"}, Tasks: Tasks, Streams: []int{2}, Tokens: 5, Pairs: 1})
	if err != nil || len(all) != len(Tasks) || all[0].Same != 0 || all[0].Answers != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

// The file is asked for again with another name in it, and begun.
func TestReemitAsksForTheFileWithAnotherName(t *testing.T) {
	before, after, ok := strings.Cut(reemit(3), "The same file")
	if !ok || !strings.Contains(before, "q.limit") || strings.Contains(before, "bound") {
		t.Errorf("before: %q", before)
	}
	if !strings.HasSuffix(after, "\"sync\"\n)\n") || !strings.Contains(after, "package queue3") {
		t.Errorf("after: %q", after)
	}
	if reemit(0) == reemit(1) || prose(0) == prose(1) {
		t.Error("two streams write the same")
	}
}
