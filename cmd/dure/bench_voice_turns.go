package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"dure/audio"
	"dure/audio/speech"
	"dure/audio/turn"
	"dure/audio/voice"
	"dure/audio/voice/load"
)

// spokenFixture is a turn of speech of known shape: silence, words, a pause within the
// turn, more words, silence.
type spokenFixture struct {
	pcm        []float32 // at audio.Rate, with noise
	onset, end time.Duration
	voice      string
	text       string
	pause      time.Duration // within the turn, 0 is none
}

// Halves of turns: a pause of thought is between them. In each the first is no whole.
var fixtureWords = [][2]string{
	{"I would like to know how the", "build is going today."},
	{"Please tell me whether", "all of the tests have passed."},
	{"Could you look at the parser and", "say what is wrong with it?"},
	{"When you have finished the work, then", "give me a short report."},
}

// lead silence and tail of every fixture.
const (
	fixtureLead  = 700 * time.Millisecond
	fixturePause = 350 * time.Millisecond
	fixtureTail  = 5 * time.Second
)

// pieceOf is an utterance without the silence around it.
func (b *voiceBench) utter(ctx context.Context, name, text string, speed float64) ([]float32, error) {
	var out []float32
	var to *audio.Resampler
	for chunk, err := range b.engines.Speak(ctx, speech.Utterance{Text: text, Language: "en", Voice: name, Speed: speed}) {
		if err != nil {
			return nil, err
		}
		if to == nil {
			if to, err = audio.NewResampler(chunk.Rate, audio.Rate); err != nil {
				return nil, err
			}
		}
		out = to.Feed(out, chunk.PCM)
	}
	if to != nil {
		out = to.Flush(out)
	}
	loud := func(x float32) bool { return x > 0.02 || x < -0.02 }
	from := slices.IndexFunc(out, loud)
	if from < 0 {
		return nil, fmt.Errorf("the voice %s is silent", name)
	}
	to2 := len(out)
	for !loud(out[to2-1]) {
		to2--
	}
	return out[from:to2], nil
}

func silence(d time.Duration) []float32 { return make([]float32, int(d*audio.Rate/time.Second)) }

func (b *voiceBench) fixture(ctx context.Context, n int) (f spokenFixture, err error) {
	voices := b.engines.Voices()
	f.voice = voices[n%len(voices)]
	if f.voice == "espeak" && len(voices) > 1 { // no voice of a person
		f.voice = voices[0]
	}
	words := fixtureWords[n%len(fixtureWords)]
	f.pause, f.text = fixturePause, words[0]+" "+words[1]
	said, err := b.halves(ctx, f, words[0], words[1], 1)
	f.lay(said, rand.New(rand.NewPCG(uint64(n), 7)), 0.002) // 30 dB below speech, or more
	return f, err
}

// halves speaks what stands before and behind the fixture's pause; there may be no second.
func (b *voiceBench) halves(ctx context.Context, f spokenFixture, first, second string, speed float64) ([]float32, error) {
	said, err := b.utter(ctx, f.voice, first, speed)
	if err != nil || second == "" {
		return said, err
	}
	rest, err := b.utter(ctx, f.voice, second, speed)
	return slices.Concat(said, silence(f.pause), rest), err
}

// lay puts silence around what is said, and noise of a loudness on all of it.
func (f *spokenFixture) lay(said []float32, noise *rand.Rand, loud float64) {
	f.pcm = slices.Concat(silence(fixtureLead), said)
	f.onset, f.end = fixtureLead, time.Duration(len(f.pcm))*time.Second/audio.Rate
	f.pcm = append(f.pcm, silence(fixtureTail)...)
	for i := range f.pcm {
		f.pcm[i] += float32(noise.NormFloat64() * loud)
	}
}

// heardTurn is what a session made of a fixture; times are from the first sample sent.
type heardTurn struct {
	started, committed, sound time.Duration
	ends                      int // ends of the turn before its end: false ones
	words                     string
}

// open starts the speech engines, once.
func (b *voiceBench) open(ctx context.Context) (err error) {
	if b.engines != nil {
		return nil
	}
	if b.engines, err = speechEngines(b.home, "warn"); err != nil {
		return err
	}
	return b.engines.Warm(ctx)
}

// turns measures hearing and first sound with the real engines and a lead agent that takes
// 150 ms: server_vad on a few turns, semantic_vad on the corpus.
func (b *voiceBench) turns(ctx context.Context) ([]voiceBenchRow, error) {
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	var fixtures []spokenFixture
	var heard []heardTurn
	for n := range b.fixtures {
		f, err := b.fixture(ctx, n)
		if err != nil {
			return nil, err
		}
		h, err := b.converse(ctx, &voice.Sessions{}, f, turn.ServerVAD, false)
		if err != nil {
			return nil, err
		}
		fixtures, heard = append(fixtures, f), append(heard, h)
	}
	rows := b.turnRows(turn.ServerVAD, fixtures, heard)
	// A fixed silence of 500 ms is what was asked for.
	rows[1].OK, rows[1].Bar, rows[1].Note = nil, "-", "500 ms of it are the silence that its setting wants"
	fixtures, heard, err := b.playCorpus(ctx)
	if err != nil {
		return rows, err
	}
	return append(rows, b.turnRows(turn.SemanticVAD, fixtures, heard)...), nil
}

// turnRows are the figures of one mode. False ends are counted against turns with a pause:
// others can have none.
func (b *voiceBench) turnRows(mode turn.Mode, fixtures []spokenFixture, heard []heardTurn) []voiceBenchRow {
	var onset, end, first []time.Duration
	var falseEnds, paused int
	for i, f := range fixtures {
		h := heard[i]
		fmt.Fprintf(b.log, "  %s %d of %d, voice %s, pause %v: speech after %v, end after %v, first sound after %v, %d false ends, said %q, heard %q\n", mode, i+1, len(fixtures), f.voice, f.pause,
			(h.started - f.onset).Round(time.Millisecond), (h.committed - f.end).Round(time.Millisecond), (h.sound - f.end).Round(time.Millisecond), h.ends, f.text, h.words)
		onset, end, first = append(onset, h.started-f.onset), append(end, h.committed-f.end), append(first, h.sound-f.end)
		if f.pause > 0 {
			paused++
			falseEnds += min(1, h.ends)
		}
	}
	name := string(mode)
	of := fmt.Sprintf("%d turns, %d with a pause within; real engines, on the real clock", len(fixtures), paused)
	ok := float64(falseEnds) <= 0.05*float64(paused)
	return []voiceBenchRow{
		atMost(name+"_onset", name+": speech_started after the onset, p95", quantile(onset, 0.95), 200*time.Millisecond, of),
		atMost(name+"_end_p50", name+": end of turn after the last word, p50", quantile(end, 0.5), 500*time.Millisecond, of),
		atMost(name+"_end_p95", name+": the same, p95", quantile(end, 0.95), 800*time.Millisecond, of),
		{name + "_false", name + ": turns that ended at a pause within", "<= 5 %", fmt.Sprintf("%d of %d", falseEnds, paused), &ok, "pauses of 200 to 600 ms"},
		atMost(name+"_ttfa_p50", name+": first sound (answer or acknowledgement) after the last word, p50", quantile(first, 0.5), 1200*time.Millisecond, "lead of 150 ms"),
		atMost(name+"_ttfa_p95", name+": the same, p95", quantile(first, 0.95), 1800*time.Millisecond, ""),
	}
}

func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	s := slices.Clone(all)
	slices.Sort(s)
	return s[max(0, int(math.Ceil(q*float64(len(s))))-1)]
}

// converse plays a fixture to a new session as a microphone would, 20 ms at a time. A slow
// one has a lead agent that takes five seconds.
func (b *voiceBench) converse(ctx context.Context, sessions *voice.Sessions, f spokenFixture, mode turn.Mode, slow bool) (h heardTurn, err error) {
	detector, err := b.engines.VAD(ctx)
	if err != nil {
		return h, err
	}
	detection := turn.DefaultDetection()
	detection.Mode = mode
	if mode == turn.SemanticVAD {
		detection.Eagerness = turn.EagerAuto
	}
	wait := 150 * time.Millisecond
	if slow {
		wait = 5 * time.Second
	}
	s, err := sessions.Open(ctx, voice.Options{
		Config: turn.Config{Input: audio.PCM16, Output: audio.PCM16, Detection: detection, Voice: f.voice, Language: "en", Transcription: &turn.Transcription{Language: "en"}, Lead: slow},
		VAD:    detector, STT: hears{b.engines}, TTS: speaks{b.engines},
		Responder: &load.Answerer{First: wait, Word: 10 * time.Millisecond, Text: "It is going well, and all is green."},
	})
	if err != nil {
		return h, err
	}
	a, err := s.Attach(0)
	if err != nil {
		return h, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		_ = s.Do(closing, turn.Close{Reason: "done"})
		<-s.Ended()
	}()
	began := time.Now()
	heard := make(chan error, 1)
	go func() { heard <- h.listen(ctx, a, began, f.end) }()
	const step = audio.Rate / 50
	for i, pcm := 1, f.pcm; ; i++ {
		select {
		case <-time.After(time.Duration(i)*20*time.Millisecond - time.Since(began)):
		case err := <-heard:
			return h, err
		case <-ctx.Done():
			return h, ctx.Err()
		}
		piece := make([]float32, step)
		pcm = pcm[copy(piece, pcm):]
		if err := s.Append(ctx, "", audio.PCM16.Encode(nil, piece)); err != nil {
			return h, err
		}
		if time.Since(began) > f.end+time.Minute {
			return h, errors.New("no answer within a minute of the last word")
		}
	}
}

// listen notes what is told, until sound comes after the end of the turn.
func (h *heardTurn) listen(ctx context.Context, a *voice.Attachment, began time.Time, end time.Duration) error {
	for {
		o, err := a.Next(ctx)
		if errors.Is(err, io.EOF) {
			return errors.New("the session ended before it answered")
		}
		if err != nil {
			return err
		}
		at := time.Since(began)
		switch n := o.Notice.(type) {
		case turn.SpeechStarted:
			if h.started == 0 {
				h.started = at
			}
		case turn.Committed:
			if at < end {
				h.ends++
			} else if h.committed == 0 {
				h.committed = at
			}
		case turn.TranscriptCompleted:
			h.words += n.Text
		case turn.AudioDelta:
			if at > end && h.committed > 0 {
				h.sound = at
				return nil
			}
		}
	}
}
