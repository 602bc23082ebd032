package llm

import (
	"cmp"
	"fmt"
	"time"

	"dure/gguf"
	"dure/inference"
	"dure/inference/engine"
	"dure/inference/prefix"
	"dure/inference/quiet"
	"dure/inference/sched"
)

// Config shapes how a loaded model is served. Derive fills what is left zero.
type Config struct {
	// Name the model is listed under.
	Name string
	// Device names where the weights are, for Info.
	Device string
	// Context is the largest prompt plus completion of one request, in tokens.
	Context int
	// Sequences decode at once; Queue more may wait.
	Sequences, Queue int
	// Threads computing on the CPU; Poll how eagerly idle ones spin, 0..100.
	Threads, Poll  int
	FlashAttention engine.FlashAttention
	// KeyType and ValueType store the KV cache, as in engine.ContextOptions.
	KeyType, ValueType string
	// Unified shares one pool of cells between the sequences. The context then
	// has one sequence more, which belongs to no request.
	Unified bool
	// ShortWindow and Yarn are as in engine.ContextOptions. With Yarn the context
	// may be Yarn.Factor times the trained one.
	ShortWindow bool
	Yarn        engine.Yarn
	// MicroBatch is the tokens computed at once; 0 is as many as a step reads of a
	// prompt.
	MicroBatch int
	// Speculation guesses coming tokens; Outputs is how many rows with logits a step
	// may have at least: what the running sequences leave of them is for guesses.
	// 0 is as many as guesses have use for.
	// GuessDepth, where it is not 0, has so many guesses checked for each sequence in
	// each step, whether that pays or not.
	Speculation         Speculation
	Outputs, GuessDepth int
	// Rollback is how many guesses a sequence of a model with recurrent layers can take
	// back, for the memory of as many states; 0 is none, and then none are made for it.
	Rollback int
	// MTP is how many tokens the model's own layers for further tokens guess at most; 0
	// is none, and then they need not be loaded. It takes a Rollback of as many.
	MTP int
	// Draft, when set, is a smaller model of the same vocabulary, loaded beside, that
	// guesses coming tokens too. It stays the caller's to close, after the LLM.
	Draft *engine.Model `json:"-"`
	// Planned says that the memory was planned for exactly this: Derive then
	// changes nothing and checks no memory.
	Planned bool
	// Rerender renders past answers of a conversation anew with each turn, as the
	// template has them, instead of letting them re-enter as they were sampled.
	Rerender bool
	// ReentryBytes is how much memory holds the tokens of past conversations;
	// 0 is 64 MiB.
	ReentryBytes int
	// Gap is how long running answers may stand still while a prompt is read; 0 is
	// three steps, but at least what wideChunk takes.
	Gap time.Duration
	// Costs were measured of this model, loaded like this, before: the scheduler
	// begins with them, and forgets them as it sees its own. Empty is none.
	Costs Costs
	// CacheRAM is the memory, in bytes, for states of sequences that wait outside
	// of the context; 0 is none.
	CacheRAM int64
	// CacheDisk is where they outlive the process.
	CacheDisk prefix.Disk
	// Geometry of the model's file, from which the form of such states follows.
	Geometry *gguf.Geometry `json:"-"`
	// Quiet is what is different in quiet hours, by Clock, which is the machine's where
	// it is nil.
	Quiet quiet.Rule
	Clock func() time.Time `json:"-"`
	// Warnings are given with every answer: what is wrong with the model as it was
	// loaded.
	Warnings []inference.Warning
	// Defaults of the sampling parameters, for callers that build requests.
	Defaults inference.Params
	// Tap, when set, sees every row of logits before it is sampled, on the
	// owner's goroutine: tests compare rows through it.
	Tap func(requestID string, position int, logits []float32) `json:"-"`
	// Turns, when set, are taken on the device for each engine call.
	Turns Turns `json:"-"`
}

// Costs are what steps and pieces of prompts took, see sched.Scheduler.Seed.
type (
	Costs     = sched.Costs
	StepCost  = sched.StepCost
	ChunkCost = sched.ChunkCost
)

// Turns are taken where other processes compute on the same device. One goroutine
// calls it, the owner.
type Turns interface {
	// Take waits until the device may be used, for a piece of a prompt or for the
	// next tokens of running answers. A Give follows.
	Take(prompt bool)
	Give()
	// Slice is how long a piece of a prompt should take at most; 0 = as long as it
	// may, since nobody else is on the device.
	Slice() time.Duration
}

// What Derive chooses where the configuration is silent.
const (
	defaultSequences = 8
	defaultQueue     = 64
	// maxDefaultContext bounds the context that is chosen without being asked
	// for: long contexts cost memory that a first try should not take.
	maxDefaultContext = 8192
	minContext        = 256
	// A step's batch: a prompt chunk, or a row for each sequence. 512 is where
	// prefill on CPUs stops getting faster.
	batchTokens = 512
	// From wideChunk rows on the engine's flash attention on CPUs takes another path,
	// and 63 take twice the time of 64: so much of a prompt is read even if running
	// streams then stand still longer than they should.
	wideChunk = 64
	// outboxItems may wait for a slow reader before its sequence pauses; each is
	// the tokens of a beat, in most cases one.
	outboxItems = 128
)

// Derive fills the fields that are zero from what the model and the machine
// are, within freeBytes of memory for KV cache, and says what was chosen.
// It refuses what cannot fit instead of shrinking what was asked for.
func Derive(cfg Config, f engine.Facts, freeBytes uint64) (Config, []string, error) {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	askedContext, askedSequences := cfg.Context > 0, cfg.Sequences > 0
	if !askedContext {
		cfg.Context = max(min(f.TrainContext, maxDefaultContext), minContext)
		note("context %d tokens a request (the model was trained for %d)", cfg.Context, f.TrainContext)
	}
	if !askedSequences {
		cfg.Sequences = defaultSequences
	}
	if cfg.Queue == 0 {
		cfg.Queue = defaultQueue
	}
	if most := f.TrainContext * max(1, cfg.Yarn.Factor); f.TrainContext > 0 && cfg.Context > most {
		return cfg, nil, fmt.Errorf("context %d is larger than the %d tokens the model takes; ask for at most that", cfg.Context, most)
	}
	if why, err := cfg.speculate(f); err != nil {
		return cfg, nil, err
	} else if why != "" {
		note("%s", why)
	}
	if cfg.Planned {
		return cfg, notes, nil
	}
	perToken := KVBytesPerToken(f)
	need := func() uint64 { return perToken * uint64(cfg.Context) * uint64(cfg.Sequences) }
	for !askedSequences && cfg.Sequences > 1 && need() > freeBytes {
		cfg.Sequences /= 2
	}
	for !askedContext && cfg.Context > 2*minContext && need() > freeBytes {
		cfg.Context /= 2
	}
	if need() > freeBytes {
		return cfg, nil, fmt.Errorf("KV cache of %d sequences x %d tokens needs %d MiB, %d MiB are free; ask for a smaller context or fewer sequences",
			cfg.Sequences, cfg.Context, need()>>20, freeBytes>>20)
	}
	note("%d sequences x %d tokens, KV cache at most %d MiB of the %d MiB it may take", cfg.Sequences, cfg.Context, need()>>20, freeBytes>>20)
	return cfg, notes, nil
}

// KVBytesPerToken is an upper bound, in f16: it counts every layer as one with
// a KV cache, which hybrid and sliding-window models undercut.
func KVBytesPerToken(f engine.Facts) uint64 {
	if f.Heads == 0 {
		return 0
	}
	headDim := f.Embedding / f.Heads
	const kAndV, f16 = 2, 2
	return uint64(f.Layers * f.HeadsKV * headDim * kAndV * f16)
}

// MostMicroBatch is the largest micro batch that is ever filled: what a step reads
// of a prompt.
const MostMicroBatch = batchTokens

func (c Config) contextOptions() engine.ContextOptions {
	sequences := c.Sequences + prefix.Spares(c.Unified)
	batch := max(batchTokens, c.MicroBatch, sequences, c.Outputs)
	return engine.ContextOptions{
		Cells:          c.Context * c.Sequences,
		Sequences:      sequences,
		Batch:          batch,
		MicroBatch:     max(cmp.Or(c.MicroBatch, batch), sequences),
		Outputs:        max(sequences, c.Outputs),
		Threads:        c.Threads,
		Poll:           c.Poll,
		FlashAttention: c.FlashAttention,
		KeyType:        c.KeyType,
		ValueType:      c.ValueType,
		Unified:        c.Unified,
		ShortWindow:    c.ShortWindow,
		Yarn:           c.Yarn,
		Rollback:       c.Rollback,
	}
}
