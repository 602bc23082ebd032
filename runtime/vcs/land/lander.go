package land

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"dure/runtime/vcs"
	"dure/runtime/vcs/merge"
	"dure/runtime/vcs/object"
)

// Options of a landing job. The zero value has working defaults.
type Options struct {
	// Log hears what went wrong in the background. Default: nothing is logged.
	Log *slog.Logger
	// Clock stamps events and measures turns. Default time.Now.
	Clock func() time.Time
	// Record takes what happened, in order, after it is durable. From the loop: it
	// must be quick, and must not call the Lander.
	Record func([]Event)
	// Past are the events recorded before; counters, blocks and splits come of them.
	Past iter.Seq[Event]
	// Found is told of a file that is in too many agents' way, and may return the
	// block that closes it at once. From the loop, as Record.
	Found func(Finding) *Block
	// Gate is changed as blocks come and go; give the store's Options.Gate its Allow.
	Gate *Gate
	// Batch is the most landings of one batch. Default 256.
	Batch int
	// Files is the most files of one landing. Default 200,000.
	Files int
	// Limits of merging a text. Default: 16 MiB, and work of a tenth of a second or so.
	Limits merge.Limits
	// Git is the program; default "git". GitTimeout bounds one merge; default 1 min.
	Git        string
	GitTimeout time.Duration

	Turns   TurnPolicy
	Hot     HotPolicy
	Breaker BreakerPolicy
}

func (o *Options) fill() {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Record == nil {
		o.Record = func([]Event) {}
	}
	if o.Past == nil {
		o.Past = func(func(Event) bool) {}
	}
	if o.Found == nil {
		o.Found = func(Finding) *Block { return nil }
	}
	if o.Gate == nil {
		o.Gate = new(Gate)
	}
	setDefault(&o.Batch, 256)
	setDefault(&o.Files, 200_000)
	setDefault(&o.Limits.Bytes, 16<<20)
	setDefault(&o.Limits.Steps, 1<<26)
	setDefault(&o.Git, "git")
	setDefault(&o.GitTimeout, time.Minute)
}

// A Lander is a landing job. What is below the line belongs to the loop.
type Lander struct {
	repo   *vcs.Repository
	opt    Options
	past   *ancestry
	inbox  chan *work
	calls  chan func()
	merged chan *gitDone
	stop   chan struct{}
	done   chan struct{}
	once   sync.Once

	main    object.ID
	tree    object.ID
	held    []*work // waiting for a turn, or for a block to end, in their order
	queue   []*work // waiting for git
	gitBusy bool
	git     *gitMerger
	turns   *Turns
	hot     *Hot
	breaker *Breaker
	splits  map[string]splitPlace
	last    map[string]Side // who landed a path last
	open    map[string]*Conflict
	order   []string // of open conflicts, and some that are settled, oldest first
	totals  Totals
}

// Totals are counts since the start.
type Totals struct {
	Landed    map[Tier]int64
	Conflicts int64
	Resolved  int64
	Waited    int64 // landings that had to wait for a turn, each counted once a try
	Batches   int64
	GitMerges int64
}

// New starts the landing job of a repository, which must have a main. Close ends it.
func New(ctx context.Context, repo *vcs.Repository, opt Options) (*Lander, error) {
	opt.fill()
	main, ok := repo.Ref(repo.Main())
	if !ok {
		return nil, fmt.Errorf("start the landing job: there is no %s: import or make it first", repo.Main())
	}
	past, err := loadAncestry(ctx, repo, main)
	if err != nil {
		return nil, fmt.Errorf("start the landing job: %w", err)
	}
	l := &Lander{
		repo: repo, opt: opt, past: past,
		inbox: make(chan *work, opt.Batch), calls: make(chan func()), merged: make(chan *gitDone, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
		turns: NewTurns(opt.Turns), hot: NewHot(opt.Hot), breaker: NewBreaker(opt.Breaker),
		splits: map[string]splitPlace{}, last: map[string]Side{}, open: map[string]*Conflict{},
		totals: Totals{Landed: map[Tier]int64{}},
	}
	l.main = main
	if l.tree, err = repo.TreeAt(ctx, main); err != nil {
		return nil, fmt.Errorf("start the landing job: %w", err)
	}
	for e := range opt.Past {
		l.apply(e)
	}
	l.opt.Gate.set(l.hot.Blocked())
	if l.git, err = newGitMerger(repo.Dir(), opt.Git, opt.GitTimeout); err != nil {
		return nil, fmt.Errorf("start the landing job: %w", err)
	}
	go l.run()
	return l, nil
}

// Close ends the job. Landings that wait get ErrClosed.
func (l *Lander) Close() error {
	l.once.Do(func() { close(l.stop) })
	<-l.done
	return nil
}

// Land asks for a landing and waits for it. The errors that a caller branches on
// are in error.go; others are the store's, and the landing may be asked for again.
func (l *Lander) Land(ctx context.Context, q Request) (Landed, error) {
	out, err := l.land(ctx, q)
	if err != nil {
		return Landed{}, fmt.Errorf("land %s of agent %s: %w", q.Commit.Short(), q.Agent, err)
	}
	return out, nil
}

func (l *Lander) land(ctx context.Context, q Request) (Landed, error) {
	w, err := l.prepare(ctx, q)
	if err != nil {
		return Landed{}, err
	}
	select {
	case l.inbox <- w:
	case <-ctx.Done():
		return Landed{}, ctx.Err()
	case <-l.done:
		return Landed{}, ErrClosed
	}
	select {
	case a := <-w.answer:
		return a.landed, a.err
	case <-ctx.Done(): // it may still land; who asks again is told that main has it
		return Landed{}, ctx.Err()
	case <-l.done:
		select {
		case a := <-w.answer:
			return a.landed, a.err
		default:
			return Landed{}, ErrClosed
		}
	}
}

// call has the loop run something.
func (l *Lander) call(ctx context.Context, f func()) error {
	ran := make(chan struct{})
	select {
	case l.calls <- func() { f(); close(ran) }:
		<-ran
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.done:
		return ErrClosed
	}
}

// Report notes that an agent finds a file to be in the way.
func (l *Lander) Report(ctx context.Context, r FileReport) error {
	return l.call(ctx, func() { l.happened(Event{Report: &r}) })
}

// Block closes a path to all but the splitter, until it is split or opened.
func (l *Lander) Block(ctx context.Context, b Block) error {
	if b.Path == "" || b.Task == "" {
		return fmt.Errorf("block %q: %w: both path and task are needed", b.Path, ErrInvalid)
	}
	return l.call(ctx, func() { l.happened(Event{Block: &b}) })
}

// Unblock opens a path without a split.
func (l *Lander) Unblock(ctx context.Context, path string) error {
	return l.call(ctx, func() { l.happened(Event{Unblock: &Unblock{path}}) })
}

// Findings are the files that are in too many agents' way now, and not blocked.
func (l *Lander) Findings(ctx context.Context) (out []Finding, err error) {
	err = l.call(ctx, func() { out = l.hot.Findings() })
	return out, err
}

// Resume goes on after landing stopped itself.
func (l *Lander) Resume(ctx context.Context) error {
	return l.call(ctx, func() {
		if l.breaker.Tripped() {
			l.happened(Event{Resumed: true})
		}
	})
}

// State is what the landing job looks like now.
type State struct {
	Main    object.ID
	Waiting int // for a turn, for a split, for git
	Stopped bool
	Blocked map[string]Block
	Open    []Conflict // not settled yet, of this process
	Top     []PathStats
	Minutes []Minute
	Totals  Totals
}

// State returns it, with the busiest top files.
func (l *Lander) State(ctx context.Context, top int) (s State, err error) {
	err = l.call(ctx, func() {
		s = State{
			Main: l.main, Waiting: len(l.held) + len(l.queue), Stopped: l.breaker.Tripped(),
			Blocked: l.hot.Blocked(), Top: l.hot.Top(top), Minutes: l.breaker.Curve(), Totals: l.totals,
		}
		s.Totals.Landed = map[Tier]int64{}
		for t, n := range l.totals.Landed {
			s.Totals.Landed[t] = n
		}
		for _, c := range l.open {
			s.Open = append(s.Open, *c)
		}
	})
	return s, err
}
