package front

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"dure/inference"
	"dure/inference/front/strict"
)

// Team is what the front needs of whoever knows which agents' requests run.
// It is safe for concurrent use.
type Team interface {
	// Enter notes a request of an agent until leave is called; without an agent
	// it does nothing. The context that it returns ends when the agent is
	// stopped, with an agent_stopped error as its cause.
	Enter(ctx context.Context, c inference.Caller) (_ context.Context, leave func(), _ error)
	// Agents returns the agents that are known, in a settled order.
	Agents() []Agent
	// Stop ends all requests of an agent and those below it. It reports false for
	// one that is not known.
	Stop(id string) ([]Stopped, bool)
}

// Agent is one that has, or had not long ago, a request here.
type Agent struct {
	ID     string `json:"id"`
	Parent string `json:"parent,omitempty"`
	// Running counts its requests that wait or are answered now.
	Running int `json:"running"`
	// Tokens of its finished answers.
	PromptTokens     int       `json:"prompt_tokens"`
	CompletionTokens int       `json:"completion_tokens"`
	Seen             time.Time `json:"last_seen"`
}

// Stopped tells how many requests of an agent were ended.
type Stopped struct {
	ID        string `json:"id"`
	Cancelled int    `json:"cancelled"`
}

// CacheReport is what the cache of one loaded model holds.
type CacheReport struct {
	Model string `json:"model"`
	// Cache is the model's own account, as JSON; null where it keeps none.
	Cache json.RawMessage `json:"cache"`
	// Error says why there is no account.
	Error string `json:"error,omitempty"`
}

// noTeam is the team of a server without one.
type noTeam struct{}

func (noTeam) Enter(ctx context.Context, _ inference.Caller) (context.Context, func(), error) {
	return ctx, func() {}, nil
}
func (noTeam) Agents() []Agent               { return nil }
func (noTeam) Stop(string) ([]Stopped, bool) { return nil, false }

// dureList is a list in the shape of OpenAI's.
type dureList[T any] struct {
	Object string `json:"object"` // "list"
	Data   []T    `json:"data"`
}

func newList[T any](data []T) dureList[T] {
	if data == nil {
		data = []T{} // and not null
	}
	return dureList[T]{Object: "list", Data: data}
}

// listAgents answers GET /v1/dure/agents: of the request's own key by the names that
// it gave them, of others with the name of their key before that.
func (h *Handler) listAgents(x *Exchange, _ *http.Request) error {
	var rows []Agent
	for _, a := range h.team.Agents() {
		own := strings.HasPrefix(a.ID, x.ownPrefix())
		if own || x.holder.Admin() {
			a.ID, a.Parent = x.ownName(a.ID), x.ownName(a.Parent)
			rows = append(rows, a)
		}
	}
	return x.JSON(http.StatusOK, newList(rows))
}

// ownName is a name as the request's own key gave it.
func (x *Exchange) ownName(name string) string { return strings.TrimPrefix(name, x.ownPrefix()) }

type stopBody struct {
	ID        string    `json:"id"`
	Cancelled int       `json:"cancelled"` // over all of Agents
	Agents    []Stopped `json:"agents"`
}

// stopAgent answers DELETE /v1/dure/agents/{id}.
func (h *Handler) stopAgent(x *Exchange, r *http.Request) error {
	id := r.PathValue("id")
	rows, ok := h.team.Stop(x.ownPrefix() + id)
	if !ok && x.holder.Admin() {
		rows, ok = h.team.Stop(id)
	}
	if !ok {
		return Refuse(http.StatusNotFound, CodeAgentUnknown,
			"no agent %q has had a request here of late; GET /v1/dure/agents lists those that have", strict.Clip(id))
	}
	body := stopBody{ID: id, Agents: rows}
	for i, row := range rows {
		body.Cancelled += row.Cancelled
		rows[i].ID = x.ownName(row.ID)
	}
	return x.JSON(http.StatusOK, body)
}

// showCache answers GET /v1/dure/cache.
func (h *Handler) showCache(x *Exchange, r *http.Request) error {
	var reports []CacheReport
	if h.cache != nil {
		reports = h.cache(r.Context())
	}
	return x.JSON(http.StatusOK, newList(reports))
}
