package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"

	"dure/runtime/budget"
	"dure/runtime/gate"
	"dure/runtime/swarm"
)

// Agent is what is told of one agent.
type Agent struct {
	Name  string `json:"name"`
	State string `json:"state"` // working, done, silent, ...
	Turns int    `json:"turns"`
}

// Status is a team at a moment.
type Status struct {
	Gate   gate.State `json:"gate"`
	Inside int        `json:"inside"` // calls and answers that go on
	Agents []Agent    `json:"agents,omitempty"`
	Run    *View      `json:"run,omitempty"` // of a team that has one
	// Judge says who judges calls.
	Judge string `json:"judge,omitempty"`
	// Of a team that has a run: how it stands, what its models used, and what a person
	// took of it.
	State    Standing       `json:"state,omitempty"`
	Why      string         `json:"why,omitempty"`
	Accounts *budget.Report `json:"accounts,omitempty"`
	Accepted *Taken         `json:"accepted,omitempty"`
}

// decision is the body of what a person decides.
type decision struct {
	By     string      `json:"by"`
	Reason string      `json:"reason,omitempty"`
	Call   gate.CallID `json:"call,omitzero"`
}

// Server answers for a team.
type Server struct {
	Gate *gate.Gate
	// Judge says who judges calls; part of the status.
	Judge string
	// Agents may be nil.
	Agents func() []Agent
	// Run, if the team has one. Ask asks an agent of it something beside its work; Ledger
	// has its accounts.
	Run    Run
	Ledger *budget.Ledger
	Ask    func(ctx context.Context, by, agent, question string) (string, error)
}

// maxPath is what the kernel takes as a socket's name.
const maxPath = 107

// maxBody of a request is more than any decision needs.
const maxBody = 64 << 10

// Handler serves the requests.
func (s Server) Handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /v1/status", s.status)
	decide := func(path string, do func(ctx context.Context, d decision) error) {
		m.HandleFunc("POST /v1/"+path, func(w http.ResponseWriter, r *http.Request) {
			var d decision
			if err := decode(w, r, &d); err != nil {
				fail(w, http.StatusBadRequest, err)
				return
			}
			if err := do(r.Context(), d); err != nil {
				fail(w, code(err), err)
				return
			}
			s.status(w, r)
		})
	}
	decide("stop", func(ctx context.Context, d decision) error { return s.Gate.Stop(ctx, d.By, d.Reason) })
	decide("resume", func(ctx context.Context, d decision) error { return s.Gate.Resume(ctx, d.By, d.Reason) })
	decide("end", func(ctx context.Context, d decision) error { return s.Gate.End(ctx, d.By, d.Reason) })
	decide("overrule", func(ctx context.Context, d decision) error { return s.Gate.Overrule(ctx, d.By, d.Call, d.Reason) })
	if s.Run != nil {
		runHandlers(m, s.Run)
		askHandler(m, s.Ask)
		capsHandler(m, s.Ledger)
	}
	return m
}

func decode(w http.ResponseWriter, r *http.Request, to any) error {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return nil
}

func (s Server) status(w http.ResponseWriter, r *http.Request) {
	st := Status{Gate: s.Gate.State(), Inside: s.Gate.Inside(), Judge: s.Judge}
	if s.Run != nil {
		err := s.Run.Inspect(r.Context(), func(state *swarm.State) {
			v := Look(state)
			st.Run = &v
		})
		if err != nil {
			fail(w, runCode(err), err)
			return
		}
	}
	if st.Run != nil {
		st.State, st.Why = st.standing(true)
	}
	if s.Ledger != nil {
		accounts := s.Ledger.Report()
		st.Accounts = &accounts
	}
	if s.Agents != nil {
		st.Agents = s.Agents()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(st) // the client is gone
}

func code(err error) int {
	switch {
	case errors.Is(err, gate.ErrUnknown):
		return http.StatusNotFound
	case errors.Is(err, gate.ErrEnded), errors.Is(err, gate.ErrOpen):
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

type failure struct {
	Error string `json:"error"`
}

func fail(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(failure{err.Error()}) // the client is gone
}

// Listen makes the socket, which only its user can open. One that a dead process left
// is replaced; while another process holds it, that is an error.
func Listen(path string) (net.Listener, error) {
	if len(path) > maxPath {
		return nil, fmt.Errorf("listen %s: the path has %d bytes, a unix socket's has %d at most: use a folder with a shorter name", path, len(path), maxPath)
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("listen %s: another process runs this team", path)
	}
	// The file's time tells which team was run last.
	_ = lock.Truncate(0)
	_, _ = fmt.Fprintln(lock, os.Getpid())
	l, err := listen(path)
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return &held{Listener: l, lock: lock}, nil
}

// held is a listener with the lock that says whose it is.
type held struct {
	net.Listener
	lock *os.File
	once sync.Once
	err  error
}

// Close implements net.Listener. It may be called again.
func (h *held) Close() error {
	h.once.Do(func() { h.err = errors.Join(h.Listener.Close(), h.lock.Close()) })
	return h.err
}

func listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}
