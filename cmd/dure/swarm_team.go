package main

import (
	"context"
	"encoding/json"
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
	boardsqlite "dure/runtime/board/sqlite"
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
	"dure/runtime/vcs/exchange"
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
	socket  net.Listener
	logger  *slog.Logger
	models  map[swarm.Role]thinker
	ledger  *budget.Ledger
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
	t = &swarmTeam{o: o, logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
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
	for _, name := range []string{teamLog, teamLog + "-wal", teamLog + "-shm", teamLog + ".changes", teamTables, teamTables + "-wal", teamTables + "-shm", teamTables + ".lock", teamRepo, teamRepo + ".new", teamAsked, "agents", "checks", "trees", "trial"} {
		if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("forget the run: %w", err)
		}
	}
	return nil
}

// teamAsk is what a run needs to know again when it goes on.
type teamAsk struct {
	Script string `json:"script,omitempty"`
	URL    string `json:"url,omitempty"`
	Model  string `json:"model,omitempty"`
	KeyEnv string `json:"key_env,omitempty"`

	Tools     string        `json:"tools,omitempty"`
	Servers   string        `json:"servers,omitempty"`
	MustCall  bool          `json:"must_call,omitempty"`
	Turns     int           `json:"turns"`
	CheckTime time.Duration `json:"check_time"`
	ShellTime time.Duration `json:"shell_time"`
}

// asked is what the command line said, with whole paths.
func (o *swarmRun) asked() (a teamAsk, err error) {
	a = teamAsk{
		o.models.script, o.models.url, o.models.name, o.models.keyEnv,
		o.extra.tools, o.extra.servers, o.mustCall, o.turns, o.checkTime, o.shellTime,
	}
	for _, file := range []*string{&a.Script, &a.Tools, &a.Servers} {
		if *file != "" && err == nil {
			*file, err = filepath.Abs(*file)
		}
	}
	return a, err
}

// unless is what was written down, but for what the command line says anew.
func (a teamAsk) unless(given func(string) bool, b teamAsk) teamAsk {
	for flag, take := range map[string]func(){
		"script": func() { a.Script = b.Script }, "url": func() { a.URL = b.URL }, "model": func() { a.Model = b.Model },
		"key-env": func() { a.KeyEnv = b.KeyEnv }, "tools": func() { a.Tools = b.Tools }, "mcp": func() { a.Servers = b.Servers },
		"must-call": func() { a.MustCall = b.MustCall }, "turns": func() { a.Turns = b.Turns },
		"check-time": func() { a.CheckTime = b.CheckTime }, "shell-time": func() { a.ShellTime = b.ShellTime },
	} {
		if given(flag) {
			take()
		}
	}
	return a
}

func (o *swarmRun) ask(a teamAsk) {
	o.models = swarmModels{a.Script, a.URL, a.Model, a.KeyEnv}
	o.extra = extraFlags{a.Tools, a.Servers}
	o.mustCall, o.turns, o.checkTime, o.shellTime = a.MustCall, a.Turns, a.CheckTime, a.ShellTime
}

// openModels takes the models, and all that is asked for beside them, from the command
// line for a new run, and from what that wrote down for one that goes on.
func (t *swarmTeam) openModels(context.Context) error {
	file := filepath.Join(t.o.folder, teamAsked)
	a, err := t.o.asked()
	if err != nil {
		return err
	}
	if t.o.spec == "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		kept := teamAsk{}
		if err := json.Unmarshal(b, &kept); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		a = kept.unless(t.o.given, a)
	}
	t.o.ask(a)
	home, err := homeDir()
	if err != nil {
		return err
	}
	cat, err := openCatalog(home)
	if err != nil {
		return err
	}
	if t.models, err = t.o.models.open(cat, t.logger); err != nil {
		return err
	}
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o600)
}

func (t *swarmTeam) openGate(ctx context.Context) (err error) {
	if t.gate, err = gate.Open(ctx, t.log); err != nil {
		return err
	}
	if t.gate.State().Phase == gate.PhaseEnded {
		return errors.New("this team was ended by a person; --fresh with a specification begins another")
	}
	return nil
}

// openRepo opens the run's own repository, or makes it from the person's. It appears
// under its name once it is whole.
func (t *swarmTeam) openRepo(ctx context.Context) (err error) {
	if t.git, err = git.Find(ctx, ""); err != nil {
		return err
	}
	dir := filepath.Join(t.o.folder, teamRepo)
	if t.o.spec != "" { // what a start that failed has left may be another repository's
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := t.importRepo(ctx, dir); err != nil {
			return err
		}
	}
	if t.repo, err = vcs.Open(ctx, dir, vcs.Options{Log: t.logger, Gate: t.hot.Allow, Git: t.git}); err != nil {
		return err
	}
	t.later(t.repo.Close)
	return nil
}

// openLander starts the landing job. What it did before counts.
func (t *swarmTeam) openLander(ctx context.Context) (err error) {
	var past error
	t.lander, err = land.New(ctx, t.repo, land.Options{
		Log: t.logger, Gate: &t.hot, Record: world.Record(ctx, t.log, t.logger), Past: world.Past(ctx, t.log, &past),
	})
	if err != nil {
		return err
	}
	t.later(t.lander.Close)
	return past
}

// openLedger opens the accounts, and puts the prices of the models in force. The caps of
// a run that goes on stay what they are.
func (t *swarmTeam) openLedger(ctx context.Context) (err error) {
	if t.ledger, err = budget.Open(ctx, t.log, cappedTeam{t.logger}); err != nil {
		return err
	}
	caps := t.ledger.Report().Terms.Caps
	if t.o.spec != "" {
		if caps, err = t.o.caps.caps(); err != nil {
			return err
		}
	}
	return t.ledger.Set(ctx, terms(t.models, caps))
}

// openBoard opens the tables that the team shares.
func (t *swarmTeam) openBoard(ctx context.Context) (err error) {
	t.board, err = boardsqlite.Open(ctx, boardsqlite.Config{
		Path: filepath.Join(t.o.folder, teamTables), Log: t.log, Limits: board.DefaultLimits(), Logger: t.logger,
	})
	if err != nil {
		return err
	}
	t.later(t.board.Close)
	return nil
}

// openHost finds out what sandboxes this machine allows.
func (t *swarmTeam) openHost(ctx context.Context) (err error) {
	// What a killed process was trying out is of no use to anybody.
	trial := filepath.Join(t.o.folder, "trial")
	if err := errors.Join(os.RemoveAll(trial), os.Mkdir(trial, 0o711)); err != nil {
		return err
	}
	t.host, err = sandbox.Open(ctx, sandbox.Options{Dir: trial, Unsafe: t.o.unsafe, Log: t.logger})
	if err != nil {
		return err
	}
	t.later(t.host.Close)
	t.trees, err = checkout.Open(filepath.Join(t.o.folder, "trees"), checkout.Options{Log: t.logger})
	return err
}

// free sees that a new run has the folder for itself, before anything of a run that is
// there is touched.
func (t *swarmTeam) free(ctx context.Context) error {
	if t.o.spec == "" {
		return nil
	}
	s, err := swarm.Load(ctx, t.log)
	if err == nil && s.Started() != nil {
		err = errors.New("there is a run in this folder already: dure swarm run without a specification goes on with it, --dir begins another beside it, --fresh throws it away")
	}
	return err
}

// begin begins a new run.
func (t *swarmTeam) begin(ctx context.Context) error {
	if t.o.spec == "" {
		return nil
	}
	text, err := t.o.specText()
	if err != nil {
		return err
	}
	base, ok := t.repo.Ref(t.repo.Main())
	if !ok {
		return errors.New("the repository has no commit yet: make one, so that there is something to begin at")
	}
	return swarm.Begin(ctx, t.log, time.Now(), swarm.Started{
		Spec: text, Repo: t.o.repo, Base: base.String(), Check: t.o.check, Limits: t.o.limits, Approval: t.o.approval, Judge: t.o.judge,
	})
}

// run runs the run, answers people, and prints what happens, until it is finished.
func (t *swarmTeam) run(ctx context.Context, out io.Writer) (finished swarm.Finished, err error) {
	extra, mounts, err := t.o.extra.read()
	if err != nil {
		return finished, err
	}
	rules, err := judge.Builtin()
	if err != nil {
		return finished, err
	}
	w := world.New(world.Config{
		Dir: t.o.folder, Log: t.log, Repo: t.repo, Lander: t.lander, Trees: t.trees, Host: t.host, Git: t.git, Gate: t.gate, Board: t.board, Rules: rules,
		Model:  func(r swarm.Role) inference.Model { return t.ledger.Model(t.models[r].model, string(r)) },
		Window: func(r swarm.Role) int { return t.models[r].window },
		Params: func(r swarm.Role) inference.Params { return t.models[r].params },
		Extra:  extra, Mounts: mounts,
		Choice: t.o.choice(), Now: time.Now, Logger: t.logger, MaxTurns: t.o.turns, CheckTime: t.o.checkTime, ToolTime: t.o.shellTime,
	})
	c := swarm.New(t.log, w, time.Now, t.logger)
	w.Join(c)
	srv := &http.Server{Handler: control.Server{Gate: t.gate, Run: c, Ask: w.Ask, Ledger: t.ledger}.Handler(), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = srv.Serve(t.socket) }() // ends with Close
	defer finishAnswers(srv)
	head, err := t.log.Head(ctx)
	if err != nil {
		return finished, err
	}
	stop := make(chan event.Position, 1)
	var telling sync.WaitGroup
	telling.Go(func() { tell(ctx, t.log, head, out, stop) })
	finished, err = c.Run(ctx)
	last, headErr := t.log.Head(context.WithoutCancel(ctx))
	stop <- last
	telling.Wait()
	if err == nil {
		err = headErr
	}
	return finished, err
}

// finishAnswers lets who asked last, perhaps for the end, have its answer.
func finishAnswers(srv *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = srv.Shutdown(ctx) // who does not read is left
	_ = srv.Close()
}

func (t *swarmTeam) importRepo(ctx context.Context, dir string) error {
	if t.o.spec == "" {
		return fmt.Errorf("the run has no repository: begin it again, with --fresh")
	}
	whole := dir + ".new"
	if err := os.RemoveAll(whole); err != nil {
		return err
	}
	r, done, err := exchange.Import(ctx, t.git, exchange.Source{Path: t.o.repo, Branch: t.o.branch}, whole, vcs.Options{Log: t.logger, Git: t.git})
	if err != nil {
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	for _, path := range done.Uncommitted {
		t.logger.Warn("not committed, so the team does not see it", "path", path)
	}
	return os.Rename(whole, dir)
}
