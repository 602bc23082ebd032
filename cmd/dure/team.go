package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/runner"
	"dure/inference/team"
)

// teamed is the table of agents as the HTTP surface wants to see it.
type teamed struct{ *team.Team }

// Agents implements front.Team.
func (t teamed) Agents() []front.Agent {
	rows := t.Team.Agents()
	all := make([]front.Agent, len(rows))
	for i, row := range rows {
		all[i] = front.Agent(row)
	}
	return all
}

// Stop implements front.Team.
func (t teamed) Stop(id string) ([]front.Stopped, bool) {
	rows, ok := t.Team.Stop(id)
	all := make([]front.Stopped, len(rows))
	for i, row := range rows {
		all[i] = front.Stopped(row)
	}
	return all, ok
}

// counted are the models with the requests of agents counted by the team.
type counted struct {
	front.Models
	team *team.Team
}

// Open implements front.Models.
func (c counted) Open(ctx context.Context, name string, keep time.Duration) (inference.Model, func(), error) {
	m, release, err := c.Models.Open(ctx, name, keep)
	if err != nil {
		return nil, nil, err
	}
	return c.team.Model(m), release, nil
}

// caches asks the runner of each loaded model what its cache holds.
func (h *host) caches(ctx context.Context) []front.CacheReport {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	loaded := h.pool.Loaded()
	var all []front.CacheReport
	for _, name := range slices.Sorted(maps.Keys(loaded)) {
		client, ok := loaded[name].(*runner.Client)
		if !ok {
			continue
		}
		row := front.CacheReport{Model: name}
		var err error
		if row.Cache, err = cacheOf(ctx, client); err != nil {
			row.Error = err.Error()
		}
		all = append(all, row)
	}
	return all
}

func cacheOf(ctx context.Context, client *runner.Client) (json.RawMessage, error) {
	s, err := client.Stats(ctx)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(s.Cache)
	if err != nil {
		return nil, fmt.Errorf("encode the cache's counters: %w", err)
	}
	return data, nil
}
