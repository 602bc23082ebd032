package land

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"dure/runtime/vcs"
	"dure/runtime/vcs/object"
)

// A Check is the result of a check command.
type Check struct {
	Passed bool
	Output string // for who has to mend it; bounded by the runner
}

// A Checker runs the check command on a clean checkout of a commit, in a sandbox:
// the command is what agents can influence. An error means that there is no
// result; it is tried again.
type Checker interface {
	Check(ctx context.Context, commit object.ID) (Check, error)
}

// GreenEvent tells what the checks of main found.
type GreenEvent struct {
	Step
	By     Side   // who landed what broke main
	Output string // of the check that decided
	Checks int    // runs so far
}

// Green follows main with the ref green. One goroutine, that of Run, does it all.
type Green struct {
	repo    *vcs.Repository
	checker Checker
	tell    func(GreenEvent)
	log     *slog.Logger
	moved   chan struct{}
	follow  *Follow
	head    object.ID // the newest commit of main that follow knows
	green   object.ID
	checks  int
}

// NewGreen follows main from where green is; without a green, main's first commit
// has to pass, too. tell is called from Run.
func NewGreen(repo *vcs.Repository, checker Checker, p FollowPolicy, tell func(GreenEvent), log *slog.Logger) *Green {
	return &Green{repo: repo, checker: checker, tell: tell, log: log, moved: make(chan struct{}, 1), follow: NewFollow(p)}
}

// Moved tells that main moved. It never blocks, and may be called from anywhere.
func (g *Green) Moved() {
	select {
	case g.moved <- struct{}{}:
	default:
	}
}

// mostErrors in a row end Run: the checker does not work.
const mostErrors = 3

// Run checks until the context ends, or the checker or the store fail for good.
func (g *Green) Run(ctx context.Context) error {
	g.green, _ = g.repo.Ref(vcs.GreenRef)
	g.head = g.green
	for failures := 0; ; {
		if err := g.catchUp(ctx); err != nil {
			return fmt.Errorf("follow main: %w", err)
		}
		commit, any := g.follow.Next()
		if !any {
			select {
			case <-g.moved:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		result, err := g.checker.Check(ctx, commit)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failures++
			g.log.Warn("a check of main has no result", "commit", commit.String(), "error", err)
			if failures == mostErrors {
				return fmt.Errorf("check %s, %d times: %w", commit.Short(), failures, err)
			}
			continue
		}
		failures = 0
		g.checks++
		if err := g.carryOut(ctx, g.follow.Checked(result.Passed), result); err != nil {
			return err
		}
	}
}

// catchUp tells follow of what main got since.
func (g *Green) catchUp(ctx context.Context) error {
	main, _ := g.repo.Ref(g.repo.Main())
	var news []object.ID
	for id := main; id != g.head && !id.IsZero(); {
		news = append(news, id)
		c, err := g.repo.Commit(ctx, id)
		if err != nil {
			return err
		}
		id = object.Zero
		if len(c.Parents) > 0 {
			id = c.Parents[0]
		}
	}
	if g.head.IsZero() && len(news) > 0 { // all of the past is not ours to check
		news = news[:1]
	}
	slices.Reverse(news)
	g.follow.Moved(news...)
	g.head = main
	return nil
}

func (g *Green) carryOut(ctx context.Context, s Step, result Check) error {
	if s == (Step{}) {
		return nil
	}
	if !s.Green.IsZero() {
		move := vcs.Move{Ref: vcs.GreenRef, Old: g.green, New: s.Green}
		if err := g.repo.Apply(ctx, vcs.Landing(), nil, move); err != nil {
			return fmt.Errorf("move green to %s: %w", s.Green.Short(), err)
		}
		g.green = s.Green
	}
	e := GreenEvent{Step: s, Output: result.Output, Checks: g.checks}
	if !s.Broken.IsZero() {
		c, err := g.repo.Commit(ctx, s.Broken)
		if err != nil {
			return fmt.Errorf("read what broke main: %w", err)
		}
		e.By = authorOf(c)
	}
	g.tell(e)
	return nil
}
