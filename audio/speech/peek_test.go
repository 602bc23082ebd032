package speech_test

import (
	"testing"
	"time"

	"dure/audio/enginetest"
	"dure/audio/speech"
)

// A recogniser that is asked in a pause tells the words of all sound that it was fed by
// then, though less than a second of it is new; the whole text is right all the same.
func TestPeek(t *testing.T) {
	e := openEngines(t)
	sentence := enginetest.Sentences[0]
	pcm := speak(t, e, speech.Utterance{Text: sentence})
	type partial struct {
		text  string
		heard int
	}
	told := make(chan partial, 64)
	h, err := e.Listen(speech.ListenOptions{Language: "en", Partial: func(text string, heard int) { told <- partial{text, heard} }})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, end := range []int{len(pcm) - 3000, len(pcm)} {
		from := 0
		if end == len(pcm) {
			from = end - 3000
		}
		if err := h.Feed(pcm[from:end]); err != nil {
			t.Fatal(err)
		}
		h.Peek()
		limit := time.After(time.Minute)
		for heard := 0; heard < end; {
			select {
			case p := <-told:
				heard = p.heard
				if heard == end && p.text == "" {
					t.Errorf("no words of %d samples", end)
				}
			case <-limit:
				t.Fatalf("the words of %d samples were not told", end)
			}
		}
	}
	got, err := h.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if wrong, n := enginetest.WordErrors(sentence, got.Text); wrong > n/4 {
		t.Errorf("got %q, want about %q", got.Text, sentence)
	}
}
