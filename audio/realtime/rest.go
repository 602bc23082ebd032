package realtime

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"dure/audio"
	"dure/audio/clause"
	"dure/audio/realtime/wire"
	"dure/audio/voice"
)

// noVoice says that there is no voice of a name.
func (s *Server) noVoice(name string) (note string, ok bool) {
	if name == "" || len(s.o.Voices) == 0 || slices.Contains(s.o.Voices, name) {
		return "", false
	}
	return fmt.Sprintf("there is no voice %q here, %s speaks; there are %s", name, s.o.Voices[0], strings.Join(s.o.Voices, ", ")), true
}

func missing(what string) error {
	return &wire.Error{Type: wire.TypeServer, Code: "engine_missing", Message: what + " is not installed: make voice, or dure voice install, fetches it"}
}

// speech answers POST /v1/audio/speech: the sound of a text, sent while it is made.
func (s *Server) speech(w http.ResponseWriter, r *http.Request) {
	if _, err := s.o.Identify(r, secretOf(r)); err != nil {
		refuse(w, err)
		return
	}
	body, err := readBody(r, 4*wire.MostSpeech)
	if err != nil {
		refuse(w, err)
		return
	}
	ask, warnings, err := wire.DecodeSpeech(body)
	if err == nil && s.o.TTS == nil {
		err = missing("an engine that speaks")
	}
	if err != nil {
		refuse(w, err)
		return
	}
	if note, ok := s.noVoice(ask.Voice); ok {
		warnings = append(warnings, wire.Warning{Param: "voice", Message: note})
	}
	warn(w, warnings)
	out := &sound{w: w, flush: http.NewResponseController(w), events: ask.Events, wav: ask.Format == "wav"}
	if err := s.speak(r.Context(), ask, out); err != nil && !out.begun {
		refuse(w, err)
	} else if err != nil {
		s.o.Log.Warn("speech ended early", "error", err)
		panic(http.ErrAbortHandler) // a client must not take a part for the whole
	}
}

// speak synthesises clause by clause.
func (s *Server) speak(ctx context.Context, ask wire.Speech, out *sound) error {
	language := clause.Language(ask.Text, "en")
	split, pieces := clause.Splitter{}.Feed(ask.Text)
	_, rest := split.Flush()
	for _, piece := range append(pieces, rest...) {
		u := voice.Utterance{Text: clause.Spoken(piece.Text, language), Language: language, Voice: ask.Voice, Speed: ask.Speed}
		var to *audio.Resampler
		for chunk, err := range s.o.TTS.Speak(ctx, u) {
			if err != nil {
				return err
			}
			if to == nil {
				if to, err = audio.NewResampler(chunk.Rate, audio.Rate); err != nil {
					return err
				}
			}
			if err := out.send(to.Feed(nil, chunk.PCM)); err != nil {
				return err
			}
		}
		if to != nil {
			if err := out.send(to.Flush(nil)); err != nil {
				return err
			}
		}
	}
	return out.end()
}

// sound is an answer that consists of sound.
type sound struct {
	w      http.ResponseWriter
	flush  *http.ResponseController
	events bool
	wav    bool
	begun  bool
}

func (o *sound) begin() error {
	if o.begun {
		return nil
	}
	o.begun = true
	kind := "audio/pcm;rate=24000"
	if o.wav {
		kind = "audio/wav"
	}
	if o.events {
		kind = "text/event-stream"
	}
	o.w.Header().Set("Content-Type", kind)
	o.w.Header().Set("X-Dure-Synthetic", audio.SyntheticLabel)
	if !o.wav {
		return nil
	}
	return o.bytes(audio.StreamWAV(audio.Rate, audio.SyntheticLabel))
}

func (o *sound) send(pcm []float32) error {
	if len(pcm) == 0 {
		return nil
	}
	if err := o.begin(); err != nil {
		return err
	}
	return o.bytes(audio.PCM16.Encode(nil, pcm))
}

func (o *sound) bytes(b []byte) error {
	_ = o.flush.SetWriteDeadline(time.Now().Add(30 * time.Second))
	if o.events {
		event, _ := json.Marshal(map[string]any{"type": "speech.audio.delta", "audio": base64.StdEncoding.EncodeToString(b)})
		b = []byte("data: " + string(event) + "\n\n")
	}
	if _, err := o.w.Write(b); err != nil {
		return err
	}
	return o.flush.Flush()
}

func (o *sound) end() error {
	if err := o.begin(); err != nil {
		return err
	}
	if !o.events {
		return nil
	}
	_, err := io.WriteString(o.w, `data: {"type":"speech.audio.done","usage":{"input_tokens":0,"output_tokens":0,"total_tokens":0}}`+"\n\n")
	return errors.Join(err, o.flush.Flush())
}

// mostFile is the longest file that is transcribed, as in the API.
const mostFile = 25 << 20

// transcribe answers POST /v1/audio/transcriptions: what is said in a WAV file.
func (s *Server) transcribe(w http.ResponseWriter, r *http.Request) {
	if _, err := s.o.Identify(r, secretOf(r)); err != nil {
		refuse(w, err)
		return
	}
	ask, err := readTranscription(w, r)
	if err == nil && s.o.STT == nil {
		err = missing("an engine that understands speech")
	}
	if err != nil {
		refuse(w, err)
		return
	}
	text, err := s.listen(r.Context(), ask)
	if err != nil {
		refuse(w, err)
		return
	}
	warn(w, ask.warnings)
	length := float64(len(ask.pcm)) / audio.ListenRate
	switch {
	case ask.stream:
		w.Header().Set("Content-Type", "text/event-stream")
		event, _ := json.Marshal(map[string]any{"type": "transcript.text.done", "text": text.Text, "usage": usageOf(length)})
		fmt.Fprintf(w, "data: %s\n\n", event)
	case ask.format == "text":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, text.Text+"\n")
	case ask.format == "verbose_json":
		answer(w, nil, map[string]any{"task": "transcribe", "language": text.Language, "duration": length, "text": text.Text, "usage": usageOf(length)})
	default:
		answer(w, nil, map[string]any{"text": text.Text, "usage": usageOf(length)})
	}
}

func usageOf(length float64) map[string]any {
	return map[string]any{"type": "duration", "seconds": int64(length + 0.999)}
}

func (s *Server) listen(ctx context.Context, ask transcription) (voice.Transcript, error) {
	t, err := s.o.STT.Start(ctx, voice.ListenOptions{Language: ask.language, Prompt: ask.prompt})
	if err != nil {
		return voice.Transcript{}, err
	}
	defer t.Close()
	if err := t.Feed(ask.pcm); err != nil {
		return voice.Transcript{}, err
	}
	return t.Finish(ctx)
}

// transcription is what a client asks to be transcribed.
type transcription struct {
	pcm                      []float32 // at audio.ListenRate
	language, prompt, format string
	stream                   bool
	warnings                 []wire.Warning
}

func readTranscription(w http.ResponseWriter, r *http.Request) (t transcription, err error) {
	bad := func(param, format string, args ...any) error {
		return &wire.Error{Type: wire.TypeInvalid, Code: wire.CodeValue, Param: param, Message: fmt.Sprintf(format, args...)}
	}
	r.Body = http.MaxBytesReader(w, r.Body, mostFile+1<<20)
	if err := r.ParseMultipartForm(mostFile); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return t, &wire.Error{Type: wire.TypeInvalid, Code: wire.CodeTooLarge, Message: fmt.Sprintf("the file is larger than %d MiB", mostFile>>20)}
		}
		return t, bad("", "a multipart/form-data body with a file is expected: %v", err)
	}
	defer r.MultipartForm.RemoveAll()
	for name, values := range r.MultipartForm.Value {
		if err := t.set(name, values[0], bad); err != nil {
			return t, err
		}
	}
	files := r.MultipartForm.File["file"]
	if len(files) != 1 {
		return t, bad("file", "one file is expected, and there are %d", len(files))
	}
	f, err := files[0].Open()
	if err != nil {
		return t, err
	}
	defer f.Close()
	wav, err := audio.ReadWAV(f, 48000*3600)
	if err != nil {
		return t, bad("file", "%v; WAV files are read here: ffmpeg -i yours -ar 16000 -ac 1 it.wav makes one", err)
	}
	to, err := audio.NewResampler(wav.Rate, audio.ListenRate)
	if err != nil {
		return t, bad("file", "%v", err)
	}
	t.pcm = to.Flush(to.Feed(nil, wav.PCM))
	return t, nil
}

func (t *transcription) set(name, value string, bad func(param, format string, args ...any) error) (err error) {
	switch strings.TrimSuffix(name, "[]") {
	case "model":
	case "language":
		t.language = value
	case "prompt":
		t.prompt = value
	case "stream":
		if t.stream, err = strconv.ParseBool(value); err != nil {
			return bad(name, "true or false, not %q", value)
		}
	case "response_format":
		if value != "json" && value != "text" && value != "verbose_json" {
			return bad(name, `%q is not made here: ask for "json", "text" or "verbose_json"`, value)
		}
		t.format = value
	case "temperature", "chunking_strategy", "include", "timestamp_granularities", "keywords", "languages", "known_speaker_names", "known_speaker_references":
		t.warnings = append(t.warnings, wire.Warning{Param: name, Message: "has no effect here"})
	default:
		return bad(name, "there is no such field")
	}
	return nil
}
