package openai

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"slices"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"
)

// rerankRequest is the body of POST /v1/rerank, in the form that Jina and Cohere gave
// it: OpenAI has no such route.
type rerankRequest struct {
	model     string
	query     string
	documents []string
	most      int // results to return; 0 is all
	whole     bool
	caller    inference.Caller
	present   map[string]bool
}

var rerankFields = strict.Joined(
	front.CallerFields(func(r *rerankRequest) *inference.Caller { return &r.caller }), strict.Fields[rerankRequest]{
		"model":            strict.Text(func(r *rerankRequest, s string) { r.model = s }),
		"query":            strict.Text(func(r *rerankRequest, s string) { r.query = s }),
		"documents":        setDocuments,
		"top_n":            strict.Integer(1, math.MaxInt32, func(r *rerankRequest, i int64) { r.most = int(i) }),
		"return_documents": strict.Boolean(func(r *rerankRequest, b bool) { r.whole = b }),
		"user":             strict.Text(func(*rerankRequest, string) {}), // a label
		// Documents are never cut.
		"max_chunks_per_doc": strict.Only[rerankRequest]("null", strict.Never),
		"max_tokens_per_doc": strict.Only[rerankRequest]("null", strict.Never),
		"truncate":           strict.Only[rerankRequest]("false", uncut),
	})

// setDocuments reads a list of texts, each a string or an object that holds one.
func setDocuments(d *strict.Decoder, r *rerankRequest, v strict.Value) error {
	return d.List(v, func(v strict.Value) (err error) {
		if len(r.documents) == maxInputs {
			return d.Invalid("at most %d documents are allowed", maxInputs)
		}
		var text string
		if v.Kind == strict.KindObject {
			text, err = documentText(d, v)
		} else {
			text, err = inputText(d, v)
		}
		r.documents = append(r.documents, text)
		return err
	})
}

func documentText(d *strict.Decoder, v strict.Value) (text string, err error) {
	err = d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		if name != "text" {
			return d.Unknown(v)
		}
		text, err = inputText(d, v)
		return err
	})
	if err == nil && text == "" {
		err = d.Missing("text")
	}
	return text, err
}

func checkRerank(d *strict.Decoder, r *rerankRequest) error {
	switch r.present = d.Present(); {
	case r.query == "":
		return d.Missing("query")
	case len(r.documents) == 0:
		return d.Missing("documents")
	}
	return nil
}

type rerankList struct {
	ID       string         `json:"id"`
	Object   string         `json:"object"`
	Model    string         `json:"model"`
	Results  []ranked       `json:"results"`
	Usage    embeddingUsage `json:"usage"`
	Warnings []string       `json:"warnings,omitempty"`
}

type ranked struct {
	Index    int        `json:"index"` // of the document in the request
	Score    float32    `json:"relevance_score"`
	Document *textOfOne `json:"document,omitempty"`
}

type textOfOne struct {
	Text string `json:"text"`
}

// rerank answers POST /v1/rerank, the best document first.
func rerank(x *front.Exchange, r *http.Request) error {
	var req rerankRequest
	if err := front.ReadInto(x, r, rerankFields, &req, checkRerank); err != nil {
		return err
	}
	listing, err := askedBy(x, r, req.model, &req.caller, req.present)
	if err != nil {
		return err
	}
	var out *inference.Ranking
	err = x.Work(r, listing, req.caller, func(ctx context.Context, m inference.Model, c inference.Caller) (int, error) {
		ranker, ok := m.(inference.Reranker)
		if !ok {
			return 0, noEmbedder(listing.Name)
		}
		out, err = ranker.Rerank(ctx, &inference.RerankRequest{ID: x.ID(), Query: req.query, Documents: req.documents, Caller: c})
		if err != nil {
			return 0, blamed(err)
		}
		return out.PromptTokens, nil
	})
	if err != nil {
		return err
	}
	return x.JSON(http.StatusOK, rerankList{
		ID: x.ID(), Object: "list", Model: listing.Name, Results: req.sorted(out.Scores),
		Usage: embeddingUsage{out.PromptTokens, out.PromptTokens}, Warnings: x.Warnings(),
	})
}

// blamed puts the path of the field at fault in front of an error's message.
func blamed(err error) error {
	var e *inference.Error
	if !errors.As(err, &e) || e.Param == "" {
		return err
	}
	named := *e
	named.Message = e.Param + ": " + e.Error()
	return &named
}

// sorted are the results, by falling score and else in the order of the request.
func (r *rerankRequest) sorted(scores []float32) []ranked {
	all := make([]ranked, len(scores))
	for i, s := range scores {
		all[i] = ranked{Index: i, Score: s}
		if r.whole {
			all[i].Document = &textOfOne{r.documents[i]}
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.Score, a.Score) })
	if r.most > 0 {
		all = all[:min(r.most, len(all))]
	}
	return all
}
