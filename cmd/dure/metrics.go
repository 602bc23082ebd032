package main

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dure/inference/llm"
	"dure/inference/prefix"
	"dure/inference/runner"
)

// scrapeTimeout bounds how long a busy runner may hold up a scrape.
const scrapeTimeout = 2 * time.Second

// modelCollector asks each loaded model's runner for its counters when scraped.
type modelCollector struct{ h *host }

func modelDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("dure_model_"+name, help, append([]string{"model"}, labels...), nil)
}

var (
	descInfo      = modelDesc("info", "A loaded model; always 1.", "pid", "device", "context", "sequences", "description")
	descRequests  = modelDesc("requests", "Requests by what they are doing now.", "state")
	descSteps     = modelDesc("steps_total", "Calls into the engine.")
	descTokens    = modelDesc("engine_tokens_total", "Tokens computed.", "phase")
	descDrafts    = modelDesc("drafted_tokens_total", "Guesses of coming tokens that were checked, by what became of them; accepted ones are in the tokens of decode.", "result")
	descSeconds   = modelDesc("engine_seconds_total", "Time inside the engine.", "phase")
	descOverhead  = modelDesc("overhead_seconds_total", "Time of the model's owner between engine calls while there was work.")
	descEngineCPU = modelDesc("engine_cpu_seconds_total", "CPU time of the model's owner inside the engine; the engine's own threads not counted.")
	descThreads   = modelDesc("threads", "Threads that compute; fewer than configured while other programs use the cores.")
	descRejected  = modelDesc("rejected_total", "Requests that found the queue full.")
	descCancelled = modelDesc("cancelled_total", "Requests cancelled, by what they were doing.", "phase")
	descCancelLag = modelDesc("cancel_steps_max", "Most engine calls that began between a cancel and its effect.")
	descStalls    = modelDesc("stalls_total", "Pauses of a sequence for a slow reader.")
	descMemory    = modelDesc("memory_bytes", "Memory of a loaded model by device and use: as planned before the load, and as the engine holds it.", "device", "item", "source")
	descParked    = modelDesc("parked_total", "Pauses of a running request that gave its place to another one.")
	descCache     = modelDesc("cache_info", "How a loaded model keeps keys and values, and what is known of the loss; always 1.", "keys", "values", "loss")
	descUp        = modelDesc("up", "1 if the runner answered the scrape.")

	descSessions    = modelDesc("cache_sessions", "Sessions that are known (alive), and sequences that hold a state in the context (resident) or are run in (active).", "state")
	descCells       = modelDesc("cache_cells", "Cells of the context by use.", "use")
	descCacheBytes  = modelDesc("cache_bytes", "Bytes of saved states.", "tier")
	descCacheBudget = modelDesc("cache_budget_bytes", "Bytes that saved states may take.", "tier")
	descCacheClass  = modelDesc("cache_class_info", "The quality class in which a loaded model's states are written to disk; always 1.", "class")
	descClassBytes  = modelDesc("cache_class_bytes", "Bytes of saved states on disk by their quality class.", "class")
	descCacheCount  = modelDesc("cache_objects", "Saved states.", "tier")
	descHits        = modelDesc("cache_hits_total", "Requests by the slowest tier that they reused; none = nothing was reused.", "tier")
	descMisses      = modelDesc("cache_misses_total", "Requests by the reason why no more of their prompt was reused.", "reason")
	descPrefix      = modelDesc("cache_prompt_tokens_total", "Tokens of prompts that were reused (saved) or had to be read.", "how")
	descBroken      = modelDesc("cache_broken_prefixes_total", "Prompts that left what their session held.")
	descLosses      = modelDesc("cache_losses_total", "States that went without another copy (lost), were not worth their bytes (declined), or could not be moved (failed).", "kind")
)

// Describe implements prometheus.Collector.
func (modelCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descInfo, descRequests, descSteps, descTokens, descDrafts, descSeconds, descOverhead, descEngineCPU, descThreads,
		descRejected, descCancelled, descCancelLag, descStalls, descMemory, descParked, descCache, descUp,
		descSessions, descCells, descCacheBytes, descCacheBudget, descCacheClass, descClassBytes, descCacheCount, descHits, descMisses, descPrefix, descBroken, descLosses} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c modelCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	for name, r := range c.h.pool.Loaded() {
		client, ok := r.(*runner.Client)
		if !ok {
			continue
		}
		info := client.Info()
		gauge := func(d *prometheus.Desc, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{name}, labels...)...)
		}
		gauge(descInfo, 1, strconv.Itoa(client.PID()), info.Device, strconv.Itoa(info.Context), strconv.Itoa(info.Sequences), info.Description)
		if keys, values, loss := c.h.cacheOf(name); keys != "" {
			gauge(descCache, 1, keys, values, loss)
		}
		s, err := client.Stats(ctx)
		if err != nil {
			gauge(descUp, 0)
			continue
		}
		gauge(descUp, 1)
		collectStats(ch, name, s)
		for _, d := range c.h.compare(name, s.Memory) {
			gauge(descMemory, float64(d.Planned), d.Device, d.Item, "planned")
			gauge(descMemory, float64(d.Measured), d.Device, d.Item, "measured")
		}
	}
}

func collectStats(ch chan<- prometheus.Metric, name string, s llm.Stats) {
	send := func(kind prometheus.ValueType, d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, append([]string{name}, labels...)...)
	}
	for state, n := range map[string]int{"waiting": s.Waiting, "prefill": s.Prefilling, "decode": s.Decoding, "blocked": s.Blocked} {
		send(prometheus.GaugeValue, descRequests, float64(n), state)
	}
	send(prometheus.CounterValue, descSteps, float64(s.Steps))
	send(prometheus.CounterValue, descTokens, float64(s.PromptTokens), "prefill")
	send(prometheus.CounterValue, descTokens, float64(s.DecodedTokens), "decode")
	send(prometheus.CounterValue, descDrafts, float64(s.AcceptedTokens), "accepted")
	send(prometheus.CounterValue, descDrafts, float64(s.DraftedTokens-s.AcceptedTokens), "refused")
	send(prometheus.CounterValue, descSeconds, s.PrefillSeconds, "prefill")
	send(prometheus.CounterValue, descSeconds, s.DecodeSeconds, "decode")
	send(prometheus.CounterValue, descOverhead, s.OverheadSeconds)
	send(prometheus.CounterValue, descEngineCPU, s.EngineCPUSeconds)
	send(prometheus.GaugeValue, descThreads, float64(s.Threads))
	send(prometheus.CounterValue, descRejected, float64(s.Rejected))
	for phase, n := range map[string]uint64{"queued": s.CancelledQueued, "prefill": s.CancelledPrefill, "decode": s.CancelledDecode} {
		send(prometheus.CounterValue, descCancelled, float64(n), phase)
	}
	send(prometheus.GaugeValue, descCancelLag, float64(s.MaxCancelSteps))
	send(prometheus.CounterValue, descStalls, float64(s.Stalls))
	send(prometheus.CounterValue, descParked, float64(s.Parked))
	collectCache(send, s.Cache)
}

func collectCache(send func(kind prometheus.ValueType, d *prometheus.Desc, v float64, labels ...string), s prefix.Stats) {
	for state, n := range map[string]int{"alive": s.Alive, "resident": s.Resident, "active": s.Active} {
		send(prometheus.GaugeValue, descSessions, float64(n), state)
	}
	send(prometheus.GaugeValue, descCells, float64(s.Cells), "filled")
	send(prometheus.GaugeValue, descCells, float64(s.Promised), "promised")
	for tier, t := range map[string]prefix.Tier{"ram": s.RAM, "disk": s.Disk} {
		send(prometheus.GaugeValue, descCacheBytes, float64(t.Bytes), tier)
		send(prometheus.GaugeValue, descCacheBudget, float64(t.Budget), tier)
		send(prometheus.GaugeValue, descCacheCount, float64(t.Objects), tier)
	}
	if s.Class != "" {
		send(prometheus.GaugeValue, descCacheClass, 1, s.Class)
	}
	for class, held := range s.Classes {
		send(prometheus.GaugeValue, descClassBytes, float64(held.Bytes), class)
	}
	for tier, n := range map[string]uint64{"none": s.Hits.None, "disk": s.Hits.Disk, "ram": s.Hits.RAM, "hot": s.Hits.Hot} {
		send(prometheus.CounterValue, descHits, float64(n), tier)
	}
	for reason, n := range map[string]uint64{"new": s.Misses.New, "evicted": s.Misses.Evicted, "checkpoint": s.Misses.Checkpoint, "slow": s.Misses.Slow} {
		send(prometheus.CounterValue, descMisses, float64(n), reason)
	}
	send(prometheus.CounterValue, descPrefix, float64(s.SavedTokens), "saved")
	send(prometheus.CounterValue, descPrefix, float64(s.ReadTokens), "read")
	send(prometheus.CounterValue, descBroken, float64(s.Broken))
	for kind, n := range map[string]uint64{"lost": s.Lost, "declined": s.Declined, "failed": s.Failed} {
		send(prometheus.CounterValue, descLosses, float64(n), kind)
	}
}
