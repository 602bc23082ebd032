package front

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of all surfaces. Labels take values from the route table, the
// catalogue and constants only, so that no client can grow them.
type metrics struct {
	requests   *prometheus.CounterVec // route, status
	failures   *prometheus.CounterVec // route, code
	inFlight   prometheus.Gauge
	duration   *prometheus.HistogramVec // route
	firstToken *prometheus.HistogramVec // model, priority
	gap        *prometheus.HistogramVec // model, priority
	queue      *prometheus.HistogramVec // model, priority
	prompt     *prometheus.CounterVec   // model
	completion *prometheus.CounterVec   // model
	cancelled  *prometheus.CounterVec   // phase
	slow       prometheus.Counter
	crowded    prometheus.Counter
}

// statusGone stands in metrics and logs for an answer that its client did not
// wait for. It is never sent.
const statusGone = 499

var (
	durationBuckets = []float64{.001, .005, .025, .1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	tokenBuckets    = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
	queueBuckets    = []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	gapBuckets      = []float64{.001, .0025, .005, .01, .02, .04, .08, .15, .3, .6, 1.2, 2.5, 5, 10}
)

func newMetrics(registry prometheus.Registerer, bodies *budget) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &metrics{
		requests: counter("dure_http_requests_total",
			"Answered requests. Status 499: the client did not wait for the answer.", "route", "status"),
		failures: counter("dure_http_failures_total",
			"Errors sent to clients, also inside a stream whose status was 200.", "route", "code"),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "dure_http_requests_in_flight", Help: "Requests being answered."}),
		duration: histogram("dure_http_request_duration_seconds",
			"From the request's header to the end of the answer.", durationBuckets, "route"),
		firstToken: histogram("dure_time_to_first_token_seconds",
			"From the request's header to the first text, with load and queue.", tokenBuckets, "model", "priority"),
		gap: histogram("dure_inter_token_gap_seconds",
			"Between two pieces of text of one answer.", gapBuckets, "model", "priority"),
		queue: histogram("dure_queue_wait_seconds",
			"Time that the choices of finished answers waited for their turn, as the model counts it.", queueBuckets, "model", "priority"),
		prompt:     counter("dure_prompt_tokens_total", "Tokens of the prompts of finished requests.", "model"),
		completion: counter("dure_completion_tokens_total", "Tokens of finished answers.", "model"),
		cancelled: counter("dure_requests_cancelled_total",
			"Generations whose client left: load = while the model was opened, prompt = queued or reading the prompt, decode = after the first text.", "phase"),
		slow: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dure_http_slow_clients_total", Help: "Clients dropped because they did not read their answer in time."}),
		crowded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dure_http_bodies_refused_total", Help: "Bodies refused because those of other requests took all the room."}),
	}
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "dure_http_body_bytes", Help: "Bytes of the bodies of the requests being answered."},
		func() float64 { return float64(bodies.held.Load()) })
	for _, p := range []phase{phaseLoad, phasePrompt, phaseDecode} {
		m.cancelled.WithLabelValues(string(p))
	}
	if registry != nil {
		registry.MustRegister(m.requests, m.failures, m.inFlight, m.duration, m.firstToken, m.gap, m.queue,
			m.prompt, m.completion, m.cancelled, m.slow, m.crowded, held)
	}
	return m
}

// observe counts one request that is over.
func (m *metrics) observe(x *Exchange, elapsed time.Duration) {
	route := x.row.label()
	m.requests.WithLabelValues(route, strconv.Itoa(x.status)).Inc()
	m.duration.WithLabelValues(route).Observe(elapsed.Seconds())
	if x.failure != nil {
		m.failures.WithLabelValues(route, string(x.failure.Code)).Inc()
	}
	m.observeGeneration(x)
}

// observeGeneration counts what came of a generation that is over.
func (m *metrics) observeGeneration(x *Exchange) {
	g := &x.progress
	if x.gone && g.phase != "" {
		m.cancelled.WithLabelValues(string(g.phase)).Inc()
	}
	if g.finish != "" {
		m.prompt.WithLabelValues(g.model).Add(float64(g.usage.PromptTokens))
		m.completion.WithLabelValues(g.model).Add(float64(g.usage.CompletionTokens))
	}
}
