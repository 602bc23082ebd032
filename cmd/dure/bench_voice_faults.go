package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"dure/audio"
	"dure/audio/turn"
	"dure/audio/voice"
	"dure/audio/voice/load"
)

// filler is how soon a lead agent that takes five seconds is bridged.
func (b *voiceBench) filler(ctx context.Context) ([]voiceBenchRow, error) {
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	var took []time.Duration
	sessions := &voice.Sessions{} // fixed phrases are kept for all of them
	for n := range max(3, b.fixtures) {
		f, err := b.fixture(ctx, n)
		if err != nil {
			return nil, err
		}
		f.voice = b.engines.Voices()[0]
		h, err := b.converse(ctx, sessions, f, turn.ServerVAD, true)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(b.log, "  acknowledged %v after the end of the turn\n", (h.sound - h.committed).Round(time.Millisecond))
		took = append(took, h.sound-h.committed)
	}
	return []voiceBenchRow{atMost("filler_p95", "acknowledgement of a slow lead after the end of the turn, p95", quantile(took, 0.95), 300*time.Millisecond,
		fmt.Sprintf("%d turns; the first phrase is synthesised, then it is kept", len(took)))}, nil
}

// resume loses a client in the middle of an answer, for a while, and counts what is lost or
// doubled when it is back.
func (b *voiceBench) resume(ctx context.Context) ([]voiceBenchRow, error) {
	gap := 30 * time.Second // a session waits a little longer
	if b.minutes < 1 {
		gap = 5 * time.Second
	}
	s, err := (&voice.Sessions{}).Open(ctx, voice.Options{
		Config: turn.Config{Input: audio.PCM16, Output: audio.PCM16, Detection: turn.DefaultDetection()},
		VAD:    &load.Detector{}, STT: load.Recogniser{Text: "x"}, TTS: load.Synthesiser{First: 50 * time.Millisecond},
		Responder: &load.Answerer{Word: 10 * time.Millisecond, Text: strings.Repeat("All of it is well and good. ", 6)},
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = s.Do(context.WithoutCancel(ctx), turn.Close{Reason: "done"})
		<-s.Ended()
	}()
	a, err := s.Attach(0)
	if err != nil {
		return nil, err
	}
	item := turn.Item{Kind: turn.Message, Role: turn.User, Parts: []turn.Part{{Kind: turn.InputText, Text: "well?"}}}
	if err := s.Do(ctx, turn.CreateItem{Item: item}); err != nil {
		return nil, err
	}
	if err := s.Do(ctx, turn.CreateResponse{}); err != nil {
		return nil, err
	}
	var last, lost, doubled int64
	var at audio.Samples
	pieces := 0
	for done := false; !done; {
		o, err := a.Next(ctx)
		if err != nil {
			return nil, err
		}
		lost, doubled = lost+max(0, o.Seq-last-1), doubled+max(0, last+1-o.Seq)
		last = o.Seq
		switch n := o.Notice.(type) {
		case turn.AudioDelta:
			lost, doubled = lost+int64(max(0, n.From-at)), doubled+int64(max(0, at-n.From))
			at = n.From + n.Samples
			if pieces++; pieces == 8 {
				a.Close()
				select {
				case <-time.After(gap):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				if a, err = s.Attach(last); err != nil {
					return nil, err
				}
			}
		case turn.ResponseDone:
			done = true
		}
	}
	note := fmt.Sprintf("gap of %v in the middle of an answer of %.1f s", gap, float64(at)/audio.Rate)
	return []voiceBenchRow{exactly("resume_lost", "events and samples lost over a lost connection", lost, 0, note), exactly("resume_doubled", "the same, doubled", doubled, 0, "")}, nil
}

// killed ends a server as a crash does, and starts it again until it speaks.
func (b *voiceBench) killed(ctx context.Context) ([]voiceBenchRow, error) {
	rig, err := newLoneRig(ctx, nil, benchOptions{})
	if err != nil {
		return nil, err
	}
	var took time.Duration
	for round := range 2 {
		began := time.Now()
		s, err := rig.startServer(ctx, 1)
		if err != nil {
			return nil, err
		}
		err = speakOnce(ctx, s.url)
		took = time.Since(began)
		if round == 0 {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		} else {
			s.stop()
		}
		if err != nil {
			return nil, err
		}
	}
	return []voiceBenchRow{atMost("kill_speak", "server killed (-9), started again, until it speaks", took, 5*time.Second, rig.entry.Name+" loaded, speech engines started")}, nil
}

// speakOnce waits for the first sound of a sentence.
func speakOnce(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	url = strings.TrimSuffix(strings.TrimSuffix(url, "/"), "/v1") + "/v1/audio/speech"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"input":"I am back.","response_format":"pcm"}`))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b := make([]byte, 4096)
	if _, err := io.ReadFull(resp.Body, b); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server does not speak: %s, %w", resp.Status, err)
	}
	return nil
}

// arbiter says what cannot be measured here.
func (b *voiceBench) arbiter(context.Context) ([]voiceBenchRow, error) {
	return []voiceBenchRow{{Name: "arbiter", What: "a voice frame waits for another runner's prefill", Bar: "never", Got: "not measured",
		Note: "on CPUs frames wait for the kernel's scheduler only (row wake lateness, beside a decoding model); turns on a GPU are for a voice model that computes its frames there, and none is served yet"}}, nil
}
