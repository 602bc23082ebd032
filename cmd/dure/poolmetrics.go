package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// poolCollector tells what the pool does with each model, and what other programs
// took of the cards that models are on.
type poolCollector struct{ h *host }

var (
	descPoolLoads    = modelDesc("loads_total", "Loads that ended well.")
	descPoolUnloads  = modelDesc("unloads_total", "Unloads, lost processes among them.")
	descPoolSeconds  = modelDesc("load_seconds", "How long the latest load took.")
	descPoolUsers    = modelDesc("users", "Requests that hold the model, and those that wait for its load.", "state")
	descPoolFailures = modelDesc("failures", "Failures lately, of loads and of the process; those of long ago are forgotten once it works.")
	descPoolShrunk   = modelDesc("load_shrunk", "How often the load was made smaller to fit.")
	descTaken        = modelDesc("memory_taken_bytes", "Memory of a model's card that other programs took since it was loaded.", "device")
	descTakenFree    = modelDesc("memory_taken_free_bytes", "What is free on a card of which other programs took.", "device")
)

// Describe implements prometheus.Collector.
func (poolCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descPoolLoads, descPoolUnloads, descPoolSeconds, descPoolUsers, descPoolFailures, descPoolShrunk, descTaken, descTakenFree} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c poolCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.h.pool.Status() {
		send := func(kind prometheus.ValueType, d *prometheus.Desc, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, kind, v, append([]string{s.Name}, labels...)...)
		}
		send(prometheus.CounterValue, descPoolLoads, float64(s.Loads))
		send(prometheus.CounterValue, descPoolUnloads, float64(s.Unloads))
		send(prometheus.GaugeValue, descPoolSeconds, s.Took.Seconds())
		send(prometheus.GaugeValue, descPoolUsers, float64(s.Users), "using")
		send(prometheus.GaugeValue, descPoolUsers, float64(s.Queued), "waiting")
		send(prometheus.GaugeValue, descPoolFailures, float64(s.Failures))
		send(prometheus.GaugeValue, descPoolShrunk, float64(s.Shrunk))
	}
	c.collectTaken(ch)
}

func (c poolCollector) collectTaken(ch chan<- prometheus.Metric) {
	if len(c.h.ownOnCards()) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	now := c.h.devices(ctx)
	for name := range c.h.pool.Loaded() {
		for _, t := range c.h.takenFrom(name, now) {
			ch <- prometheus.MustNewConstMetric(descTaken, prometheus.GaugeValue, t.Bytes, name, t.Device)
			ch <- prometheus.MustNewConstMetric(descTakenFree, prometheus.GaugeValue, t.Free, name, t.Device)
		}
	}
}
