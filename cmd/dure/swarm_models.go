package main

import (
	"fmt"
	"net/http"
	"os"

	"dure/inference"
	"dure/inference/remote"
	"dure/runtime/scripted"
	"dure/runtime/swarm"
)

// swarmModels says who thinks for a team.
type swarmModels struct{ script, url, name, keyEnv string }

// open returns the model of each role.
func (m swarmModels) open() (func(swarm.Role) inference.Model, error) {
	if m.script != "" {
		return m.scripted()
	}
	key, err := remote.ReadKey(os.LookupEnv, m.keyEnv, "")
	if err != nil {
		return nil, err
	}
	at := remote.Endpoint{Base: m.url, Model: m.name, Key: key, Own: true}
	model := remote.Patient(remote.OpenAI(at, http.DefaultClient), remote.Patience{})
	return func(swarm.Role) inference.Model { return model }, nil
}

func (m swarmModels) scripted() (func(swarm.Role) inference.Model, error) {
	b, err := os.ReadFile(m.script)
	if err != nil {
		return nil, err
	}
	s, err := scripted.Decode(m.script, b)
	if err != nil {
		return nil, err
	}
	model, err := scripted.New(s, scripted.Options{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.script, err)
	}
	return func(swarm.Role) inference.Model { return model }, nil
}
