package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dure/audio/realtime"
)

// running reports whether the voice process is there: to look does not start it.
func (v *voiceHost) running() bool {
	if !v.mu.TryLock() {
		return false // it starts just now
	}
	defer v.mu.Unlock()
	if v.closed || v.child == nil {
		return false
	}
	select {
	case <-v.child.gone:
		return false
	default:
		return true
	}
}

// report is how spoken conversations do; an empty one where there were none yet.
func (v *voiceHost) report(ctx context.Context) (r realtime.Report, err error) {
	r.Sessions = []realtime.SessionReport{}
	if !v.running() {
		return r, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/v1/dure/voice", nil)
	if err != nil {
		return r, err
	}
	resp, err := v.proxy.Transport.RoundTrip(req)
	if err != nil {
		return r, fmt.Errorf("ask the voice process: %w", err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, 8<<20)).Decode(&r); err != nil {
		return r, fmt.Errorf("ask the voice process: %w", err)
	}
	return r, nil
}

// voiceCollector asks the voice process when scraped.
type voiceCollector struct{ v *voiceHost }

func voiceDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("dure_voice_"+name, help, nil, nil)
}

var (
	descVoiceUp       = voiceDesc("up", "1 if the voice process answered the scrape; it is started when a voice is first wanted.")
	descVoiceSessions = voiceDesc("sessions", "Spoken conversations.")
	descVoiceWake     = voiceDesc("wake_lateness_seconds", "How late the clock of a conversation woke up for a frame.")
	descVoiceCompute  = voiceDesc("frame_compute_seconds", "Work on a frame.")
	descVoiceFirst    = voiceDesc("first_audio_seconds", "End of the person's speech to the first sound of the answer.")
	descVoiceStop     = voiceDesc("barge_in_stop_seconds", "Onset of the person's speech to the last sample of the answer that it stopped.")
	descVoiceHeard    = voiceDesc("heard_error_seconds", "Difference between what the server and the client take as heard.")
	descVoiceFrames   = voiceDesc("frames_total", "Frames that came due.")
	descVoiceMissed   = voiceDesc("frames_missed_total", "Frames that were later than their budget.")
	descVoiceUnderrun = voiceDesc("underruns_total", "Frames of an utterance that found nothing to be sent.")
	descVoiceFalse    = voiceDesc("false_stops_total", "Sounds that stopped an answer and held no words.")
	descVoiceRefused  = voiceDesc("refused_total", "Conversations that found no room.")
)

// Describe implements prometheus.Collector.
func (voiceCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descVoiceUp, descVoiceSessions, descVoiceWake, descVoiceCompute, descVoiceFirst, descVoiceStop, descVoiceHeard,
		descVoiceFrames, descVoiceMissed, descVoiceUnderrun, descVoiceFalse, descVoiceRefused} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c voiceCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	up := 0.0
	r, err := c.v.report(ctx)
	if err == nil && c.v.running() {
		up = 1
	}
	ch <- prometheus.MustNewConstMetric(descVoiceUp, prometheus.GaugeValue, up)
	if up == 0 {
		return
	}
	ch <- prometheus.MustNewConstMetric(descVoiceSessions, prometheus.GaugeValue, float64(len(r.Sessions)))
	for d, h := range map[*prometheus.Desc]realtime.TimesReport{descVoiceWake: r.WakeLateness, descVoiceCompute: r.Compute, descVoiceFirst: r.FirstAudio,
		descVoiceStop: r.BargeInStop, descVoiceHeard: r.HeardError} {
		buckets, sum := map[float64]uint64{}, uint64(0)
		for i, bound := range h.BoundsSeconds {
			if i < len(h.Buckets) {
				sum += h.Buckets[i]
			}
			buckets[bound] = sum
		}
		ch <- prometheus.MustNewConstHistogram(d, h.Count, h.SumSeconds, buckets)
	}
	for d, n := range map[*prometheus.Desc]int64{descVoiceFrames: r.Frames, descVoiceMissed: r.Missed, descVoiceUnderrun: r.Underruns,
		descVoiceFalse: r.FalseStops, descVoiceRefused: r.Refused} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
}

// printTalks is what `dure ps` says of spoken conversations, where there are any.
func printTalks(ctx context.Context, addr string, out io.Writer) error {
	resp, err := get(ctx, addr, "/v1/dure/voice")
	if err != nil {
		return unreached(addr, err)
	}
	defer resp.Body.Close()
	var r realtime.Report
	if resp.StatusCode != http.StatusOK { // of an older server
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 8<<20)).Decode(&r); err != nil || len(r.Sessions) == 0 {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nCONVERSATION\tSTATE\tCLIENT\tSINCE\tTURNS\tHEARD\tSAID")
	seconds := func(samples int64) string { return fmt.Sprintf("%.0f s", float64(samples)/24000) }
	for _, s := range r.Sessions {
		client := "gone, awaited"
		if s.Attached {
			client = "there"
		}
		since := (time.Duration(s.AgeSeconds) * time.Second).String()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", s.ID, s.Phase, client, since, s.Items, seconds(s.Received), seconds(s.Sent))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "frames: %d, late by more than their budget %d, underruns %d; wake lateness p99 %.1f ms\n", r.Frames, r.Missed, r.Underruns, 1000*r.WakeLateness.P99)
	return err
}
