package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"dure/inference"
	"dure/runtime/board"
	"dure/runtime/budget"
	"dure/runtime/control"
	"dure/runtime/event"
	"dure/runtime/event/sqlite"
	"dure/runtime/gate"
	"dure/runtime/judge"
	"dure/runtime/sandbox"
	"dure/runtime/swarm"
	"dure/runtime/vcs"
	"dure/runtime/vcs/checkout"
	"dure/runtime/vcs/git"
	"dure/runtime/vcs/land"
	"dure/runtime/world"
)

// Names in a run's folder.
const (
	teamSocket = "control.sock"
	teamLog    = "log.db"
	teamTables = "board.db"
	teamRepo   = "repo.git"
	teamAsked  = "run.json" // what the run was begun with, for who goes on with it
)

// swarmTeam is a run with all that it works with. What is opened is in closers, to be closed
// the other way round.
type swarmTeam struct {
	o       *swarmRun
	log     event.Log
	gate    *gate.Gate
	board   board.Board
	repo    *vcs.Repository
	lander  *land.Lander
	host    *sandbox.Host
	trees   *checkout.Cache
	git     git.Program
	hot     land.Gate
	found   chan land.Finding // files that are in the way
	socket  net.Listener
	logger  *slog.Logger
	models  map[swarm.Role]thinker
	ledger  *budget.Ledger
	judge   *judge.Judge
	closers []func() error
}

func (t *swarmTeam) later(f func() error) { t.closers = append(t.closers, f) }

func (t *swarmTeam) close() error {
	var err error
	for i := len(t.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, t.closers[i]())
	}
	return err
}

// openTeam opens a run's folder, and begins the run if it is new.
func openTeam(ctx context.Context, o *swarmRun, log io.Writer) (t *swarmTeam, err error) {
	t = &swarmTeam{o: o, found: make(chan land.Finding, 64), logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	isNew := !isDir(o.folder)
	defer func() {
		if err == nil {
			return
		}
		err = errors.Join(err, t.close())
		if isNew && ctx.Err() == nil { // a run that cannot begin leaves nothing behind
			err = errors.Join(err, os.RemoveAll(o.folder))
		}
	}()
	if o.spec == "" {
		if _, err := os.Stat(filepath.Join(o.folder, teamAsked)); errors.Is(err, fs.ErrNotExist) {
			return t, fmt.Errorf("there is no run in %s: begin one with dure swarm run SPEC.md --repo DIR --check COMMAND", o.folder)
		}
	}
	// Boxes may run as another user, who has to pass the folder, and cannot list it.
	if err := os.MkdirAll(o.folder, 0o711); err != nil {
		return t, err
	}
	if t.socket, err = control.Listen(filepath.Join(o.folder, teamSocket)); err != nil { // whoever has it has the folder
		return t, err
	}
	t.later(t.socket.Close)
	if o.fresh && o.spec != "" {
		if err := clearTeam(o.folder); err != nil {
			return t, err
		}
	}
	if t.log, err = sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(o.folder, teamLog)}); err != nil {
		return t, err
	}
	t.later(t.log.Close)
	for _, step := range []func(context.Context) error{t.free, t.openModels, t.openGate, t.openRepo, t.openHost, t.begin, t.openLedger, t.openBoard, t.openLander} {
		if err := step(ctx); err != nil {
			return t, err
		}
	}
	return t, nil
}

// clearTeam removes what a run made, and nothing else.
func clearTeam(folder string) error {
	for _, name := range []string{teamLog, teamLog + "-wal", teamLog + "-shm", teamLog + ".changes", teamTables, teamTables + "-wal", teamTables + "-shm", teamTables + ".lock", teamTables + ".changes", teamRepo, teamRepo + ".new", teamAsked, "agents", "checks", "trees", "trial", "doors", "client"} {
		if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("forget the run: %w", err)
		}
	}
	return nil
}

// run runs the run, answers people, and prints what happens, until it is finished.
func (t *swarmTeam) run(ctx context.Context, out io.Writer) (finished swarm.Finished, err error) {
	extra, mounts, err := t.o.extra.read()
	if err != nil {
		return finished, err
	}
	w := world.New(world.Config{
		Dir: t.o.folder, Log: t.log, Repo: t.repo, Lander: t.lander, Trees: t.trees, Host: t.host, Git: t.git, Gate: t.gate, Board: t.board, BoardLimits: board.DefaultLimits(), Rules: t.judging(), Patience: t.o.calls.patience(),
		Model:  func(r swarm.Role) inference.Model { return t.ledger.Model(t.models[r].model, string(r)) },
		Window: func(r swarm.Role) int { return t.models[r].window },
		Params: t.params,
		Extra:  extra, Mounts: mounts,
		Choice: t.o.choice(), Now: time.Now, Logger: t.logger, MaxTurns: t.o.turns, CheckTime: t.o.checkTime, ToolTime: t.o.shellTime,
	})
	if w.Client, err = t.client(); err != nil {
		return finished, err
	}
	c := swarm.New(t.log, w, time.Now, t.logger)
	w.Join(c)
	srv := &http.Server{Handler: control.Server{Gate: t.gate, Run: c, Ask: w.Ask, Ledger: t.ledger, Judge: t.judgedBy()}.Handler(), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = srv.Serve(t.socket) }() // ends with Close
	defer finishAnswers(srv)
	head, err := t.log.Head(ctx)
	if err != nil {
		return finished, err
	}
	sealed, err := t.seal(ctx)
	if err != nil {
		return finished, err
	}
	defer func() { err = errors.Join(err, sealed()) }()
	stop := make(chan event.Position, 1)
	var telling sync.WaitGroup
	telling.Go(func() { tell(ctx, t.log, head, out, stop) })
	watching, stopWatching := context.WithCancel(ctx)
	telling.Go(func() { w.Watch(watching, t.found) })
	telling.Go(func() { w.WatchSpace(watching) })
	telling.Go(func() { t.followMain(watching, c, w) })
	telling.Go(func() { t.follow(watching, c) })
	finished, err = c.Run(ctx)
	stopWatching()
	last, headErr := t.log.Head(context.WithoutCancel(ctx))
	stop <- last
	telling.Wait()
	if err == nil {
		err = headErr
	}
	return finished, err
}

// inTheWay takes what the landing job found. One that is lost is found again by the next
// process.
func (t *swarmTeam) inTheWay(f land.Finding) *land.Block {
	select {
	case t.found <- f:
	default:
	}
	return nil // it is blocked when somebody splits it
}

// params are those of a role's requests.
func (t *swarmTeam) params(r swarm.Role) inference.Params {
	p := t.models[r].params
	if t.o.seed != 0 {
		p.Seed = t.o.seed
	}
	return p
}

// followMain has main checked after landings, if the run keeps a command passing.
func (t *swarmTeam) followMain(ctx context.Context, c *swarm.Coordinator, w *world.World) {
	keep := ""
	if err := c.Inspect(ctx, func(s *swarm.State) { keep = s.Started().Keep }); err == nil && keep != "" {
		w.FollowMain(ctx, keep)
	}
}

// finishAnswers lets who asked last, perhaps for the end, have its answer.
func finishAnswers(srv *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = srv.Shutdown(ctx) // who does not read is left
	_ = srv.Close()
}
