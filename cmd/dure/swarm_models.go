package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/pflag"

	"dure/inference"
	"dure/inference/catalog"
	"dure/inference/remote"
	"dure/runtime/budget"
	"dure/runtime/scripted"
	"dure/runtime/swarm"
)

// swarmModels says who thinks for a team. What models.yaml says of a role comes first,
// then the server that is named here.
type swarmModels struct{ script, url, name, keyEnv string }

// thinker is who thinks for a role, and for how much.
type thinker struct {
	model   inference.Model
	rate    budget.Rate
	params  inference.Params
	watched *watchedModel // nil: it is a script
	window  int           // tokens of a request; 0: not known
	asks    lister        // of a model behind an endpoint
}

func (m *swarmModels) register(f *pflag.FlagSet) {
	f.StringVar(&m.script, "script", "", "the roles that this file has answers for get them from it, not from a model")
	f.StringVar(&m.url, "url", "http://127.0.0.1:8484/v1", "the server that thinks: dure serve, or another with OpenAI's API")
	f.StringVar(&m.name, "model", "", "the model's name there (the server's choice)")
	f.StringVar(&m.keyEnv, "key-env", "", "the environment variable with the server's key")
}

// open returns the model of each role.
func (m swarmModels) open(cat *catalog.Catalog, logger *slog.Logger) (map[swarm.Role]thinker, error) {
	all := map[swarm.Role]thinker{}
	if m.script != "" {
		if err := m.scripted(all); err != nil {
			return nil, err
		}
	}
	for _, role := range catalog.TeamRoles {
		if _, has := all[swarm.Role(role)]; has {
			continue
		}
		t, err := m.thinker(cat, role, logger)
		if err != nil {
			return nil, fmt.Errorf("the model of the %s: %w", role, err)
		}
		all[swarm.Role(role)] = t
	}
	return all, nil
}

func (m swarmModels) thinker(cat *catalog.Catalog, role string, logger *slog.Logger) (thinker, error) {
	a, err := cat.Assigned(role)
	if err != nil {
		return thinker{}, err
	}
	at := remote.Endpoint{Base: m.url, Model: m.name, Own: true}
	keyEnv, keyFile, api := m.keyEnv, "", ""
	switch {
	case a.Given && a.Endpoint != nil:
		e := a.Endpoint
		at = remote.Endpoint{Base: e.URL, Model: e.Model, Own: e.Here(), Context: e.Context, MaxTokens: a.MaxTokens, Reasoning: a.Reasoning}
		keyEnv, keyFile, api = e.KeyEnv, e.KeyFile, e.API
	case a.Given:
		at.Model, at.MaxTokens, at.Reasoning = a.Entry.Name, a.MaxTokens, a.Reasoning
	}
	if at.Key, err = remote.ReadKey(os.LookupEnv, keyEnv, keyFile); err != nil {
		return thinker{}, err
	}
	params := inference.Params{TopP: 1, Temperature: 0.6, MaxTokens: a.MaxTokens}
	if !at.Own {
		// Models elsewhere think at their own temperature only, and may never answer.
		params.Temperature, at.Limits = 1, remote.Elsewhere
	}
	model := remote.OpenAI(at, http.DefaultClient)
	if api == "anthropic" {
		model = remote.Anthropic(at, http.DefaultClient)
	}
	watched := watch(model, at)
	return thinker{
		model: remote.Patient(watched, remote.Patience{Told: func(r remote.Retry) {
			logger.Warn("a model did not answer and is asked again", "role", role, "attempt", r.Attempt, "wait", r.Wait, "error", r.Err)
		}}),
		rate:   rateOf(a, at),
		params: params, watched: watched,
		window: at.Context,
		asks:   model,
	}, nil
}

func rateOf(a catalog.Assigned, at remote.Endpoint) budget.Rate {
	r := budget.Rate{Model: at.Model, Longest: int64(at.MaxTokens), Local: true}
	if u, err := url.Parse(at.Base); err == nil {
		r.Host = u.Host
	}
	if a.Given {
		r.Local = a.Local()
		r.Price = budget.Price{Input: a.Rates.Input, Cached: a.Rates.Cached, Output: a.Rates.Output, Write: a.Rates.Write}
	}
	return r
}

// scripted adds the roles that the script has parts for.
func (m swarmModels) scripted(all map[swarm.Role]thinker) error {
	b, err := os.ReadFile(m.script)
	if err != nil {
		return err
	}
	s, err := scripted.Decode(m.script, b)
	if err != nil {
		return err
	}
	model, err := scripted.New(s, scripted.Options{})
	if err != nil {
		return fmt.Errorf("%s: %w", m.script, err)
	}
	who := thinker{model: model, rate: budget.Rate{Model: model.Info().Name, Local: true}, params: inference.Params{TopP: 1}}
	for _, p := range s.Parts {
		if p.Role != "" {
			all[swarm.Role(p.Role)] = who
			continue
		}
		for _, role := range catalog.TeamRoles { // a part for whoever asks
			all[swarm.Role(role)] = who
		}
	}
	return nil
}

// terms are the prices of the models, under caps.
func terms(all map[swarm.Role]thinker, caps budget.Caps) budget.Terms {
	t := budget.Terms{Rates: map[string]budget.Rate{}, Caps: caps}
	for role, who := range all {
		t.Rates[string(role)] = who.rate
	}
	return t
}

// capped tells a person that a cap holds a call up. Calls wait until there is room again.
type cappedTeam struct{ logger *slog.Logger }

// Ask implements budget.Asker.
func (c cappedTeam) Ask(_ context.Context, stops []budget.Stop) error {
	for _, s := range stops {
		c.logger.Warn("a cap is reached, and calls of models wait: dure swarm caps raises it", "cap", s.String())
	}
	return nil
}
