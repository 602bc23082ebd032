package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"dure/runtime/budget"
	"dure/runtime/swarm"
)

// Run is a run that is being run: a *swarm.Coordinator.
type Run interface {
	Approve(ctx context.Context, by, note string) error
	Reject(ctx context.Context, by, note string) error
	Answer(ctx context.Context, by, question, text string) error
	Pause(ctx context.Context, by, reason string) error
	Resume(ctx context.Context, by string) error
	Stop(ctx context.Context, by, reason string) error
	Extend(ctx context.Context, by string, more swarm.Limits) (swarm.Limits, error)
	Steer(ctx context.Context, by, agent, text string) error
	Kill(ctx context.Context, by, agent, reason string) error
	Park(ctx context.Context, by string, task swarm.TaskID, reason string) error
	Reopen(ctx context.Context, by string, task swarm.TaskID, reason string) error
	Inspect(ctx context.Context, look func(*swarm.State)) error
}

// View is a run as a person sees it.
type View struct {
	Spec      string             `json:"spec"` // its first line
	Repo      string             `json:"repo"`
	Check     string             `json:"check"`
	Began     time.Time          `json:"began,omitzero"`
	Deadline  time.Time          `json:"deadline,omitzero"`
	Plan      string             `json:"plan,omitempty"`
	Approved  string             `json:"approved,omitempty"` // by whom
	Paused    *swarm.Paused      `json:"paused,omitempty"`
	Finished  *swarm.Finished    `json:"finished,omitempty"`
	Alive     int                `json:"alive"`  // agents that may get tasks
	Active    int                `json:"active"` // agents at work
	Allowed   int                `json:"allowed"`
	Pace      string             `json:"pace,omitempty"`  // why it is no more
	Green     *swarm.Green       `json:"green,omitempty"` // how main stands
	HotFiles  []swarm.HotFile    `json:"hot_files,omitempty"`
	Limits    swarm.Limits       `json:"limits"`
	Tasks     []TaskView         `json:"tasks"`
	Agents    []AgentView        `json:"agents"`
	Questions []swarm.Question   `json:"questions,omitempty"` // not answered
	Goals     swarm.Goals        `json:"goals"`
	Assumes   []swarm.Assumption `json:"assumes,omitempty"`
}

// TaskView is a task of a View.
type TaskView struct {
	Task    swarm.TaskID   `json:"task"`
	Parent  swarm.TaskID   `json:"parent,omitempty"`
	Depth   int            `json:"depth"`
	Kind    swarm.Kind     `json:"kind"`
	Title   string         `json:"title"`
	Check   string         `json:"check"`
	Phase   swarm.Phase    `json:"phase"`
	Agent   string         `json:"agent,omitempty"`
	Epoch   int            `json:"epoch"`
	Returns int            `json:"returns,omitempty"`
	Parked  string         `json:"parked,omitempty"`
	Outcome swarm.Outcome  `json:"outcome,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	After   []swarm.TaskID `json:"after,omitempty"`
	Main    string         `json:"main,omitempty"` // the commit of main that has it
}

// AgentView is an agent of a View.
type AgentView struct {
	Name  string       `json:"name"`
	Role  swarm.Role   `json:"role"`
	Crew  string       `json:"crew"`
	Task  swarm.TaskID `json:"task,omitempty"`
	Turns int          `json:"turns"`
	Gone  string       `json:"gone,omitempty"`
}

// Look makes a View of a run's state.
func Look(s *swarm.State) View {
	v := View{
		Paused: s.Paused(), Finished: s.Finished(), Deadline: s.Deadline(), Goals: s.Goals(), Assumes: s.Assumptions(),
		Began: s.Began(), Limits: s.Limits(), Alive: s.Alive(), Active: s.Active(), Allowed: s.Allowed(),
	}
	if b := s.Started(); b != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(b.Spec), "\n")
		v.Spec, v.Repo, v.Check = strings.TrimSpace(strings.TrimLeft(first, "# ")), b.Repo, b.Check
	}
	v.Pace, v.HotFiles = s.Pace(), s.HotFiles()
	if g := s.Green(); g != nil {
		now := *g // the state goes on
		v.Green = &now
	}
	if d := s.Draft(); d != nil {
		v.Plan = d.Text
	}
	if a := s.Approval(); a != nil {
		v.Approved = a.By
	}
	for _, t := range s.Tasks() {
		v.Tasks = append(v.Tasks, TaskView{
			Task: t.ID(), Parent: t.Parent, Depth: t.Depth, Kind: t.Kind, Title: t.Title, Check: t.Submitted.Check, Phase: t.Phase, Agent: t.Agent,
			Epoch: t.Epoch, Returns: t.Returns, Parked: t.Parked, Outcome: t.Outcome, Reason: t.Reason, After: t.After, Main: t.Main,
		})
	}
	for _, a := range s.Agents() {
		v.Agents = append(v.Agents, AgentView{Name: a.Agent, Role: a.Role, Crew: a.Crew, Task: a.Task, Turns: a.Turns, Gone: a.Gone})
	}
	for _, q := range s.Questions() {
		if q.Answer == nil {
			v.Questions = append(v.Questions, q)
		}
	}
	return v
}

// Order is what a person asks of a run.
type Order struct {
	By       string        `json:"by"`
	Text     string        `json:"text,omitempty"` // note, reason, answer, message
	Question string        `json:"question,omitempty"`
	Agent    string        `json:"agent,omitempty"`
	Task     swarm.TaskID  `json:"task,omitempty"`
	Limits   *swarm.Limits `json:"limits,omitempty"` // of extend
	Caps     *budget.Caps  `json:"caps,omitempty"`   // of caps; nil leaves them
}

// orders are what can be asked for, by name.
var orders = map[string]func(ctx context.Context, r Run, o Order) error{
	"approve": func(ctx context.Context, r Run, o Order) error { return r.Approve(ctx, o.By, o.Text) },
	"reject":  func(ctx context.Context, r Run, o Order) error { return r.Reject(ctx, o.By, o.Text) },
	"answer":  func(ctx context.Context, r Run, o Order) error { return r.Answer(ctx, o.By, o.Question, o.Text) },
	"pause":   func(ctx context.Context, r Run, o Order) error { return r.Pause(ctx, o.By, o.Text) },
	"unpause": func(ctx context.Context, r Run, o Order) error { return r.Resume(ctx, o.By) },
	"finish":  func(ctx context.Context, r Run, o Order) error { return r.Stop(ctx, o.By, o.Text) },
	"steer":   func(ctx context.Context, r Run, o Order) error { return r.Steer(ctx, o.By, o.Agent, o.Text) },
	"kill":    func(ctx context.Context, r Run, o Order) error { return r.Kill(ctx, o.By, o.Agent, o.Text) },
	"park":    func(ctx context.Context, r Run, o Order) error { return r.Park(ctx, o.By, o.Task, o.Text) },
	"reopen":  func(ctx context.Context, r Run, o Order) error { return r.Reopen(ctx, o.By, o.Task, o.Text) },
	"extend": func(ctx context.Context, r Run, o Order) error {
		if o.Limits == nil {
			return swarm.ErrRefused
		}
		_, err := r.Extend(ctx, o.By, *o.Limits)
		return err
	},
}

// Answer is what an agent said to a question beside its work.
type Answer struct {
	Answer string `json:"answer"`
}

// askHandler adds the route by which an agent is asked something.
func askHandler(m *http.ServeMux, ask func(ctx context.Context, by, agent, question string) (string, error)) {
	m.HandleFunc("POST /v1/run/ask", func(w http.ResponseWriter, r *http.Request) {
		var o Order
		if err := decode(w, r, &o); err != nil {
			fail(w, http.StatusBadRequest, err)
			return
		}
		text, err := ask(r.Context(), o.By, o.Agent, o.Text)
		if err != nil {
			fail(w, http.StatusInternalServerError, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(Answer{text}) // the client is gone
	})
}

// capsHandler adds the route that tells what was used, and changes the caps.
func capsHandler(m *http.ServeMux, ledger *budget.Ledger) {
	m.HandleFunc("POST /v1/run/caps", func(w http.ResponseWriter, r *http.Request) {
		var o Order
		if err := decode(w, r, &o); err != nil {
			fail(w, http.StatusBadRequest, err)
			return
		}
		if o.Caps != nil {
			terms := ledger.Report().Terms
			terms.Caps = *o.Caps
			if err := ledger.Set(r.Context(), terms); err != nil {
				fail(w, http.StatusBadRequest, err)
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(ledger.Report()) // the client is gone
	})
}

// runHandlers adds the routes of a run.
func runHandlers(m *http.ServeMux, run Run) {
	view := func(w http.ResponseWriter, r *http.Request, ended View) {
		v := ended
		err := run.Inspect(r.Context(), func(s *swarm.State) { v = Look(s) })
		if err != nil && (ended.Finished == nil || !errors.Is(err, swarm.ErrNotRunning)) {
			fail(w, runCode(err), err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // the client is gone
	}
	m.HandleFunc("GET /v1/run", func(w http.ResponseWriter, r *http.Request) { view(w, r, View{}) })
	for name, do := range orders {
		m.HandleFunc("POST /v1/run/"+name, func(w http.ResponseWriter, r *http.Request) {
			var o Order
			if err := decode(w, r, &o); err != nil {
				fail(w, http.StatusBadRequest, err)
				return
			}
			if err := do(r.Context(), run, o); err != nil {
				fail(w, runCode(err), err)
				return
			}
			// What was granted may have ended the run, which then shows no state any more.
			view(w, r, View{Finished: &swarm.Finished{Finish: swarm.FinishStopped, By: o.By, Reason: o.Text}})
		})
	}
}

func runCode(err error) int {
	switch {
	case errors.Is(err, swarm.ErrRefused):
		return http.StatusConflict
	case errors.Is(err, swarm.ErrNotRunning):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
