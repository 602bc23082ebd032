package speech

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode"
	"unicode/utf8"
)

// Speak gives the sound of a text piece by piece, as soon as there is some. Leaving the
// range or ending ctx stops it; after an error nothing follows. A child that died before the first sound is replaced once.
func (e *Engines) Speak(ctx context.Context, u Utterance) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if len(u.Text) > maxText || !utf8.ValidString(u.Text) {
			yield(Chunk{}, fmt.Errorf("speak: a text of %d bytes: want valid UTF-8 of at most %d bytes at once", len(u.Text), maxText))
			return
		}
		if u.Language == "" {
			u.Language = guess(u.Text)
		}
		o := opening{Kind: "tts", Text: u.Text, Language: u.Language, Voice: u.Voice, Speed: u.Speed}
		begun, err := e.speakOnce(ctx, o, yield)
		if errors.Is(err, ErrLost) && !begun {
			_, err = e.speakOnce(ctx, o, yield)
		}
		if err != nil {
			yield(Chunk{}, fmt.Errorf("speak: %w", err))
		}
	}
}

// speakOnce speaks and reports whether there was sound. A reader that leaves is no error.
func (e *Engines) speakOnce(ctx context.Context, o opening, yield func(Chunk, error) bool) (begun bool, err error) {
	c, err := e.slow.get(ctx)
	if err != nil {
		return false, err
	}
	s, err := c.open(o)
	if err != nil {
		return false, err
	}
	defer s.Close()
	rate := 0
	for {
		a, err := s.next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return begun, nil
		case err != nil:
			return begun, err
		case a.kind == kRate:
			rate = a.rate
		case a.kind == kSound && len(a.pcm) > 0:
			begun = true
			if !yield(Chunk{Rate: rate, PCM: a.pcm}, nil) {
				return true, nil
			}
		}
	}
}

// guess is the language of a text by its script; "en" for Latin letters.
func guess(text string) string {
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Hangul, r):
			return "ko"
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			return "ja"
		case unicode.Is(unicode.Cyrillic, r):
			return "ru"
		}
	}
	for _, r := range text {
		if unicode.Is(unicode.Han, r) {
			return "zh"
		}
	}
	return "en"
}
