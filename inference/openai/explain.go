package openai

import (
	"context"
	"math"
	"net/http"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"
)

// Tokens that POST /v1/dure/explain lists, where the body does not say, and at most.
const (
	explainTokens    = 512
	maxExplainTokens = 8192
)

// explainRequest is a body of chat/completions, and which of its tokens are listed.
type explainRequest struct {
	request
	from, limit int
}

// explainFields are those of a chat. What concerns the answer alone is checked like
// there and changes nothing.
var explainFields = func() strict.Fields[explainRequest] {
	own := strict.Fields[explainRequest]{
		"tokens_from":  strict.Integer(0, math.MaxInt32, func(r *explainRequest, i int64) { r.from = int(i) }),
		"tokens_limit": strict.Integer(0, maxExplainTokens, func(r *explainRequest, i int64) { r.limit = int(i) }),
	}
	for name, field := range chatFields {
		own[name] = func(d *strict.Decoder, r *explainRequest, v strict.Value) error { return field(d, &r.request, v) }
	}
	return own
}()

func decodeExplain(body []byte) (*explainRequest, error) {
	r := &explainRequest{request: request{n: 1}, limit: explainTokens}
	warnings, err := strict.Decode(body, explainFields, r, func(d *strict.Decoder, r *explainRequest) error {
		return checked(d, &r.request, checkChat)
	})
	r.warnings = warnings
	return r, err
}

// explanation is the body of the answer.
type explanation struct {
	Object string `json:"object"` // "dure.explanation"
	Model  string `json:"model"`
	// Text is what the template makes of the messages, up to where the answer begins.
	Text         string     `json:"text"`
	PromptTokens int        `json:"prompt_tokens"`
	Tokens       tokensPage `json:"tokens"`
	// The first so many tokens are the model's own of earlier turns, as they were read
	// and drawn; Rerendered is why there are none although there were answers.
	Remembered int            `json:"remembered_tokens"`
	Rerendered string         `json:"rerendered,omitempty"`
	Cache      cacheShare     `json:"cache"`
	Session    *sessionBeside `json:"session"` // null where none was named, or it is new
	Warnings   []string       `json:"warnings,omitempty"`
}

type tokensPage struct {
	From int          `json:"from"`
	Next *int         `json:"next"` // where the next page begins; null after the last
	List []tokenPiece `json:"list"`
}

type cacheShare struct {
	CachedTokens int                    `json:"cached_tokens"`
	KnownTokens  int                    `json:"known_tokens"` // seen before, cached or not
	Tier         string                 `json:"tier"`
	Reason       string                 `json:"reason,omitempty"`
	Spans        []inference.CachedSpan `json:"spans"`
}

type sessionBeside struct {
	PromptTokens int         `json:"prompt_tokens"` // of its last prompt, with the answer
	SameTokens   int         `json:"same_tokens"`
	Difference   *difference `json:"difference"` // null where there is none
}

type difference struct {
	Position int           `json:"position"`
	Was      []tokenPiece  `json:"was"` // tokens of the session from there on; empty at its end
	Is       []tokenPiece  `json:"is"`  // those of this prompt
	Message  *messagePlace `json:"message"`
	InTools  bool          `json:"in_tools,omitempty"`
}

type messagePlace struct {
	Index int    `json:"index"`
	Role  string `json:"role"`
}

// explain answers POST /v1/dure/explain. No tokens are counted to the key: none are
// computed.
func explain(x *front.Exchange, r *http.Request) error {
	body, err := x.ReadBody(r)
	if err != nil {
		return err
	}
	req, err := decodeExplain(body)
	if err == nil {
		err = req.addHeaders(r.Header)
	}
	if err != nil {
		return err
	}
	listing, err := x.Find(req.model)
	if err != nil {
		return err
	}
	x.Warn(req.warnings...)
	ask := req.requests(req.params(listing.Params))[0]
	var out *inference.Explanation
	err = x.Work(r, listing, req.caller, func(ctx context.Context, m inference.Model, c inference.Caller) (int, error) {
		e, ok := m.(inference.Explainer)
		if !ok {
			return 0, noTokenizer(listing.Name, "model", "ask about a model that is loaded here")
		}
		if w := m.Info().ChatWarning; w != "" {
			x.Warn("messages: " + w)
		}
		ask.ID, ask.Caller = x.ID(), c
		out, err = e.Explain(ctx, &inference.ExplainRequest{Request: ask, From: req.from, Limit: req.limit})
		return 0, req.wishes.blame(err)
	})
	if err != nil {
		return err
	}
	for _, w := range out.Warnings {
		x.Warn(w.Message)
	}
	return x.JSON(http.StatusOK, wireExplanation(out, listing.Name, req.messages, x.Warnings()))
}

func wireExplanation(e *inference.Explanation, model string, messages []inference.Message, warnings []string) explanation {
	out := explanation{
		Object: "dure.explanation", Model: model, Text: e.Text, PromptTokens: e.PromptTokens,
		Tokens:     tokensPage{From: e.From, List: pieces(e.Tokens)},
		Remembered: e.Remembered, Rerendered: e.Rerendered,
		Cache:    cacheShare{CachedTokens: e.CachedTokens, KnownTokens: e.KnownTokens, Tier: e.Tier, Reason: e.Reason, Spans: append([]inference.CachedSpan{}, e.Spans...)},
		Warnings: warnings,
	}
	if next := e.From + len(e.Tokens); next < e.PromptTokens {
		out.Tokens.Next = &next
	}
	if p := e.Past; p != nil {
		out.Session = &sessionBeside{PromptTokens: p.PromptTokens, SameTokens: p.SameTokens}
		if len(p.Was)+len(p.Is) > 0 {
			out.Session.Difference = wireDifference(p, messages)
		}
	}
	return out
}

func wireDifference(p *inference.PastPrompt, messages []inference.Message) *difference {
	d := &difference{Position: p.SameTokens, Was: pieces(p.Was), Is: pieces(p.Is), InTools: p.Tools}
	if i := p.Message; i != nil && *i >= 0 && *i < len(messages) {
		d.Message = &messagePlace{Index: *i, Role: messages[*i].Role}
	}
	return d
}

func pieces(tokens []inference.TokenPiece) []tokenPiece {
	all := make([]tokenPiece, len(tokens))
	for i, t := range tokens {
		all[i] = newPiece(t.ID, t.Piece)
	}
	return all
}
