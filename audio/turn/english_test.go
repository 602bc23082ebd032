package turn

import (
	"strings"
	"testing"
	"time"

	"dure/audio"
)

// What a small Whisper wrote of sentences that were cut at a pause, with the full stops that
// it likes to add, and of whole ones. Unknown is right for neither, and harms neither.
func TestEnglish(t *testing.T) {
	for words, want := range map[string]Verdict{
		// Cut.
		"Please tell me whether.": GoesOn, "We should wait because.": GoesOn, "Send the report to": GoesOn, "Good you look at the parser and...": GoesOn,
		"When you have finished the work.": GoesOn, "If the test fail again.": GoesOn, "before you change anything.": GoesOn, "Although it is late.": GoesOn,
		"The meeting is on Monday at.": GoesOn, "Tell the first agent that it should.": GoesOn, "What is the difference between?": GoesOn,
		"There were three problems the first was.": GoesOn, "She said that she was going to.": GoesOn, "I am looking for a": GoesOn,
		"I need apples, bananas.": Unknown, "My number is 555.": Unknown, "The Code is 7th 2.": Unknown, "The Code is 7 too.": Unknown,
		"Give me a list of all.": Unknown, "And you explain why the second.": Unknown, "How long does it take from?": Unknown, "open the window button": Unknown,
		"as soon as it is ready.": GoesOn, "Every time I started.": GoesOn, "The report needs.": Unknown, "Create a branch called": Unknown,
		// Whole.
		"If it fails again, call me.": Unknown, "What is it good for?": Unknown, "I have no idea what you are talking about.": Unknown,
		"My number is 555-1234.": Finishes, "Set the timer to 25 minutes.": Finishes, "Yes, please.": Finishes, "No, thank you.": Finishes,
		"Is there anything that I have to decide?": Finishes, "Could you ask the reviewer to look at it?": Finishes, "When do you think that it will be done?": Finishes,
		"Thanks, that is all for now.": Finishes, "Good morning.": Finishes, "Tell me how much time is left.": Finishes,
	} {
		if got := Finished(words); got != want {
			t.Errorf("%q: %d, want %d", words, got, want)
		}
	}
}

// semantic is a conversation with semantic_vad, after a second of speech and a pause.
func semantic(t *testing.T, pause int64) *world {
	w := begin(t, func(c *Config) { c.Detection.Mode, c.Detection.Eagerness = SemanticVAD, EagerAuto })
	w.hear(960, true)
	w.took()
	w.hear(pause, false)
	return w
}

// The words are asked for once in every pause that may be the end, and not in server_vad.
func TestPeek(t *testing.T) {
	w := semantic(t, 64)
	if got := w.took(); strings.Contains(got, "[Peek]") {
		t.Errorf("after 64 ms: %s", got)
	}
	w.hear(256, false)
	if got := strings.Count(w.took(), "[Peek]"); got != 1 {
		t.Errorf("asked %d times in a pause", got)
	}
	w.hear(320, true)
	w.hear(256, false)
	if got := strings.Count(w.took(), "[Peek]"); got != 1 {
		t.Errorf("asked %d times in the next pause", got)
	}
	w = begin(t, nil)
	w.hear(960, true)
	w.hear(256, false)
	if got := w.took(); strings.Contains(got, "[Peek]") {
		t.Errorf("server_vad: %s", got)
	}
}

// Words decide on the pause that they reach to, and on no other.
func TestFreshWordsDecide(t *testing.T) {
	for _, c := range []struct {
		words string
		stale bool
		ends  int64 // the first pause, in milliseconds, at which the turn has ended
	}{
		{"It is green.", false, 384}, {"It is green.", true, 640}, {"It is green and", false, 4000}, {"It is green and", true, 640}, {"it is", true, 640}, {"it's green", false, 640},
	} {
		w := semantic(t, 128)
		p := Partial{Item: w.s.in.speech, Text: c.words, To: w.s.in.end}
		if c.stale {
			p.To = w.s.in.last - 1
		}
		w.do(p)
		took := int64(128)
		for ; w.s.in.speech != "" && took < 10000; took += 32 {
			w.hear(32, false)
		}
		if took < c.ends || took >= c.ends+32 {
			t.Errorf("%q, stale %t: ended after %d ms, want %d", c.words, c.stale, took, c.ends)
		}
	}
}

// The words of one utterance tell nothing about the next.
func TestWordsAreForgotten(t *testing.T) {
	w := semantic(t, 128)
	w.do(Partial{Item: w.s.in.speech, Text: "It is green.", To: w.s.in.end})
	w.hear(640, false)
	w.hear(960, true)
	w.hear(480, false)
	if w.s.in.speech == "" {
		t.Error("the turn ended by words of the turn before")
	}
	w.now += time.Millisecond
	if w.s.in.wordsTo != 0 || w.s.in.words != "" || w.s.in.end < audio.Rate {
		t.Errorf("%+v", w.s.in)
	}
}
