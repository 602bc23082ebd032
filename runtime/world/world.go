package world

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"dure/inference"
	"dure/runtime/board"
	"dure/runtime/event"
	"dure/runtime/gate"
	"dure/runtime/sandbox"
	"dure/runtime/swarm"
	"dure/runtime/tool"
	"dure/runtime/vcs"
	"dure/runtime/vcs/checkout"
	"dure/runtime/vcs/git"
	"dure/runtime/vcs/land"
)

// Config is what a run works with. All fields without a remark must be set.
type Config struct {
	// Dir of the run, on the disk where boxes are.
	Dir    string
	Log    event.Log
	Repo   *vcs.Repository
	Lander *land.Lander
	Trees  *checkout.Cache
	Host   *sandbox.Host
	Git    git.Program
	Gate   *gate.Gate
	Board  board.Board
	// Rules judge each call.
	Rules tool.Judge
	// Model is who thinks for a role.
	Model func(role swarm.Role) inference.Model
	// Params of its requests.
	Params func(role swarm.Role) inference.Params
	// Window is how many tokens it takes in one request; 0: that is not known.
	Window func(role swarm.Role) int
	// Choice says whether each answer has to call a tool.
	Choice inference.ToolChoice
	Now    func() time.Time
	Logger *slog.Logger

	Extra Extra
	// MaxTurns of one round of an agent; 0: 200.
	MaxTurns int
	// ToolTime bounds one call of a tool; 0: ten minutes. CheckTime one check; 0: half an
	// hour.
	ToolTime, CheckTime time.Duration
	Mounts              []sandbox.Mount
	Env                 []string
	Limits              sandbox.Limits
}

// Run is what agents ask of the run that they belong to: a *swarm.Coordinator.
type Run interface {
	Spawn(ctx context.Context, r swarm.Spawn) (swarm.Spawned, error)
	Ask(ctx context.Context, agent, ref, text string, options []string) (string, error)
	Turned(ctx context.Context, agent string, turns int) error
	Inspect(ctx context.Context, look func(*swarm.State)) error
}

// World implements swarm.World.
type World struct {
	Config
	run Run
}

// New makes the world of a run. Join must be called before it is used.
func New(c Config) *World {
	if c.MaxTurns == 0 {
		c.MaxTurns = 200
	}
	if c.ToolTime == 0 {
		c.ToolTime = 10 * time.Minute
	}
	if c.CheckTime == 0 {
		c.CheckTime = 30 * time.Minute
	}
	return &World{Config: c}
}

// Join tells the world which run it belongs to.
func (w *World) Join(run Run) { w.run = run }

var _ swarm.World = (*World)(nil)

// boxDir is where the box of a thread keeps its files.
func (w *World) boxDir(agent, thread string) string {
	return filepath.Join(w.Dir, "agents", agent, thread)
}

// ended makes the end of the team what the coordinator knows.
func ended(err error) error {
	if errors.Is(err, gate.ErrEnded) {
		return errors.Join(swarm.ErrEnded, err)
	}
	return err
}
