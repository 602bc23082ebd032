package embed

import (
	"sync/atomic"
	"time"

	"dure/inference/engine"
)

// Stats are counters since the model was loaded, and gauges of now.
type Stats struct {
	// Batches computed, with Inputs and Tokens in them.
	Batches, Inputs, Tokens uint64
	// Seconds inside the engine, CPUSeconds of them on the owner's thread.
	Seconds, CPUSeconds float64
	// Rejected requests found the queue full.
	Rejected, Cancelled uint64
	// Waiting requests have had no part in a batch, Running ones have.
	Waiting, Running int
	// Threads that compute.
	Threads int
	// Memory that the engine holds, as measured after the load.
	Memory []engine.Buffers
}

// counters are written by the owner and read by anyone.
type counters struct {
	batches, inputs, tokens, rejected, cancelled atomic.Uint64
	wall, cpu, waiting, running                  atomic.Int64
}

func (c *counters) computed(inputs, tokens int, wall, cpu time.Duration) {
	c.batches.Add(1)
	c.inputs.Add(uint64(inputs))
	c.tokens.Add(uint64(tokens))
	c.wall.Add(int64(wall))
	c.cpu.Add(int64(cpu))
}

// Stats reads the counters.
func (e *Embedder) Stats() Stats {
	c := &e.stats
	return Stats{
		Batches: c.batches.Load(), Inputs: c.inputs.Load(), Tokens: c.tokens.Load(),
		Seconds: time.Duration(c.wall.Load()).Seconds(), CPUSeconds: time.Duration(c.cpu.Load()).Seconds(),
		Rejected: c.rejected.Load(), Cancelled: c.cancelled.Load(),
		Waiting: int(c.waiting.Load()), Running: int(c.running.Load()),
		Threads: e.cfg.Threads, Memory: e.memory,
	}
}
