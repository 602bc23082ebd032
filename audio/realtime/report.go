package realtime

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"dure/audio/pace"
	"dure/audio/voice"
)

// Report is how the sessions of the process do: GET /v1/dure/voice. It wants no key:
// whoever puts this handler behind a door decides who may see it.
type Report struct {
	Sessions []SessionReport `json:"sessions"`
	// Of all sessions since the process began.
	WakeLateness TimesReport `json:"wake_lateness"`
	Compute      TimesReport `json:"compute"`
	FirstAudio   TimesReport `json:"first_audio"`
	BargeInStop  TimesReport `json:"barge_in_stop"`
	HeardError   TimesReport `json:"heard_error"`

	Frames     int64 `json:"frames"`
	Missed     int64 `json:"missed"`
	Underruns  int64 `json:"underruns"`
	FalseStops int64 `json:"false_stops"`
	Skipped    int64 `json:"skipped"`
	Relieved   int64 `json:"relieved"`
	Degraded   int64 `json:"degraded"`
	Refused    int64 `json:"refused"`
}

// SessionReport is one session. Samples are at 24 kHz.
type SessionReport struct {
	ID          string  `json:"id"`
	Phase       string  `json:"phase"`
	Attached    bool    `json:"attached"`
	AgeSeconds  float64 `json:"age_seconds"`
	Items       int     `json:"items"`
	Received    int64   `json:"received_samples"`
	Sent        int64   `json:"sent_samples"`
	Synthesised int64   `json:"synthesised_samples"`
}

// TimesReport is a histogram: quantiles are upper bounds. Buckets[i] counts what took
// BoundsSeconds[i] or less and more than the one before; the last one has no bound.
type TimesReport struct {
	Count         uint64    `json:"count"`
	SumSeconds    float64   `json:"sum_seconds"`
	P50           float64   `json:"p50_seconds"`
	P95           float64   `json:"p95_seconds"`
	P99           float64   `json:"p99_seconds"`
	P999          float64   `json:"p999_seconds"`
	Max           float64   `json:"max_seconds"`
	BoundsSeconds []float64 `json:"bounds_seconds"`
	Buckets       []uint64  `json:"buckets"`
}

func timesOf(h *pace.Histogram) TimesReport {
	s := h.Snapshot()
	q := func(q float64) float64 { return s.Quantile(q).Seconds() }
	r := TimesReport{Count: s.Count, SumSeconds: s.Sum.Seconds(), P50: q(0.5), P95: q(0.95), P99: q(0.99), P999: q(0.999), Max: s.Max.Seconds(), Buckets: s.Counts[:]}
	for _, b := range pace.Bounds {
		r.BoundsSeconds = append(r.BoundsSeconds, b.Seconds())
	}
	return r
}

// report answers GET /v1/dure/voice.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	answer(w, nil, ReportOf(r.Context(), s.o.Sessions))
}

// statusTime is how long a session may take to say how it is; one that takes longer is left
// out of nothing, but has no figures.
const statusTime = 2 * time.Second

// ReportOf asks all sessions.
func ReportOf(ctx context.Context, sessions *voice.Sessions) Report {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	m := &sessions.Metrics
	r := Report{Sessions: []SessionReport{},
		WakeLateness: timesOf(&m.Wake), Compute: timesOf(&m.Compute), FirstAudio: timesOf(&m.TTFA), BargeInStop: timesOf(&m.Stop), HeardError: timesOf(&m.HeardError),
		Frames: m.Frames.Load(), Missed: m.Missed.Load(), Underruns: m.Underruns.Load(), FalseStops: m.FalseStops.Load(), Skipped: m.Skipped.Load(),
		Relieved: m.Relieved.Load(), Degraded: m.Degraded.Load(), Refused: m.Refused.Load()}
	for _, one := range sessions.All() {
		row := SessionReport{ID: one.ID(), Phase: "busy"}
		if st, err := one.Status(ctx); err == nil {
			row.Phase, row.Attached, row.AgeSeconds, row.Items = string(st.Phase), st.Attached, st.Age.Seconds(), st.Items
			row.Received, row.Sent, row.Synthesised = int64(st.Ledger.Received), int64(st.Ledger.Sent), int64(st.Ledger.Synthesised)
		}
		r.Sessions = append(r.Sessions, row)
	}
	slices.SortFunc(r.Sessions, func(a, b SessionReport) int { return strings.Compare(a.ID, b.ID) })
	return r
}
