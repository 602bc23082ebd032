package embed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"dure/inference"
	"dure/inference/engine"
)

// pairing is how a query and a document become one input, and numbers a score.
type pairing struct {
	// template holds {query} and {document}; empty where the two are joined by tokens.
	template string
	// between are the tokens between query and document, besides those that each has
	// around it.
	between []engine.Token
	// opened says that the tokeniser puts a token in front of a text.
	opened bool
	// yes is the class that says that the document answers the query. One class alone
	// has a number without bounds.
	yes, classes int
}

// pairingOf finds out how a model wants its pairs. It refuses what the engine would
// compute otherwise than the model was trained.
func pairingOf(m *engine.Model) (pairing, error) {
	f := m.Facts()
	p := pairing{template: m.RerankTemplate(), opened: f.AddBOS, classes: m.Classes()}
	if p.template != "" && (!strings.Contains(p.template, "{query}") || !strings.Contains(p.template, "{document}")) {
		return p, fmt.Errorf("its template for ranking lacks {query} or {document}")
	}
	if p.template == "" && f.Architecture == "bert" && m.Segments() > 1 {
		return p, fmt.Errorf("it tells query and document apart by segments, which the engine does not: its scores would be wrong")
	}
	labels := m.ClassLabels()
	switch p.yes = max(slices.Index(labels, "yes"), 0); {
	case p.classes == 2 && slices.Contains(labels, "yes"):
	case p.classes != 1:
		return p, fmt.Errorf("it sorts texts into %d classes %q and does not rank", p.classes, labels)
	}
	if sep, add := m.Separator(); add && sep >= 0 && !m.SeparatorCloses() {
		p.between = []engine.Token{sep}
	}
	return p, nil
}

// score of an input's numbers, 0 to 1. Of two classes the engine has made
// probabilities already.
func (p pairing) score(numbers []float32) float32 {
	if p.classes == 1 {
		return float32(1 / (1 + math.Exp(-float64(numbers[0]))))
	}
	return numbers[p.yes]
}

// pair makes one input of a query and a document.
func (e *Embedder) pair(ctx context.Context, query []engine.Token, req *inference.RerankRequest, i int) ([]engine.Token, error) {
	param := fmt.Sprintf("documents[%d]", i)
	var tokens []engine.Token
	var err error
	if t := e.pairing.template; t != "" {
		// As one text: words at the borders are tokens together with what is before them.
		text := strings.NewReplacer("{query}", req.Query, "{document}", req.Documents[i]).Replace(t)
		tokens, err = e.tokenize(ctx, param, text, true, true)
	} else {
		tokens, err = e.tokenize(ctx, param, req.Documents[i], true, false)
		if err == nil && e.pairing.opened {
			tokens = tokens[1:]
		}
		tokens = slices.Concat(query, e.pairing.between, tokens)
	}
	if err != nil {
		return nil, err
	}
	return tokens, e.checkLength(param, len(tokens))
}

// Rerank implements inference.Reranker.
func (e *Embedder) Rerank(ctx context.Context, req *inference.RerankRequest) (*inference.Ranking, error) {
	switch {
	case !e.about.Reranks:
		return nil, refuse(inference.CodeUnsupported, "model", "model %s makes vectors and does not rank; take a model for ranking (its file says pooling rank), or compare vectors of /v1/embeddings", e.cfg.Name)
	case req.Query == "":
		return nil, refuse(inference.CodeInvalidRequest, "query", "it is empty")
	case len(req.Documents) == 0:
		return nil, refuse(inference.CodeInvalidRequest, "documents", "there is no document")
	}
	var query []engine.Token
	var err error
	if e.pairing.template == "" {
		if query, err = e.tokenize(ctx, "query", req.Query, true, false); err != nil {
			return nil, err
		}
	}
	inputs := make([][]engine.Token, len(req.Documents))
	for i := range inputs {
		if inputs[i], err = e.pair(ctx, query, req, i); err != nil {
			return nil, err
		}
	}
	j, err := e.run(ctx, inputs, req.Caller)
	if err != nil {
		return nil, err
	}
	out := &inference.Ranking{Scores: make([]float32, len(inputs)), PromptTokens: total(inputs)}
	for i, numbers := range j.numbers {
		out.Scores[i] = e.pairing.score(numbers)
	}
	out.QueueMS, out.ComputeMS = j.times()
	return out, nil
}
