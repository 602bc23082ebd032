package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// ProbeOptions say what Probe lays out.
type ProbeOptions struct {
	Path      string
	GPULayers int // as in LoadOptions
	Context   ContextOptions
	// MTP loads the blocks that predict further tokens, Rollback is how many
	// tokens of recurrent state can be rolled back, Draft lays out the context
	// of those blocks instead of the main one.
	MTP      bool
	Rollback int
	Draft    bool
	// NoRepack keeps weights as they are in the file: a CPU may want a second
	// copy of them in a layout of its own.
	NoRepack bool
	// Load really allocates, to check what was laid out. Without it nothing is
	// allocated but recurrent state, and no weight is read.
	Load bool
}

// Layout is the memory that a model and context take, by buffer type.
type Layout struct {
	Breakdown
	// Cells of the whole pool and of one sequence, as the engine rounded them.
	Cells, SequenceCells int
	// KV, Recurrent and Output are what the engine logs as buffer sizes, by
	// buffer type, rounded by it to 10 KiB: the breakdown has the first two only
	// as a sum, and the third not at all.
	KV, Recurrent, Output map[string]uint64
}

// Probe lays out a model and a context as they would be allocated, and returns
// the sizes. It is for a process of its own, before any weights are there: the
// engine allocates recurrent state even then, and what it dislikes may abort
// the process. The calling goroutine is locked to its thread meanwhile.
func (l *Library) Probe(opt ProbeOptions) (_ Layout, err error) {
	fail := func(err error) error { return fmt.Errorf("%w: probe %s: %w", ErrLoad, opt.Path, err) }
	if err := checkModelFile(opt.Path); err != nil {
		return Layout{}, fail(err)
	}
	params, err := opt.params()
	if err != nil {
		return Layout{}, fail(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	lines := newSizes()
	defer l.log.copyTo(lines)()
	l.log.takeProblems()
	load := opt.modelParams()
	if amx, err := l.packsAMX(); err != nil {
		return Layout{}, fail(err)
	} else if amx && !opt.NoRepack {
		defer choosePacking(opt.Path, l.onCard(opt.GPULayers)).apply(&load)()
	}
	model, err := llama.ModelLoadFromFile(opt.Path, load)
	if err != nil || model == 0 {
		return Layout{}, fail(errors.New(l.log.takeProblems()))
	}
	defer func() { err = errors.Join(err, llama.ModelFree(model)) }()
	ctx, err := llama.InitFromModel(model, params)
	if err != nil {
		return Layout{}, fail(errors.New(l.log.takeProblems()))
	}
	defer func() { err = errors.Join(err, llama.Free(ctx)) }()
	b, err := breakdown(l.dir, uintptr(ctx))
	if err != nil {
		return Layout{}, fail(err)
	}
	return Layout{
		Breakdown: b, Cells: int(llama.NCtx(ctx)), SequenceCells: int(llama.NCtxSeq(ctx)),
		KV: lines.kv, Recurrent: lines.recurrent, Output: lines.output,
	}, nil
}

func (o ProbeOptions) params() (llama.ContextParams, error) {
	if err := o.Context.validate(); err != nil {
		return llama.ContextParams{}, fmt.Errorf("context options: %w", err)
	}
	if o.Rollback < 0 || o.Rollback > 64 {
		return llama.ContextParams{}, fmt.Errorf("rollback = %d, must be 0..64", o.Rollback)
	}
	p, err := o.Context.c()
	p.NRsSeq = max(p.NRsSeq, uint32(o.Rollback))
	if o.Draft {
		p.CtxType = llama.ContextTypeMTP
	}
	return p, err
}

func (o ProbeOptions) modelParams() llama.ModelParams {
	p := llama.ModelDefaultParams()
	p.NGpuLayers = int32(o.GPULayers)
	p.LoadMTP = boolByte(o.MTP)
	p.UseExtraBufts = boolByte(!o.NoRepack)
	if !o.Load {
		p.NoAlloc = 1
		p.LoadMode = llama.LoadModeNone // a mapped file would be an allocation
	}
	return p
}

// sizes collects the buffer sizes that the engine tells in its log only.
type sizes struct {
	mu                    sync.Mutex
	kv, recurrent, output map[string]uint64
}

func newSizes() *sizes {
	return &sizes{kv: map[string]uint64{}, recurrent: map[string]uint64{}, output: map[string]uint64{}}
}

// line reads "function: NAME  KV buffer size = 12.34 MiB".
func (s *sizes) line(text string) {
	head, value, ok := strings.Cut(text, " buffer size = ")
	if !ok {
		return
	}
	_, head, _ = strings.Cut(head, ": ")
	number, _, _ := strings.Cut(strings.TrimSpace(value), " MiB")
	mib, err := strconv.ParseFloat(number, 64)
	fields := strings.Fields(head)
	if err != nil || len(fields) != 2 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if into := map[string]map[string]uint64{"KV": s.kv, "RS": s.recurrent, "output": s.output}[fields[1]]; into != nil {
		into[fields[0]] += uint64(mib * (1 << 20))
	}
}

// copyTo hands every line of the log to s too, until the function returned is
// called.
func (l *engineLog) copyTo(s *sizes) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.log
	l.log = slog.New(copyHandler{before.Handler(), s})
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.log = before
	}
}
