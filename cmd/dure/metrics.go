package main

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dure/inference/llm"
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
	descSeconds   = modelDesc("engine_seconds_total", "Time inside the engine.", "phase")
	descOverhead  = modelDesc("overhead_seconds_total", "Time of the model's owner between engine calls while there was work.")
	descEngineCPU = modelDesc("engine_cpu_seconds_total", "CPU time of the model's owner inside the engine; the engine's own threads not counted.")
	descThreads   = modelDesc("threads", "Threads that compute; fewer than configured while other programs use the cores.")
	descRejected  = modelDesc("rejected_total", "Requests that found the queue full.")
	descCancelled = modelDesc("cancelled_total", "Requests cancelled, by what they were doing.", "phase")
	descCancelLag = modelDesc("cancel_steps_max", "Most engine calls that began between a cancel and its effect.")
	descStalls    = modelDesc("stalls_total", "Pauses of a sequence for a slow reader.")
	descMemory    = modelDesc("memory_bytes", "Memory of a loaded model by device and use: as planned before the load, and as the engine holds it.", "device", "item", "source")
	descUp        = modelDesc("up", "1 if the runner answered the scrape.")
)

// Describe implements prometheus.Collector.
func (modelCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descInfo, descRequests, descSteps, descTokens, descSeconds, descOverhead, descEngineCPU, descThreads,
		descRejected, descCancelled, descCancelLag, descStalls, descMemory, descUp} {
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
}
