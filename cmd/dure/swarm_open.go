package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"dure/runtime/board"
	boardsqlite "dure/runtime/board/sqlite"
	"dure/runtime/budget"
	"dure/runtime/gate"
	"dure/runtime/sandbox"
	"dure/runtime/swarm"
	"dure/runtime/vcs"
	"dure/runtime/vcs/checkout"
	"dure/runtime/vcs/exchange"
	"dure/runtime/vcs/git"
	"dure/runtime/vcs/land"
	"dure/runtime/world"
)

// openModels takes the models, and all that is asked for beside them, from the command
// line for a new run, and from what that wrote down for one that goes on.
func (t *swarmTeam) openModels(ctx context.Context) error {
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
	if err := t.openJudge(ctx, cat); err != nil {
		return err
	}
	if err := t.o.probe(ctx, t.models, func(text string) { t.logger.Warn("a model does not answer", "problem", text) }); err != nil {
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
		Log: t.logger, Gate: &t.hot, Found: t.inTheWay, Record: world.Record(ctx, t.log, t.logger), Past: world.Past(ctx, t.log, &past),
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
		Spec: text, Repo: t.o.repo, Base: base.String(), Check: t.o.check, Keep: t.o.keep, Limits: t.o.limits, Approval: t.o.approval, Judge: t.o.judge,
	})
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
