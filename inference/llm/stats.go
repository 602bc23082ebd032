package llm

import (
	"sync/atomic"
	"time"

	"dure/inference/prefix"
)

// Stats are counters since the model was loaded, and gauges of now.
type Stats struct {
	// Steps counts engine calls, of which PromptTokens were read and
	// DecodedTokens decoded.
	Steps         uint64 `json:"steps"`
	PromptTokens  uint64 `json:"prompt_tokens"`
	DecodedTokens uint64 `json:"decoded_tokens"`
	// Of guesses of coming tokens, Drafted were checked beside DecodedTokens, and
	// Accepted of them, which are among those, were right.
	DraftedTokens  uint64 `json:"drafted_tokens"`
	AcceptedTokens uint64 `json:"accepted_tokens"`
	// PrefillSeconds and DecodeSeconds were spent inside the engine.
	PrefillSeconds float64 `json:"prefill_seconds"`
	DecodeSeconds  float64 `json:"decode_seconds"`
	// OverheadSeconds the owner spent between engine calls while there was
	// work: sampling, scheduling, handing out tokens.
	OverheadSeconds float64 `json:"overhead_seconds"`
	// EngineCPUSeconds the owner's thread computed inside the engine.
	EngineCPUSeconds float64 `json:"engine_cpu_seconds"`
	// Rejected requests found the queue full.
	Rejected uint64 `json:"rejected"`
	// Cancelled requests by what they were doing.
	CancelledQueued  uint64 `json:"cancelled_queued"`
	CancelledPrefill uint64 `json:"cancelled_prefill"`
	CancelledDecode  uint64 `json:"cancelled_decode"`
	// MaxCancelSteps is the most engine calls that began between a cancel and
	// its effect. It is at most 1 by design.
	MaxCancelSteps uint64 `json:"max_cancel_steps"`
	// Stalls counts pauses for slow readers.
	Stalls uint64 `json:"stalls"`
	// Parked counts running requests that gave their place to others for a while.
	Parked uint64 `json:"parked"`
	// Cache is the prefix cache, Reentry how past answers came back into prompts.
	Cache   prefix.Stats `json:"cache"`
	Reentry Reentry      `json:"reentry"`

	// Threads that compute now: fewer than configured while other programs use
	// the cores.
	Threads int `json:"threads"`

	// Memory that the engine holds, as measured after the load.
	Memory []Memory `json:"memory"`

	Waiting    int `json:"waiting"`
	Prefilling int `json:"prefilling"`
	Decoding   int `json:"decoding"`
	Blocked    int `json:"blocked"`
}

// counters are written by the owner and read by anyone.
type counters struct {
	steps, promptTokens, decodedTokens         atomic.Uint64
	prefillNS, decodeNS, overheadNS, engineCPU atomic.Int64
	rejected, stalls, parked                   atomic.Uint64
	cancelQueued, cancelPrefill                atomic.Uint64
	cancelDecode, maxCancelSteps               atomic.Uint64
	heldNS                                     atomic.Int64 // moving mean
	drafted, accepted                          atomic.Uint64
	threads                                    atomic.Int64
	cache                                      atomic.Pointer[prefix.Stats]
	waiting, prefilling, decoding, slow        atomic.Int64
}

// publish tells how many requests are where.
func (o *owner) publish() {
	c, n := &o.l.stats, o.sched.Counts(o.now())
	c.waiting.Store(int64(n.Waiting))
	c.prefilling.Store(int64(n.Prefilling))
	c.decoding.Store(int64(n.Decoding))
	c.slow.Store(int64(n.Blocked))
}

func (c *counters) decoded(d time.Duration) { c.decodeNS.Add(int64(d)) }

// checked records what one row of a step brought: a token, and those of its guesses
// that were right.
func (c *counters) checked(drafted, accepted int) {
	c.decodedTokens.Add(uint64(1 + accepted))
	c.drafted.Add(uint64(drafted))
	c.accepted.Add(uint64(accepted))
}

func (c *counters) prefilled(tokens int, d time.Duration) {
	c.promptTokens.Add(uint64(tokens))
	c.prefillNS.Add(int64(d))
}

// held records how long a request had its sequence.
func (c *counters) held(d time.Duration) {
	const weight = 8 // of the past against the newest
	old := c.heldNS.Load()
	if old == 0 {
		c.heldNS.Store(int64(d))
		return
	}
	c.heldNS.Store(old + (int64(d)-old)/weight)
}

func (c *counters) meanHeld() time.Duration { return time.Duration(c.heldNS.Load()) }

func (c *counters) cancelled(r *request) {
	switch {
	case r.placed.IsZero():
		c.cancelQueued.Add(1)
	case r.first.IsZero():
		c.cancelPrefill.Add(1)
	default:
		c.cancelDecode.Add(1)
	}
	waited := c.steps.Load() - r.cancelStep.Load()
	if waited > c.maxCancelSteps.Load() {
		c.maxCancelSteps.Store(waited)
	}
}

// Memory is what the engine holds of one kind of memory, in bytes, as measured
// after the load.
type Memory struct {
	// Buffer is the engine's name of it ("CPU_Mapped", "CUDA0"), Device the
	// device that it belongs to.
	Buffer string `json:"buffer"`
	Device string `json:"device"`
	// Part is empty for the model, PartMTP for what its layers for further tokens
	// have beside their weights.
	Part string `json:"part,omitempty"`
	// Weights; Cache is KV cells and recurrent state; Compute is scratch space.
	Weights uint64 `json:"weights"`
	Cache   uint64 `json:"cache"`
	Compute uint64 `json:"compute"`
}

// PartMTP is Memory.Part of the layers for further tokens.
const PartMTP = "mtp"

// measure asks the engine what it holds. Libraries that do not tell are no
// reason not to serve.
func (o *owner) measure() []Memory {
	b, err := o.ctx.Breakdown()
	if err != nil {
		o.l.log.Warn("memory after the load is not known", "error", err)
		return nil
	}
	all, err := o.memoryOfHeads()
	if err != nil {
		o.l.log.Warn("memory after the load is not known", "error", err)
		return nil
	}
	for _, x := range b.Buffers {
		all = append(all, Memory{Buffer: x.Name, Device: x.Device, Weights: x.Weights, Cache: x.Cache, Compute: x.Compute})
	}
	return all
}

// Stats reads the counters.
func (l *LLM) Stats() Stats {
	c := &l.stats
	return Stats{
		Steps: c.steps.Load(), PromptTokens: c.promptTokens.Load(), DecodedTokens: c.decodedTokens.Load(),
		AcceptedTokens: c.accepted.Load(), DraftedTokens: c.drafted.Load(), // in this order: never more accepted than drafted
		PrefillSeconds:   time.Duration(c.prefillNS.Load()).Seconds(),
		DecodeSeconds:    time.Duration(c.decodeNS.Load()).Seconds(),
		OverheadSeconds:  time.Duration(c.overheadNS.Load()).Seconds(),
		EngineCPUSeconds: time.Duration(c.engineCPU.Load()).Seconds(),
		Rejected:         c.rejected.Load(),
		CancelledQueued:  c.cancelQueued.Load(), CancelledPrefill: c.cancelPrefill.Load(),
		CancelledDecode: c.cancelDecode.Load(), MaxCancelSteps: c.maxCancelSteps.Load(),
		Stalls: c.stalls.Load(), Parked: c.parked.Load(),
		Cache: l.cacheStats(), Reentry: l.Reentry(),
		Memory:  l.memory,
		Threads: int(c.threads.Load()),
		Waiting: int(c.waiting.Load()), Prefilling: int(c.prefilling.Load()),
		Decoding: int(c.decoding.Load()), Blocked: int(c.slow.Load()),
	}
}

// cachePeriod is how often the counters of the cache are published while there
// is work: they cost a walk over all objects.
const cachePeriod = time.Second

func (o *owner) publishCache() {
	o.told = time.Now()
	o.cache.Reprice()
	s := o.cache.Stats()
	o.l.stats.cache.Store(&s)
}

func (l *LLM) cacheStats() prefix.Stats {
	if s := l.stats.cache.Load(); s != nil {
		return *s
	}
	return prefix.Stats{}
}
