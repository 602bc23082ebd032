package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"dure/audio/realtime/wire"
	"dure/audio/responder"
	"dure/runtime/control"
	"dure/runtime/swarm"
)

// spokenRun is a run of the server as the voice that speaks for it needs it. It asks the
// server with the caller's own key, which must have the admin right.
type spokenRun struct {
	api    *http.Client
	secret string
	name   string
}

// lead makes the responder that speaks for a run.
func (v *voiceServer) lead(ctx context.Context, secret, run string, model *responder.Plain) (*responder.Lead, error) {
	team := &spokenRun{v.api, secret, run}
	if _, err := team.State(ctx); err != nil {
		return nil, err
	}
	return &responder.Lead{Team: team, Model: model}, nil
}

// do asks a route of the run; out may be nil.
func (s *spokenRun) do(ctx context.Context, method, what string, in map[string]string, out any) error {
	resp, err := s.open(ctx, method, what, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 8<<20))
		return err
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 8<<20)).Decode(out); err != nil {
		return fmt.Errorf("run %s: read the server's answer: %w", s.name, err)
	}
	return nil
}

// open is an answer of the server that is none of its refusals.
func (s *spokenRun) open(ctx context.Context, method, what string, in map[string]string) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, apiBase+"/dure/swarms/"+url.PathEscape(s.name)+what, body)
	if err != nil {
		return nil, err
	}
	if s.secret != "" {
		req.Header.Set("Authorization", "Bearer "+s.secret)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.api.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the server about run %s: %w", s.name, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	var refused struct {
		Error struct{ Message, Type, Code string }
	}
	if json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&refused) != nil || refused.Error.Message == "" {
		refused.Error.Message = resp.Status
	}
	return nil, &wire.Error{Type: wire.TypeInvalid, Code: refused.Error.Code, Param: "lead", Message: refused.Error.Message}
}

// State implements responder.Team.
func (s *spokenRun) State(ctx context.Context) (responder.State, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var st control.Status
	if err := s.do(ctx, http.MethodGet, "", nil, &st); err != nil {
		return responder.State{}, err
	}
	return spokenState(s.name, st), nil
}

// spokenState is a run without what nobody speaks about.
func spokenState(name string, st control.Status) responder.State {
	out := responder.State{Name: name, Phase: spokenPhase(st.State), Why: st.Why}
	v := st.Run
	if v == nil {
		return out
	}
	out.Spec = v.Spec
	for _, t := range v.Tasks {
		if t.Parent == "" && t.Kind == swarm.KindPlan { // the whole
			continue
		}
		out.Tasks = append(out.Tasks, responder.Task{ID: string(t.Task), Title: t.Title, Agent: t.Agent, State: spokenTask(t)})
	}
	for _, a := range v.Agents {
		if a.Gone == "" {
			out.Agents = append(out.Agents, responder.Agent{Name: a.Name, Role: string(a.Role), Task: string(a.Task)})
		}
	}
	for _, q := range v.Questions {
		out.Questions = append(out.Questions, responder.Question{ID: q.Question, Agent: q.Agent, Text: q.Text})
	}
	return out
}

func spokenPhase(s control.Standing) responder.Phase {
	switch s {
	case control.Running:
		return responder.Running
	case control.Approval:
		return responder.Plan
	case control.Question:
		return responder.Waiting
	case control.Paused, control.Stopped:
		return responder.Paused
	case control.Finished, control.Accepted:
		return responder.Done
	case control.Failed:
		return responder.Failed
	case control.Ended:
		return responder.Ended
	}
	return responder.Rest
}

func spokenTask(t control.TaskView) string {
	switch {
	case t.Outcome != "":
		return string(t.Outcome)
	case t.Parked != "":
		return "parked"
	}
	switch t.Phase {
	case swarm.PhaseWaiting, swarm.PhaseRejected:
		return "waiting"
	case swarm.PhaseLeased, swarm.PhaseResting, swarm.PhaseConflict:
		return "at work"
	}
	return "being checked"
}

// Ask implements responder.Team.
func (s *spokenRun) Ask(ctx context.Context, agent, question string) (string, error) {
	var a control.Answer
	err := s.do(ctx, http.MethodPost, "/ask", map[string]string{"agent": agent, "text": question}, &a)
	return a.Answer, err
}

// Tell implements responder.Team.
func (s *spokenRun) Tell(ctx context.Context, agent, text string) error {
	if agent == "" {
		st, err := s.State(ctx)
		if err != nil {
			return err
		}
		for _, a := range st.Agents {
			if a.Role == string(swarm.RoleLead) {
				agent = a.Name
			}
		}
		if agent == "" {
			return fmt.Errorf("run %s has no lead at work", s.name)
		}
	}
	return s.do(ctx, http.MethodPost, "/tell", map[string]string{"agent": agent, "text": text}, nil)
}

// Approve implements responder.Team.
func (s *spokenRun) Approve(ctx context.Context) error {
	return s.do(ctx, http.MethodPost, "/approve", map[string]string{"text": "by voice"}, nil)
}

// Answer implements responder.Team.
func (s *spokenRun) Answer(ctx context.Context, question, text string) error {
	return s.do(ctx, http.MethodPost, "/answer", map[string]string{"question": question, "text": text}, nil)
}

// Park implements responder.Team.
func (s *spokenRun) Park(ctx context.Context, task, why string) error {
	return s.do(ctx, http.MethodPost, "/park", map[string]string{"task": task, "text": why}, nil)
}

// Finish implements responder.Team.
func (s *spokenRun) Finish(ctx context.Context, why string) error {
	return s.do(ctx, http.MethodPost, "/finish", map[string]string{"text": why}, nil)
}

// leastBetween two looks at a run: events come in swarms, and all that there were first.
const leastBetween = 300 * time.Millisecond

// Changes implements responder.Team: events that come close together are one change.
func (s *spokenRun) Changes(ctx context.Context) iter.Seq2[struct{}, error] {
	return func(yield func(struct{}, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		resp, err := s.open(ctx, http.MethodGet, "/events?stream="+swarm.Stream, nil)
		if err != nil {
			yield(struct{}{}, err)
			return
		}
		defer resp.Body.Close()
		some, over := make(chan struct{}, 1), make(chan error, 1)
		go func() { over <- s.read(resp.Body, some) }()
		for {
			select {
			case <-some:
			case err := <-over:
				if err != nil && ctx.Err() == nil {
					yield(struct{}{}, fmt.Errorf("follow run %s: %w", s.name, err))
				}
				return
			case <-ctx.Done():
				return
			}
			if !yield(struct{}{}, nil) {
				return
			}
			select {
			case <-time.After(leastBetween):
			case <-ctx.Done():
				return
			}
		}
	}
}

// read notes that events came, to the end of the run.
func (s *spokenRun) read(from io.Reader, some chan<- struct{}) error {
	in := bufio.NewReader(from)
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch kind, ok := strings.CutPrefix(strings.TrimSpace(line), "event: "); {
		case !ok:
		case kind == "end":
			return nil
		default:
			select {
			case some <- struct{}{}:
			default:
			}
		}
	}
}
