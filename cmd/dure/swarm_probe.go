package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dure/inference"
	"dure/inference/catalog"
	"dure/inference/remote"
	"dure/runtime/swarm"
)

// probeTime is how long an endpoint may take to tell its models.
const probeTime = 10 * time.Second

// loadTime is how long a server may take to load a model that it is asked for by a name
// that it does not list.
const loadTime = 2 * time.Minute

// A lister is a model behind an endpoint that tells which it has.
type lister interface {
	inference.Model
	Models(ctx context.Context) ([]string, error)
}

// probe asks each role's endpoint, once, whether it is there and has the model, before
// anything is begun. needed are the roles without which no run can go on; what others lack
// is a warning. A run that goes on is warned only: its server may be on its way up.
func (o *swarmRun) probe(ctx context.Context, all map[swarm.Role]thinker, warn func(text string)) error {
	needed := []swarm.Role{swarm.RoleLead, swarm.RoleWorker}
	if o.judge {
		needed = append(needed, swarm.RoleJudge)
	}
	said := map[string]error{} // by endpoint and model
	for _, name := range catalog.TeamRoles {
		role := swarm.Role(name)
		who := all[role]
		if who.asks == nil || role == swarm.RoleJudge && !o.judge {
			continue
		}
		key := who.rate.Host + " " + who.rate.Model
		err, asked := said[key]
		if !asked {
			err = probeOne(ctx, who)
			said[key] = err
		}
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case o.spec != "" && (slices.Contains(needed, role) || o.models.script == ""):
			return fmt.Errorf("the model of the %s: %w", role, err)
		case !asked:
			warn(fmt.Sprintf("the model of the %s: %v", role, err))
		}
	}
	return nil
}

// probeOne says what is wrong with a role's endpoint, and what to do about it.
func probeOne(ctx context.Context, who thinker) error {
	limited, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	names, err := who.asks.Models(limited)
	var failed *remote.Error
	switch {
	case errors.As(err, &failed) && (failed.Kind == remote.Unreachable || failed.Kind == remote.Late):
		return fmt.Errorf("%w\n  nothing answers at %s: start dure serve there, or name another server with --url (or in models.yaml)", err, who.rate.Host)
	case errors.As(err, &failed) && (failed.Status == 401 || failed.Status == 403):
		return fmt.Errorf("%w\n  name the environment variable that holds the key with --key-env (or in models.yaml)", err)
	case err != nil:
		return fmt.Errorf("%w\n  is %s a server with OpenAI's API, and does its address end in /v1?", err, who.rate.Host)
	case names == nil || slices.Contains(names, who.rate.Model):
		return nil
	case who.rate.Model == "" && len(names) > 0:
		return nil
	case len(names) == 0:
		return fmt.Errorf("%s has no model at all: dure pull fetches one", who.rate.Host)
	}
	// Some servers take any name, some know more than they list: one token tells.
	if answers(ctx, who.asks) {
		return nil
	}
	return fmt.Errorf("%s has no model %q%s; it has %s\n  name one of them with --model (or in models.yaml)",
		who.rate.Host, who.rate.Model, catalog.DidYouMean(who.rate.Model, names), shortList(names))
}

// answers reports whether a model begins to answer.
func answers(ctx context.Context, m inference.Model) bool {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	for _, err := range m.Generate(ctx, &inference.Request{
		ID: "probe", Messages: []inference.Message{{Role: inference.RoleUser, Content: "Hello"}}, Params: inference.Params{TopP: 1, Temperature: 1, MaxTokens: 1},
	}) {
		return err == nil
	}
	return false
}

// shortList is some names of perhaps thousands.
func shortList(names []string) string {
	const most = 12
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
