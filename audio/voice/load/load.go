package load

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"dure/audio"
	"dure/audio/pace"
	"dure/audio/turn"
	"dure/audio/voice"
)

// Options say what is done.
type Options struct {
	Sessions int           // all have an open microphone
	Talking  int           // of them speak, and are answered, over and over
	For      time.Duration // how long
	Append   time.Duration // sound in one append; 0 is 20 ms
	// Interrupt has every other answer interrupted.
	Interrupt bool
	// Encode makes the JSON of each piece of sound that a client is sent, as a surface
	// does.
	Encode bool
}

// Report is what was measured. Times are upper bounds from fixed buckets.
type Report struct {
	Options   Options `json:"-"`
	Sessions  int     `json:"sessions"`
	Talking   int     `json:"talking"`
	Seconds   float64 `json:"seconds"`
	Wake      Figures `json:"wake_lateness"`
	Compute   Figures `json:"compute"`
	TTFA      Figures `json:"time_to_first_audio"`
	Stop      Figures `json:"barge_in_stop"`
	Frames    int64   `json:"frames"`
	Missed    int64   `json:"missed"`
	Underruns int64   `json:"underruns"`
	Answers   int     `json:"answers"`
	// Ledger adds up all sessions'.
	Ledger audio.Ledger `json:"ledger"`
	// Bytes of sound that clients got.
	Bytes int64 `json:"bytes"`
}

// Figures are of one histogram.
type Figures struct {
	Count                    uint64
	P50, P95, P99, P999, Max time.Duration
}

func figures(h *pace.Histogram) Figures {
	s := h.Snapshot()
	return Figures{s.Count, s.Quantile(0.5), s.Quantile(0.95), s.Quantile(0.99), s.Quantile(0.999), s.Max}
}

func (f Figures) String() string {
	return fmt.Sprintf("p50 %v, p95 %v, p99 %v, p99.9 %v, max %v (%d)", f.P50, f.P95, f.P99, f.P999, f.Max.Round(10*time.Microsecond), f.Count)
}

// String is the report as a few lines.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d sessions, %d talking, %.0f s\n", r.Sessions, r.Talking, r.Seconds)
	for _, l := range []struct {
		name string
		f    Figures
	}{{"wake lateness", r.Wake}, {"compute", r.Compute}, {"time to first audio", r.TTFA}, {"barge-in stop", r.Stop}} {
		fmt.Fprintf(&b, "  %-20s %v\n", l.name, l.f)
	}
	fmt.Fprintf(&b, "  %d frames, %d missed, %d underruns, %d answers, %d samples sent\n", r.Frames, r.Missed, r.Underruns, r.Answers, r.Ledger.Sent)
	return b.String()
}

// answerText is spoken in about four seconds.
const answerText = "The build is green. All of the tests passed, and nothing is left to do."

// Run does what the options say, in this process. It fails if a sample is not accounted
// for.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.Sessions < 1 || o.Talking > o.Sessions || o.For <= 0 {
		return Report{}, fmt.Errorf("voice load: %d sessions, %d talking, for %v: at least one session, no more talking than there are, and some time are needed", o.Sessions, o.Talking, o.For)
	}
	if o.Append == 0 {
		o.Append = 20 * time.Millisecond
	}
	r := Report{Options: o, Sessions: o.Sessions, Talking: o.Talking}
	rooms := &voice.Sessions{}
	answerer := &Answerer{First: 150 * time.Millisecond, Word: 30 * time.Millisecond, Text: answerText}
	began := time.Now()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	for i := range o.Sessions {
		wg.Go(func() {
			p := &person{o: o, talks: i < o.Talking, n: i}
			err := p.call(ctx, rooms, answerer)
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
			r.Answers += p.answers
			r.Bytes += p.bytes
			add(&r.Ledger, p.ledger)
		})
	}
	wg.Wait()
	m := &rooms.Metrics
	r.Seconds = time.Since(began).Seconds()
	r.Wake, r.Compute, r.TTFA, r.Stop = figures(&m.Wake), figures(&m.Compute), figures(&m.TTFA), figures(&m.Stop)
	r.Frames, r.Missed, r.Underruns = m.Frames.Load(), m.Missed.Load(), m.Underruns.Load()
	if failed == nil {
		failed = r.Ledger.Check()
	}
	return r, failed
}

func add(to *audio.Ledger, l audio.Ledger) {
	to.Received += l.Received
	to.Processed += l.Processed
	to.Refused += l.Refused
	to.Synthesised += l.Synthesised
	to.Sent += l.Sent
	to.Dropped += l.Dropped
	to.Queued += l.Queued
	to.Concealed += l.Concealed
	to.Skipped += l.Skipped
}

// person is one client with a microphone.
type person struct {
	o       Options
	talks   bool
	n       int
	answers int
	bytes   int64
	ledger  audio.Ledger
}

func (p *person) call(ctx context.Context, rooms *voice.Sessions, answerer *Answerer) error {
	s, err := rooms.Open(ctx, voice.Options{
		Config: turn.Config{Input: audio.PCM16, Output: audio.PCM16, Detection: turn.DefaultDetection()},
		VAD:    &Detector{}, STT: Recogniser{Text: "how is the build", Delay: 100 * time.Millisecond},
		TTS: Synthesiser{First: 60 * time.Millisecond}, Responder: answerer,
	})
	if err != nil {
		return err
	}
	a, err := s.Attach(0)
	if err != nil {
		return err
	}
	read := make(chan error, 1)
	go func() { read <- p.listen(ctx, a) }()
	err = p.microphone(ctx, s)
	err = errors.Join(err, s.Do(ctx, turn.Close{Reason: "done"}))
	<-s.Ended()
	p.ledger = s.Final()
	err = errors.Join(err, p.ledger.Check())
	return errors.Join(err, <-read)
}

// microphone sends sound at its pace: a person who talks speaks for 1.5 s in 8, or in 4
// where they interrupt; the others are silent.
func (p *person) microphone(ctx context.Context, s *voice.Session) error {
	n := audio.Samples(p.o.Append.Nanoseconds() * audio.Rate / int64(time.Second))
	loud, silent := sound(n, 0.3), make([]byte, 2*n)
	began := time.Now()
	offset := time.Duration(p.n) * 137 * time.Millisecond // they do not speak in chorus
	for i := int64(1); ; i++ {
		at := time.Duration(i) * p.o.Append
		if at > p.o.For {
			return nil
		}
		select {
		case <-time.After(at - time.Since(began)):
		case <-ctx.Done():
			return ctx.Err()
		}
		cycle := 8 * time.Second
		if p.o.Interrupt {
			cycle = 4 * time.Second
		}
		b := silent
		if p.talks && (at+offset)%cycle > cycle-2*time.Second && (at+offset)%cycle < cycle-500*time.Millisecond {
			b = loud
		}
		if err := s.Append(ctx, "", b); err != nil {
			return err
		}
	}
}

// listen reads all that is told.
func (p *person) listen(ctx context.Context, a *voice.Attachment) error {
	for {
		o, err := a.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p.bytes += int64(len(o.Audio))
		switch o.Notice.(type) {
		case turn.ResponseDone:
			p.answers++
		case turn.AudioDelta:
			if p.o.Encode {
				if _, err := json.Marshal(map[string]string{"type": "response.output_audio.delta", "delta": base64.StdEncoding.EncodeToString(o.Audio)}); err != nil {
					return err
				}
			}
		}
	}
}
