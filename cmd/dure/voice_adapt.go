package main

import (
	"context"
	"iter"

	"dure/audio/speech"
	"dure/audio/voice"
)

// The speech engines as a voice session wants to see them.

type hears struct{ *speech.Engines }

// Start implements voice.STT.
func (h hears) Start(_ context.Context, o voice.ListenOptions) (voice.Transcriber, error) {
	heard, err := h.Listen(speech.ListenOptions{Language: o.Language, Partial: o.Partial})
	if err != nil {
		return nil, err
	}
	return transcriber{heard}, nil
}

type transcriber struct{ *speech.Heard }

// Finish implements voice.Transcriber.
func (t transcriber) Finish(ctx context.Context) (voice.Transcript, error) {
	text, err := t.Heard.Finish(ctx)
	return voice.Transcript{Text: text.Text, Language: text.Language}, err
}

type speaks struct{ *speech.Engines }

// Speak implements voice.TTS.
func (s speaks) Speak(ctx context.Context, u voice.Utterance) iter.Seq2[voice.Chunk, error] {
	return func(yield func(voice.Chunk, error) bool) {
		for chunk, err := range s.Engines.Speak(ctx, speech.Utterance(u)) {
			if !yield(voice.Chunk(chunk), err) {
				return
			}
		}
	}
}
