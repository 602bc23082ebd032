package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"dure/inference"
	"dure/inference/front"
	"dure/runtime/control"
	"dure/runtime/event"
	"dure/runtime/event/sqlite"
)

// swarmRuns are the runs below DURE_HOME.
func swarmRuns(home string) control.Runs {
	return control.Runs{Dir: filepath.Join(home, "swarm"), Open: readLog}
}

// readLog opens a run's log to be read only.
func readLog(ctx context.Context, file string) (event.Log, error) {
	log, err := sqlite.OpenReader(ctx, sqlite.Config{Path: file})
	if err != nil {
		return nil, err // and no log that is a nil pointer
	}
	return log, nil
}

// swarmRoutes are the routes of teams, for the server of models: they concern the whole
// machine, and want the admin right. Streams end with closing.
func swarmRoutes(runs control.Runs, closing <-chan struct{}) []front.Route {
	var all []front.Route
	for _, r := range runs.Routes() {
		m := mounted{r, closing}
		handle := m.answer
		if r.Follow != nil {
			handle = m.follow
		}
		all = append(all, front.Route{Method: r.Method, Path: r.Path, Doc: r.Doc, MaxBody: r.MaxBody, Admin: true, Handle: handle})
	}
	return all
}

// mounted is a route of runs as the server has it.
type mounted struct {
	control.Route
	closing <-chan struct{}
}

func (m mounted) query(x *front.Exchange, r *http.Request) (q control.Query, err error) {
	q = control.Query{Run: r.PathValue("id"), By: cmp.Or(x.KeyName(), person())}
	if m.MaxBody > 0 {
		q.Body, err = x.ReadBody(r)
	}
	return q, err
}

func (m mounted) answer(x *front.Exchange, r *http.Request) error {
	q, err := m.query(x, r)
	if err != nil {
		return err
	}
	v, err := m.Answer(r.Context(), q)
	if err != nil {
		return m.refusal(err)
	}
	return x.JSON(http.StatusOK, v)
}

func (m mounted) follow(x *front.Exchange, r *http.Request) error {
	q, err := m.query(x, r)
	if err != nil {
		return err
	}
	q.After, q.Stream = cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")), r.URL.Query().Get("stream")
	form := front.EventStream(func(dst []byte, f *front.Failure) ([]byte, error) {
		return control.Item{Type: "error", Data: map[string]string{"code": string(f.Code), "message": f.Message}}.Append(dst)
	})
	return x.Stream(r, form, func(ctx context.Context, s *front.Stream) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			select {
			case <-m.closing:
				stop()
			case <-ctx.Done():
			}
		}()
		return m.refusal(m.tell(ctx, q, s))
	})
}

// tell sends the events of a run as they come.
func (m mounted) tell(ctx context.Context, q control.Query, s *front.Stream) error {
	items, err := m.Follow(ctx, q)
	if err != nil {
		return err
	}
	if err := s.Send([]byte(": the events of a run\nretry: 2000\n\n")); err != nil {
		return err
	}
	var b []byte
	for item, err := range items {
		if err != nil {
			return err
		}
		if b, err = item.Append(b[:0]); err != nil {
			return err
		}
		if err := s.Send(b); err != nil {
			return err
		}
	}
	return nil
}

// refusal gives a problem the form of the server's failures.
func (mounted) refusal(err error) error {
	var p *control.Problem
	switch {
	case errors.As(err, &p):
		code := inference.CodeInvalidRequest
		if p.Status == http.StatusNotFound {
			code = "run_not_found"
		}
		return front.Refuse(p.Status, code, "%s", p.Message)
	case errors.Is(err, event.ErrDamaged), errors.Is(err, event.ErrNewer), errors.Is(err, event.ErrForeign), errors.Is(err, control.ErrNoRun):
		return front.Refuse(http.StatusConflict, "run_damaged", "%s", fmt.Sprint(err))
	}
	return err
}
