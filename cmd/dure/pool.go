package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dure/inference"
	"dure/inference/plan"
	"dure/inference/pool"
)

// poolOptions say which models stay loaded.
type poolOptions struct {
	most int
	keep keepAlive
	turn time.Duration
	// slice of a device's time; 0 = nobody hands it out.
	slice time.Duration
}

// keepAlive is a flag: a time such as 5m, a number of seconds, or -1.
type keepAlive time.Duration

// String implements pflag.Value.
func (k *keepAlive) String() string {
	if *k < 0 {
		return "-1"
	}
	return time.Duration(*k).String()
}

// Type implements pflag.Value.
func (*keepAlive) Type() string { return "duration" }

// Set implements pflag.Value.
func (k *keepAlive) Set(text string) error {
	d, err := inference.ParseKeepAlive(text)
	*k = keepAlive(d)
	return err
}

func (o *poolOptions) register(cmd *cobra.Command) {
	o.keep = -1
	cmd.Flags().IntVar(&o.most, "max-models", 0, "models loaded at once; 0 = as many as fit")
	cmd.Flags().DurationVar(&o.turn, "turn", 10*time.Second, "how long a model that is in use may keep others waiting for its memory before it takes no new requests until they had a turn")
	cmd.Flags().DurationVar(&o.slice, "slice", 0, "of several loaded models each has its device for so long while others wait, for example 40ms; 0 = they share it as the system has them")
	cmd.Flags().Var(&o.keep, "keep-alive", "how long a model stays loaded without a request: 10m, 90 (seconds), 0 = not at all, -1 = until another needs its memory")
}

func (o *poolOptions) validate() error {
	switch {
	case o.most < 0:
		return fmt.Errorf("--max-models %d: must not be negative", o.most)
	case o.turn < 0:
		return fmt.Errorf("--turn %s: must not be negative", o.turn)
	case o.slice < 0:
		return fmt.Errorf("--slice %s: must not be negative", o.slice)
	}
	return nil
}

func (o *poolOptions) rules() pool.Rules {
	return pool.Rules{Most: o.most, KeepAlive: time.Duration(o.keep), Turn: o.turn}
}

// poolSpecs are the models of the catalogue as the pool wants to know them.
func (h *host) poolSpecs() ([]pool.Spec, error) {
	var all []pool.Spec
	for _, e := range h.catalog.Entries {
		s := pool.Spec{Name: e.Name, Pinned: e.Pinned, Turns: e.Turns, Together: e.Together}
		if e.KeepAlive != "" {
			var k keepAlive
			if err := k.Set(e.KeepAlive); err != nil {
				return nil, err
			}
			s.KeepAlive = time.Duration(k)
		}
		all = append(all, s)
	}
	return all, nil
}

// noRoom makes of a load's error one that tells the pool that unloading others, or
// a smaller load, could help; other errors stay as they are.
func noRoom(err error) error {
	var refused *plan.RefusedError
	switch {
	case errors.As(err, &refused):
		return &pool.NoRoomError{Missing: int64(refused.Need - min(refused.Free, refused.Need)), Err: err}
	case outOfMemory(err):
		return &pool.NoRoomError{Err: err}
	}
	return err
}

// outOfMemory recognises how the engine and the drivers say so.
func outOfMemory(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	for _, words := range []string{"out of memory", "outofdevicememory", "outofhostmemory", "failed to allocate", "unable to allocate", "cannot allocate memory", "cudamalloc failed"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// pooled is the pool as the HTTP surface wants to see it.
type pooled struct{ *pool.Pool }

// Status implements openai.Pool.
func (p pooled) Status() (json.RawMessage, error) {
	all := p.Pool.Status()
	if all == nil {
		all = []pool.Status{}
	}
	return json.Marshal(all)
}
