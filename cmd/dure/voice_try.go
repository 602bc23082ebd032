package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dure/audio"
	"dure/audio/speech"
)

// said is what `dure voice say --json` tells.
type said struct {
	Text    string  `json:"text"`
	Rate    int     `json:"rate"`
	Seconds float64 `json:"seconds"`
	First   float64 `json:"first_sound_ms"` // from the request to the first sound
	Took    float64 `json:"took_ms"`
	RTF     float64 `json:"real_time_factor"` // took / length; below 1 is faster than speech
	Out     string  `json:"out"`
}

func voiceSayCommand() *cobra.Command {
	var out, voice, language string
	var speed float64
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "say TEXT --out FILE.wav",
		Short:   "Speak a text into a sound file",
		Example: "  dure voice say 'The tests have passed.' --out answer.wav\n  dure voice say '테스트가 끝났습니다' --out answer.wav",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			if out == "" {
				return fmt.Errorf("dure voice say: --out names no file")
			}
			if speed < 0.25 || speed > 4 {
				return fmt.Errorf("dure voice say: --speed %g: want 0.25 to 4", speed)
			}
			engines, err := warmEngines(ctx)
			if err != nil {
				return err
			}
			defer engines.Close()
			s := said{Text: args[0], Out: out}
			pcm, err := s.speak(ctx, engines, speech.Utterance{Text: args[0], Language: language, Voice: voice, Speed: speed})
			if err != nil {
				return err
			}
			if err := writeSound(out, s.Rate, pcm); err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(s)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %.1f s at %d Hz; first sound after %.0f ms, all after %.0f ms (real-time factor %.3f)\n",
				out, s.Seconds, s.Rate, s.First, s.Took, s.RTF)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "the WAV file to write")
	f.StringVar(&voice, "voice", "", "name of a voice (see dure voice list); empty is the language's first")
	f.StringVar(&language, "language", "", "en, ko, ...; empty is guessed from the text's script")
	f.Float64Var(&speed, "speed", 1, "0.25 to 4")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// speak collects the sound of a text and fills s in.
func (s *said) speak(ctx context.Context, engines *speech.Engines, u speech.Utterance) ([]float32, error) {
	var pcm []float32
	began := time.Now()
	for chunk, err := range engines.Speak(ctx, u) {
		if err != nil {
			return nil, err
		}
		if s.Rate == 0 {
			s.First = ms(time.Since(began))
		}
		s.Rate = chunk.Rate
		pcm = append(pcm, chunk.PCM...)
	}
	if len(pcm) == 0 {
		return nil, fmt.Errorf("the voice found nothing to say in %q", u.Text)
	}
	s.Took = ms(time.Since(began))
	s.Seconds = float64(len(pcm)) / float64(s.Rate)
	s.RTF = s.Took / 1000 / s.Seconds
	return pcm, nil
}

// hearing is what `dure voice hear --json` tells.
type hearing struct {
	File    string  `json:"file"`
	Text    string  `json:"text"`
	Lang    string  `json:"language"`
	Seconds float64 `json:"seconds"`
	Took    float64 `json:"took_ms"`
	RTF     float64 `json:"real_time_factor"`
	// Speech are the stretches in which somebody spoke, in seconds from the beginning.
	Speech [][2]float64 `json:"speech"`
}

func voiceHearCommand() *cobra.Command {
	var language string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "hear FILE.wav",
		Short:   "Recognise the speech of a sound file",
		Example: "  dure voice hear answer.wav\n  dure voice hear meeting.wav --language ko --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			pcm, err := readSound(args[0])
			if err != nil {
				return err
			}
			engines, err := warmEngines(ctx)
			if err != nil {
				return err
			}
			defer engines.Close()
			h := hearing{File: args[0], Seconds: float64(len(pcm)) / audio.ListenRate}
			began := time.Now()
			if err := h.listen(ctx, engines, pcm, language); err != nil {
				return err
			}
			h.Took = ms(time.Since(began))
			h.RTF = h.Took / 1000 / max(h.Seconds, 1e-3)
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(h)
			}
			fmt.Fprintln(cmd.OutOrStdout(), h.Text)
			fmt.Fprintf(cmd.ErrOrStderr(), "%.1f s in %.0f ms (real-time factor %.3f), speech %v s\n", h.Seconds, h.Took, h.RTF, h.Speech)
			return nil
		},
	}
	cmd.Flags().StringVar(&language, "language", "", "en, ko, ...; empty is the first recogniser's")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listen finds where somebody speaks, and recognises the whole.
func (h *hearing) listen(ctx context.Context, engines *speech.Engines, pcm []float32, language string) error {
	detector, err := engines.VAD(ctx)
	if err != nil {
		return err
	}
	defer detector.Close()
	chances, err := detector.Feed(nil, pcm)
	if err != nil {
		return err
	}
	h.Speech = stretches(chances, float64(detector.Hop())/audio.ListenRate)
	var texts []string
	for first := true; first || len(pcm) > 0; first = false {
		n := min(len(pcm), speech.MaxUtterance)
		u, err := engines.Listen(speech.ListenOptions{Language: language})
		if err != nil {
			return err
		}
		if err := u.Feed(pcm[:n]); err != nil {
			return err
		}
		t, err := u.Finish(ctx)
		if err != nil {
			return err
		}
		texts = append(texts, t.Text)
		h.Lang = t.Language
		pcm = pcm[n:]
	}
	h.Text = strings.TrimSpace(strings.Join(texts, " "))
	return nil
}

// stretches joins hops of speech that are less than 300 ms apart.
func stretches(chances []float32, hop float64) [][2]float64 {
	out := [][2]float64{}
	for i, p := range chances {
		if p < 0.5 {
			continue
		}
		from, to := float64(i)*hop, float64(i+1)*hop
		if n := len(out); n > 0 && from-out[n-1][1] < 0.3 {
			out[n-1][1] = to
			continue
		}
		out = append(out, [2]float64{from, to})
	}
	return out
}

// warmEngines are the engines, loaded.
func warmEngines(ctx context.Context) (*speech.Engines, error) {
	home, err := homeDir()
	if err != nil {
		return nil, err
	}
	engines, err := speechEngines(home, "warn")
	if err != nil {
		return nil, err
	}
	if err := engines.Warm(ctx); err != nil {
		engines.Close()
		return nil, err
	}
	return engines, nil
}

// mostSound is how much of a file is read: an hour.
const mostSound = 3600 * 48000

// readSound reads a file and makes it 16 kHz.
func readSound(path string) ([]float32, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	wav, err := audio.ReadWAV(f, mostSound)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r, err := audio.NewResampler(wav.Rate, audio.ListenRate)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r.Flush(r.Feed(nil, wav.PCM)), nil
}

// writeSound writes a file that says of itself that no person spoke it.
func writeSound(path string, rate int, pcm []float32) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var w io.Writer = f
	return audio.WriteWAV(w, rate, pcm, audio.SyntheticLabel)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
