package speech_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"dure/audio"
	"dure/audio/enginetest"
	"dure/audio/speech"
)

func benchEngines(b *testing.B) *speech.Engines {
	b.Helper()
	e, err := speech.New(command(b), enginetest.Config(b), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(e.Close)
	if err := e.Warm(b.Context()); err != nil {
		b.Fatal(err)
	}
	return e
}

func report(b *testing.B, each []time.Duration) {
	slices.Sort(each)
	for name, at := range map[string]int{"p50-ms": len(each) / 2, "p99-ms": len(each) * 99 / 100, "max-ms": len(each) - 1} {
		b.ReportMetric(float64(each[at].Microseconds())/1000, name)
	}
}

// BenchmarkDetector is the time from 20 ms of sound to its answer, alone and while the
// other child recognises and speaks without a pause.
func BenchmarkDetector(b *testing.B) {
	e := benchEngines(b)
	run := func(b *testing.B) {
		d, err := e.VAD(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		defer d.Close()
		var each []time.Duration
		pcm := make([]float32, audio.ListenRate/50)
		for b.Loop() {
			began := time.Now()
			if _, err := d.Feed(nil, pcm); err != nil {
				b.Fatal(err)
			}
			each = append(each, time.Since(began))
			time.Sleep(10 * time.Millisecond)
		}
		report(b, each)
	}
	b.Run("alone", run)
	b.Run("beside-work", func(b *testing.B) {
		stop := make(chan struct{})
		var all sync.WaitGroup
		pcm := speak(b, e, speech.Utterance{Text: enginetest.Sentences[0]})
		for range 2 {
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						hear(b, e, pcm, speech.ListenOptions{Language: "en"})
						speak(b, e, speech.Utterance{Text: enginetest.Sentences[1]})
					}
				}
			})
		}
		run(b)
		close(stop)
		all.Wait()
	})
}

// BenchmarkSpeak is the time to the first sound of a sentence, and all of it against its
// length.
func BenchmarkSpeak(b *testing.B) {
	e := benchEngines(b)
	var first []time.Duration
	took, length := 0.0, 0.0
	for i := 0; b.Loop(); i++ {
		began, samples := time.Now(), 0
		for c, err := range e.Speak(b.Context(), speech.Utterance{Text: enginetest.Sentences[i%10]}) {
			if err != nil {
				b.Fatal(err)
			}
			if samples == 0 {
				first = append(first, time.Since(began))
			}
			samples += len(c.PCM)
		}
		took += time.Since(began).Seconds()
		length += float64(samples) / audio.Rate
	}
	report(b, first)
	b.ReportMetric(took/length, "real-time-factor")
}

// BenchmarkListen is the time from the end of a sentence to its text.
func BenchmarkListen(b *testing.B) {
	e := benchEngines(b)
	var sound [][]float32
	for _, s := range enginetest.Sentences {
		sound = append(sound, speak(b, e, speech.Utterance{Text: s}))
	}
	var each []time.Duration
	took, length := 0.0, 0.0
	for i := 0; b.Loop(); i++ {
		pcm := sound[i%len(sound)]
		began := time.Now()
		hear(b, e, pcm, speech.ListenOptions{Language: "en"})
		each = append(each, time.Since(began))
		took += time.Since(began).Seconds()
		length += float64(len(pcm)) / audio.ListenRate
	}
	report(b, each)
	b.ReportMetric(took/length, "real-time-factor")
}
