package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"dure/audio"
	"dure/audio/realtime/client"
)

// talkOptions are those of `dure talk`.
type talkOptions struct {
	url, key, model, voice, instructions string
	lead                                 string
	in, out, text                        string
	json                                 bool
	wait                                 time.Duration
}

func talkCommand() *cobra.Command {
	var o talkOptions
	cmd := &cobra.Command{
		Use:   "talk",
		Short: "Speak with a model, by microphone or by sound files",
		Long: `Speak with a model of a running server. Without --in or --text it listens to the
microphone and plays the answers, with the system's arecord and aplay (package
alsa-utils), until Ctrl-C; speaking interrupts. With --in it plays a sound file to the
server as if somebody spoke it, and ends when it was answered; --out keeps what both
sides would have heard of the answers.`,
		Example: "  dure talk\n  dure talk --in question.wav --out answer.wav\n  dure talk --text 'What is the capital of France?' --out answer.wav",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			if o.in != "" && o.text != "" {
				return errors.New("--in and --text: one of them")
			}
			if o.key == "" {
				o.key = os.Getenv("OPENAI_API_KEY")
			}
			return o.run(ctx, cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	serverFlag(f, &o.url, "the server")
	f.StringVar(&o.key, "key", "", "API key, where the server wants one; else OPENAI_API_KEY")
	f.StringVar(&o.model, "model", "", "model; empty is the server's default")
	f.StringVar(&o.lead, "lead", "", "speak with the lead of this run of a team (dure swarm list); wants a key with the admin right, where keys are wanted")
	f.StringVar(&o.voice, "voice", "", "voice; empty is the server's default")
	f.StringVar(&o.instructions, "instructions", "", "what the model is told about its part")
	f.StringVar(&o.in, "in", "", "WAV file that is spoken to the server")
	f.StringVar(&o.text, "text", "", "text that is said to the server in writing")
	f.StringVar(&o.out, "out", "", "WAV file for the sound of the answers")
	f.BoolVar(&o.json, "json", false, "print the server's events, without their sound, one a line")
	f.DurationVar(&o.wait, "wait", 2*time.Minute, "how long an answer to --in or --text is waited for")
	return cmd
}

func (o *talkOptions) run(ctx context.Context, out io.Writer) error {
	if o.out != "" {
		if info, err := os.Stat(filepath.Dir(o.out)); err != nil || !info.IsDir() {
			return fmt.Errorf("--out %s: there is no folder %s", o.out, filepath.Dir(o.out))
		}
	}
	query := url.Values{"dure": {"1"}}
	if o.model != "" {
		query.Set("model", o.model)
	}
	if o.lead != "" {
		query.Set("lead", o.lead)
	}
	c, err := client.Dial(ctx, client.Options{URL: serverURL(o.url), Key: o.key, Query: query})
	var no *client.Refused
	switch {
	case errors.As(err, &no):
		return err
	case err != nil:
		return fmt.Errorf("%w\nIs a server running there? `dure serve` starts one", err)
	}
	defer c.Hangup()
	context.AfterFunc(ctx, func() { c.Hangup() })
	if err := c.Send(map[string]any{"type": "session.update", "session": o.session()}); err != nil {
		return err
	}
	t := &talk{talkOptions: *o, client: c, out: out}
	switch {
	case o.in != "" || o.text != "":
		err = t.once(ctx)
	default:
		err = t.live(ctx)
	}
	if ctx.Err() != nil {
		err = nil // the person ended it
	}
	if o.out != "" {
		err = errors.Join(err, writeSound(o.out, audio.Rate, t.heard))
	}
	return err
}

// session is the part of the session object that was asked for.
func (o *talkOptions) session() map[string]any {
	s := map[string]any{"type": "realtime", "audio": map[string]any{"input": map[string]any{"transcription": map[string]any{}}}}
	if o.voice != "" {
		s["audio"].(map[string]any)["output"] = map[string]any{"voice": o.voice}
	}
	if o.instructions != "" {
		s["instructions"] = o.instructions
	}
	return s
}

// talk is a conversation under way.
type talk struct {
	talkOptions
	client *client.Client
	out    io.Writer
	player player    // nil without loudspeakers
	heard  []float32 // of all answers
}

// once says one thing and waits for the answer.
func (t *talk) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.wait, fmt.Errorf("no answer within %v", t.wait))
	defer cancel()
	context.AfterFunc(ctx, func() { t.client.Close() })
	if t.text != "" {
		if err := t.client.Say(t.text); err != nil {
			return err
		}
	} else {
		pcm, err := readSpeech(t.in)
		if err != nil {
			return err
		}
		go t.speak(ctx, pcm)
	}
	err := t.listen(true)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// readSpeech is a file's sound at audio.Rate, with a second of silence that ends the turn.
func readSpeech(path string) ([]float32, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	wav, err := audio.ReadWAV(f, 48000*600)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	to, err := audio.NewResampler(wav.Rate, audio.Rate)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return append(to.Flush(to.Feed(nil, wav.PCM)), make([]float32, audio.Rate)...), nil
}

// speak sends sound as fast as it would be spoken, then silence as a microphone does.
func (t *talk) speak(ctx context.Context, pcm []float32) {
	const step = audio.Rate / 25
	tick := time.NewTicker(time.Second / 25)
	defer tick.Stop()
	for {
		piece := make([]float32, step)
		pcm = pcm[copy(piece, pcm):]
		if t.client.Append(piece) != nil {
			return // listen says why
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// listen prints and plays what the server tells, with once until a response has ended.
func (t *talk) listen(once bool) error {
	for {
		e, err := t.client.Next()
		var ended *client.Ended
		if errors.As(err, &ended) {
			return err
		}
		if err != nil {
			return fmt.Errorf("the conversation broke off, the server is gone: %w", err)
		}
		done, err := t.take(e)
		if err != nil || once && done {
			return err
		}
	}
}

func (t *talk) take(e *client.Event) (done bool, err error) {
	if e.Type == "response.output_audio.delta" {
		pcm, err := e.Sound()
		if err != nil {
			return false, err
		}
		t.heard = append(t.heard, pcm...)
		if t.player != nil {
			return false, t.player.play(pcm)
		}
		return false, nil
	}
	if t.json {
		if err := json.NewEncoder(t.out).Encode(e.Raw); err != nil {
			return false, err
		}
	} else {
		t.print(e)
	}
	switch e.Type {
	case "input_audio_buffer.speech_started":
		if t.player != nil {
			t.player.stop()
		}
	case "error":
		return false, fmt.Errorf("the server: %s", e.Error.Message)
	case "response.done":
		if d := e.Response.Details; e.Response.Status == "failed" && d != nil && d.Error != nil {
			return true, fmt.Errorf("no answer: %s", d.Error.Message)
		}
		return e.Response.Status != "cancelled", nil
	}
	return false, nil
}

func (t *talk) print(e *client.Event) {
	switch e.Type {
	case "conversation.item.input_audio_transcription.completed":
		fmt.Fprintf(t.out, "you:  %s\n", e.Transcript)
	case "response.output_audio_transcript.done":
		fmt.Fprintf(t.out, "dure: %s\n", e.Transcript)
	case "response.output_text.done", "dure.screen":
		fmt.Fprintf(t.out, "dure: %s\n", e.Text)
	case "dure.warning":
		fmt.Fprintf(t.out, "note: %s\n", e.Message)
	}
}
