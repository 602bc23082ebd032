package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dure/runtime/sandbox"
	"dure/runtime/tool"
)

// Config is a server that the person has named.
type Config struct {
	// Name begins the names of its tools: letters, digits, '-' and '_', at most 32.
	Name string
	Args []string // the command, as the box knows it
	Env  []string // KEY=VALUE, beside the box's own; the agent can read it
	Dir  string   // inside; empty is the workspace
	// Patience is how long the server may take to start and to name its tools; 0 is
	// 30 seconds.
	Patience time.Duration
}

// Box is where servers run: a sandbox.Box.
type Box interface {
	Begin(ctx context.Context, c sandbox.Cmd) (*sandbox.Process, error)
}

// Errors that callers branch on.
var (
	// ErrRefused is a server that says something of its tools that is out of bounds.
	ErrRefused = errors.New("the tool server is refused")
	// ErrDead is a server that ended, and is not started again.
	ErrDead = errors.New("the tool server is dead")
)

// Server is a server with its tools.
type Server struct {
	box   Box
	conf  Config
	log   *slog.Logger
	specs []tool.Spec // as models are told
	names []string    // as the server calls them

	mu     sync.Mutex // held while it is started, never during a call
	run    *run       // nil: the next call starts it
	spent  bool       // it died and was started again, and has answered nothing since
	buried error      // why it is not started any more
}

var goodServer = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// Start starts a server in a box and asks it for its tools. ctx bounds the start only.
func Start(ctx context.Context, box Box, conf Config, log *slog.Logger) (*Server, error) {
	if !goodServer.MatchString(conf.Name) {
		return nil, fmt.Errorf("tool server %q: a name is 1 to 32 letters, digits, '-' or '_'", conf.Name)
	}
	if len(conf.Args) == 0 {
		return nil, fmt.Errorf("tool server %s: no command", conf.Name)
	}
	if conf.Patience == 0 {
		conf.Patience = 30 * time.Second
	}
	s := &Server{box: box, conf: conf, log: log}
	r, specs, names, err := s.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("start tool server %s: %w", conf.Name, err)
	}
	s.run, s.specs, s.names = r, specs, names
	return s, nil
}

// begin starts the program and reads its tools. After an error nothing of it is left.
func (s *Server) begin(ctx context.Context) (*run, []tool.Spec, []string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.conf.Patience, fmt.Errorf("it did not name its tools within %s", s.conf.Patience))
	defer cancel()
	r, err := begin(ctx, s.box, s.conf)
	if err != nil {
		return nil, nil, nil, err
	}
	o, err := ask(ctx, r, func(ctx context.Context) (o opened, err error) {
		if o.session, err = r.connect(ctx, s.log); err == nil {
			o.tools, err = list(ctx, o.session)
		}
		return o, err
	})
	r.session = o.session
	var specs []tool.Spec
	var names []string
	if err == nil {
		specs, names, err = read(s.conf.Name, o.tools)
	}
	if err != nil {
		r.end()
		return nil, nil, nil, r.explain(err)
	}
	return r, specs, names, nil
}

type opened struct {
	session *sdk.ClientSession
	tools   []*sdk.Tool
}

// list reads all pages of tools, up to one tool more than a server may have.
func list(ctx context.Context, session *sdk.ClientSession) (all []*sdk.Tool, err error) {
	params := &sdk.ListToolsParams{}
	for range maxTools {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Tools...)
		if page.NextCursor == "" || len(all) > maxTools {
			return all, nil
		}
		params = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, fmt.Errorf("%w: its list of tools has more than %d pages", ErrRefused, maxTools)
}

// Tools are the server's tools, named server.tool.
func (s *Server) Tools() []tool.Tool {
	all := make([]tool.Tool, len(s.specs))
	for i := range s.specs {
		all[i] = remote{s, s.specs[i], s.names[i]}
	}
	return all
}

// Close ends the server.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		s.run.end()
		s.run = nil
	}
	s.buried = fmt.Errorf("%w: it was closed", ErrDead)
}

// living is the running server, started again if it may be. An error is for the agent.
func (s *Server) living(ctx context.Context) (*run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buried != nil {
		return nil, s.buried
	}
	if s.run != nil && !s.run.over() {
		return s.run, nil
	}
	if s.run != nil {
		why := s.run.explain(errors.New("it ended"))
		s.run.end()
		s.run = nil
		if s.spent {
			s.buried = fmt.Errorf("%w: it was started again, and ended again: %w", ErrDead, why)
			return nil, s.buried
		}
		s.spent = true
		s.log.Warn("a tool server is started again", "tool_server", s.conf.Name, "error", why)
	}
	r, specs, _, err := s.begin(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil && !reflect.DeepEqual(specs, s.specs) {
		r.end()
		err = fmt.Errorf("%w: it has other tools than before", ErrRefused)
	}
	if err != nil {
		s.buried = fmt.Errorf("%w: it could not be started again: %w", ErrDead, err)
		return nil, s.buried
	}
	s.run = r
	return r, nil
}

// answered says that a call came back: from here the server may die once again.
func (s *Server) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent = false
}

// stop ends a run that has not obeyed; the next call starts the server again.
func (s *Server) stop(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.end()
	if s.run == r {
		s.run = nil
	}
}
