package world

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
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
	"dure/runtime/vcs/transport"
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
	// BoardLimits are those that Board was opened with.
	BoardLimits board.Limits
	// Client is cmd/client's program: what boxes have of dure. Empty: agents' shells
	// reach neither tables nor repository.
	Client string
	// Rules judge each call, within Patience (0: what rules alone need).
	Rules    tool.Judge
	Patience time.Duration
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

	// Floor is how many bytes must be free where Dir is; below, the run waits for room.
	// 0: DefaultFloor. Free says how many are; nil: what the system says.
	Floor int64
	Free  func(dir string) (int64, error)

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
	Hot(ctx context.Context, f swarm.Found) error
	Estimate(ctx context.Context, by string, task swarm.TaskID, tokens int64, feasible bool, reason string) error
	Park(ctx context.Context, by string, task swarm.TaskID, reason string) error
	Reopen(ctx context.Context, by string, task swarm.TaskID, reason string) error
	Checked(ctx context.Context, p swarm.Mainline) error
	Full(ctx context.Context, reason string) error
	Room(ctx context.Context) error
	Inspect(ctx context.Context, look func(*swarm.State)) error
}

// World implements swarm.World.
type World struct {
	Config
	run       Run
	transport *transport.Server // git, for agents' sockets
	space     space
	green     atomic.Pointer[land.Green] // nil: the run keeps no command passing
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
	if c.Floor == 0 {
		c.Floor = DefaultFloor
	}
	if c.Free == nil {
		c.Free = freeBytes
	}
	w := &World{Config: c, transport: transport.New(c.Repo, c.Git, transport.Options{Log: c.Logger})}
	if err := w.clearDoors(); err != nil {
		c.Logger.Warn("sockets of a process that ended stay", "error", err)
	}
	return w
}

// Join tells the world which run it belongs to.
func (w *World) Join(run Run) { w.run = run }

var _ swarm.World = (*World)(nil)

// boxDir is where the box of a thread keeps its files.
func (w *World) boxDir(agent, thread string) string {
	return filepath.Join(w.Dir, "agents", agent, thread)
}

// known makes an error what the coordinator knows: the end of the team, a full disk.
func known(err error) error {
	switch {
	case errors.Is(err, gate.ErrEnded):
		return errors.Join(swarm.ErrEnded, err)
	case noRoom(err):
		return errors.Join(swarm.ErrFull, err)
	}
	return err
}
