package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"dure/inference/prefix"
)

// checkServer tells what a server at the usual address keeps of its models'
// states, and what keeps it from keeping more. That none runs is no fault.
func (d *diagnosis) checkServer(ctx context.Context) {
	resp, err := get(ctx, defaultAddr, "/v1/dure/cache")
	if isThere(err) {
		d.add(false, unreached(defaultAddr, err).Error(), "`dure ps --addr https://"+defaultAddr+"` asks it")
	}
	if err != nil {
		return
	}
	defer resp.Body.Close()
	var page struct {
		Data []struct {
			Model string       `json:"model"`
			Cache prefix.Stats `json:"cache"`
		} `json:"data"`
	}
	if resp.StatusCode != http.StatusOK {
		d.add(false, fmt.Sprintf("server at %s does not tell what it keeps: %s", defaultAddr, resp.Status), "if it wants a key, set "+envKeys+" to one with the admin right")
		return
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		d.add(false, fmt.Sprintf("server at %s: what it keeps is not understood: %v", defaultAddr, err), "is it another program, or another version of dure?")
		return
	}
	for _, m := range page.Data {
		d.checkCache(m.Model, m.Cache)
	}
	models, err := pooledModels(ctx, defaultAddr)
	if err != nil {
		d.add(false, fmt.Sprintf("server at %s does not tell what it has loaded: %v", defaultAddr, err), "is it another version of dure?")
	}
	for _, m := range models {
		d.checkPooled(m)
	}
}

// checkPooled tells what keeps a model from being loaded as it should.
func (d *diagnosis) checkPooled(m loadedModel) {
	s := m.Pool
	if s.Failures > 0 {
		d.add(false, fmt.Sprintf("server: %s failed %d times lately: %s", m.Name, s.Failures, s.Why), "the server's log tells more; `dure verify "+m.Name+"` checks its file")
	}
	if s.Paused {
		d.add(true, fmt.Sprintf("server: %s was unloaded to leave its memory to others; `dure load` brings it back", m.Name), "")
	}
	if s.Shrunk > 0 && s.State == "loaded" {
		d.add(false, fmt.Sprintf("server: %s was loaded smaller than usual, because it did not fit", m.Name), "unload others, or end other programs, and load it again")
	}
	for _, t := range m.Taken {
		d.add(false, fmt.Sprintf("server: %s: other programs took %s of %s since it was loaded, %s are free", m.Name, size(int64(t.Bytes)), t.Device, size(int64(t.Free))),
			"end them if it gets slow or fails, or leave the card to them with `dure unload --now`")
	}
}

func (d *diagnosis) checkCache(model string, c prefix.Stats) {
	d.add(true, fmt.Sprintf("server: %s keeps %s of %s in memory and %s of %s on disk", model,
		size(c.RAM.Bytes), size(c.RAM.Budget), size(c.Disk.Bytes), size(c.Disk.Budget)), "")
	if c.Opaque != "" {
		d.add(false, fmt.Sprintf("server: states of %s are kept whole, so that agents share prefixes in the context only: %s", model, c.Opaque),
			"use the pinned engine (dure engine install)")
	}
	if c.NoDisk != "" {
		d.add(false, fmt.Sprintf("server: states of %s are not kept on disk: %s", model, c.NoDisk), "see `dure serve --help`, --cache-disk")
	}
	var reasons []string
	for reason := range c.Refused {
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		d.add(false, fmt.Sprintf("server: %d stored states of %s were refused: %s", c.Refused[reason], model, reason),
			"they were set aside; if this goes on, check the disk")
	}
}
