package engine

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/hybridgroup/yzma/pkg/llama"
	"golang.org/x/sys/unix"
)

// FlashAttention selects the attention kernel.
type FlashAttention string

const (
	FlashAuto FlashAttention = "auto" // where the device supports it
	FlashOn   FlashAttention = "on"
	FlashOff  FlashAttention = "off"
)

// ContextOptions shape a context. All counts are checked by NewContext.
type ContextOptions struct {
	// Cells is the size of the KV cache in tokens over all sequences. Without
	// Unified each sequence owns Cells/Sequences of them.
	Cells int
	// Sequences that may exist at once, at most 256.
	Sequences int
	// Batch is the most tokens in one Decode, MicroBatch the most computed at
	// once; Outputs the most rows with logits in one Decode.
	Batch, MicroBatch, Outputs int
	// Threads computing on the CPU.
	Threads int
	// Poll is how eagerly idle compute threads spin, 0 (sleep) to 100.
	Poll           int
	FlashAttention FlashAttention
	// Unified shares one pool of cells between all sequences.
	Unified bool
	// ShortWindow keeps only the window in layers with a sliding one. Without it
	// they keep all tokens, the engine's default, so that a sequence can go back.
	ShortWindow bool
	// Yarn stretches the model's positions; the zero value takes them as the file
	// has them.
	Yarn Yarn
	// Rollback is how many tokens of a sequence of a model with recurrent layers
	// Remove can take back after a Decode: a copy of its state for each. 0 for other
	// models, which can go back anywhere.
	Rollback int
	// KeyType and ValueType store the KV cache: "f16" (as does the empty string)
	// or one of the names in cacheTypes. Quantised values need flash attention.
	KeyType, ValueType string
}

// Yarn is a context longer than the trained one: rotary positions stretched by
// Factor, from a window of Original tokens. Short prompts are answered otherwise,
// too. Cells of a stretched context are of no use in another one.
type Yarn struct {
	// Factor is at least 1; 0 is no stretching, and Original then 0.
	Factor   int `json:"factor"`
	Original int `json:"original"`
}

// mostYarn is beyond what makers of models describe.
const mostYarn = 64

func (y Yarn) validate() error {
	if y == (Yarn{}) {
		return nil
	}
	if y.Factor < 1 || y.Factor > mostYarn || y.Original < 1 {
		return fmt.Errorf("YaRN %d times from %d tokens, must be 1..%d times from the trained context", y.Factor, y.Original, mostYarn)
	}
	return nil
}

// mostRollback is beyond what guesses have use for.
const mostRollback = 64

// maxSequences is LLAMA_MAX_SEQ of the pinned release.
const maxSequences = 256

func (o ContextOptions) validate() error {
	switch {
	case o.Sequences < 1 || o.Sequences > maxSequences:
		return fmt.Errorf("sequences = %d, must be 1..%d", o.Sequences, maxSequences)
	case o.Cells < o.Sequences:
		return fmt.Errorf("cells = %d for %d sequences", o.Cells, o.Sequences)
	case o.MicroBatch < 1 || o.MicroBatch > o.Batch:
		return fmt.Errorf("micro batch = %d, must be 1..batch (%d)", o.MicroBatch, o.Batch)
	case o.Outputs < o.Sequences || o.Outputs > o.Batch:
		// Fewer outputs than sequences abort the process at the first full step.
		return fmt.Errorf("outputs = %d, must be sequences (%d)..batch (%d)", o.Outputs, o.Sequences, o.Batch)
	case o.Threads < 1 || o.Threads > 512:
		return fmt.Errorf("threads = %d, must be 1..512", o.Threads)
	case o.Rollback < 0 || o.Rollback > mostRollback:
		return fmt.Errorf("rollback = %d, must be 0..%d", o.Rollback, mostRollback)
	case o.Rollback > 0 && o.MicroBatch < o.Rollback+2:
		// What is taken back must have been computed at once; less aborts the process.
		return fmt.Errorf("micro batch = %d, must be at least %d to take %d tokens back", o.MicroBatch, o.Rollback+2, o.Rollback)
	case o.Poll < 0 || o.Poll > 100:
		return fmt.Errorf("poll = %d, must be 0..100", o.Poll)
	}
	if err := o.Yarn.validate(); err != nil {
		return err
	}
	return o.validateCache()
}

func (f FlashAttention) c() (llama.FlashAttentionType, error) {
	switch f {
	case FlashAuto, "":
		return llama.FlashAttentionTypeAuto, nil
	case FlashOn:
		return llama.FlashAttentionTypeEnabled, nil
	case FlashOff:
		return llama.FlashAttentionTypeDisabled, nil
	}
	return 0, fmt.Errorf("flash attention %q, must be auto, on or off", f)
}

// c is the options as the engine takes them.
func (o ContextOptions) c() (llama.ContextParams, error) {
	flash, err := o.FlashAttention.c()
	if err != nil {
		return llama.ContextParams{}, err
	}
	p := llama.ContextDefaultParams()
	p.NCtx = uint32(o.Cells)
	p.NBatch = uint32(o.Batch)
	p.NUbatch = uint32(o.MicroBatch)
	p.NSeqMax = uint32(o.Sequences)
	p.NOutputsMax = uint32(o.Outputs)
	p.NThreads, p.NThreadsBatch = int32(o.Threads), int32(o.Threads)
	p.FlashAttentionType = flash
	p.KVUnified = boolByte(o.Unified)
	p.SwaFull = boolByte(!o.ShortWindow)
	if o.Yarn.Factor > 0 {
		p.RopeScalingType = llama.RopeScalingTypeYARN
		p.RopeFreqScale = 1 / float32(o.Yarn.Factor)
		p.YarnOrigCtx = uint32(o.Yarn.Original)
	}
	p.NRsSeq = uint32(o.Rollback)
	p.NoPerf = 1
	p.TypeK, p.TypeV = cacheTypes[o.KeyType], cacheTypes[o.ValueType]
	return p, nil
}

// Context holds the sequences of one model. It belongs to one goroutine that is
// locked to its thread, which computes with the engine's own.
type Context struct {
	model  *Model
	opt    ContextOptions
	handle llama.Context
	memory llama.Memory
	pool   llama.Threadpool
	// lent: the pool is another context's.
	lent bool
	// history of each sequence; nil without Rollback.
	history []history
	// hidden rows are kept; nil where they are not.
	hidden *hidden
	// rows of the last Decode that have logits, by batch index.
	outputs []bool
	cpu     time.Duration
	// threads that compute: the owner's and those of the pool.
	threads []int
}

// NewContext allocates the KV cache and compute buffers.
func (m *Model) NewContext(opt ContextOptions) (*Context, error) {
	return m.newContext(opt, nil, llama.ContextTypeDefault)
}

// NewContextBeside makes a context that computes with the threads of another one,
// which must belong to the same goroutine and outlive it: the threads of two pools
// that wait for work would take the cores from each other. Threads and Poll are
// the other's.
func (m *Model) NewContextBeside(other *Context, opt ContextOptions) (*Context, error) {
	opt.Threads, opt.Poll = other.opt.Threads, other.opt.Poll
	return m.newContext(opt, other, llama.ContextTypeDefault)
}

func (m *Model) newContext(opt ContextOptions, beside *Context, kind llama.ContextType) (*Context, error) {
	if err := opt.validate(); err != nil {
		return nil, fmt.Errorf("%w: context options: %w", ErrLoad, err)
	}
	p, err := opt.c()
	if err != nil {
		return nil, fmt.Errorf("%w: context options: %w", ErrLoad, err)
	}
	p.CtxType = kind
	m.lib.log.takeProblems()
	handle, err := llama.InitFromModel(m.handle, p)
	if err != nil {
		return nil, fmt.Errorf("%w: make a context of %d cells, %d sequences: %s", ErrLoad, opt.Cells, opt.Sequences, m.lib.log.takeProblems())
	}
	c := &Context{model: m, opt: opt, handle: handle, outputs: make([]bool, opt.Batch)}
	if err := c.checkRollback(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if c.memory, err = llama.GetMemory(handle); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: context memory: %w", ErrLoad, err), c.Close())
	}
	if beside != nil {
		c.borrowThreads(beside)
	} else if err := c.attachThreads(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: compute threads: %w", ErrLoad, err), c.Close())
	}
	return c, nil
}

func (c *Context) borrowThreads(from *Context) {
	if c.pool = from.pool; c.pool != 0 {
		c.lent = true
		llama.AttachThreadpool(c.handle, uintptr(c.pool), uintptr(c.pool))
	}
	// What they wait is the other's to tell.
}

// attachThreads keeps the compute threads between steps. Without a pool, builds
// that have no OpenMP start fresh threads for every decode. They are named, so
// that they can be told from those of the Go runtime.
func (c *Context) attachThreads() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer nameThread(threadName())
	nameThread(ComputeThread)
	c.threads = []int{unix.Gettid()}
	others := computeThreads()
	params := llama.ThreadpoolParamsDefault(int32(c.opt.Threads))
	params.Poll = uint32(c.opt.Poll)
	pool, err := llama.ThreadpoolNew(&params)
	if errors.Is(err, llama.ErrNoThreadpool) {
		return nil // an OpenMP build keeps its threads by itself
	}
	if err != nil {
		return err
	}
	c.pool = pool
	for id := range computeThreads() {
		if !others[id] && id != c.threads[0] {
			c.threads = append(c.threads, id)
		}
	}
	llama.AttachThreadpool(c.handle, uintptr(pool), uintptr(pool))
	return nil
}

// CPUTime is how long the owner's thread has computed inside Decode so far; the
// engine's own threads are not in it.
func (c *Context) CPUTime() time.Duration { return c.cpu }

// Waited is how long the context's threads, together, have waited for a core so
// far: what other programs took from them.
func (c *Context) Waited() (sum time.Duration) {
	for _, id := range c.threads {
		sum += runDelay(id)
	}
	return sum
}

// SetThreads lets n of the context's threads compute from now on, 1..Threads.
func (c *Context) SetThreads(n int) error {
	if n < 1 || n > c.opt.Threads {
		return fmt.Errorf("threads = %d, must be 1..%d", n, c.opt.Threads)
	}
	llama.SetNThreads(c.handle, int32(n), int32(n))
	return nil
}

// Options the context was made with.
func (c *Context) Options() ContextOptions { return c.opt }

// SequenceContext is the largest number of tokens one sequence can hold, as the
// engine rounded it.
func (c *Context) SequenceContext() int { return int(llama.NCtxSeq(c.handle)) }

// Close frees the context.
func (c *Context) Close() error {
	if c.handle == 0 {
		return nil
	}
	if c.pool != 0 {
		llama.DetachThreadpool(c.handle)
		if !c.lent {
			llama.ThreadpoolFree(c.pool)
		}
		c.pool = 0
	}
	err := llama.Free(c.handle)
	c.handle = 0
	return err
}

func boolByte(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
