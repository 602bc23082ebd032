package turn

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"dure/audio"
	"dure/audio/clause"
)

// utterance is a clause that is spoken: which sound of its item is which words.
type utterance struct {
	n        int
	text     string // as the transcript has it, with the space before it
	filler   bool   // said to bridge a wait: no part of the answer
	done     bool
	from, to audio.Samples
}

// speak has a clause spoken, and writes it into the transcript.
func (st *step) speak(r *response, text string, filler bool) {
	st.openMessage(r)
	from := r.generated
	if n := len(r.said); n > 0 {
		from = r.said[n-1].to
	}
	written := text
	if r.text != "" && !dense(r.text, text) {
		written = " " + text
	}
	u := utterance{n: len(r.said), text: written, filler: filler, from: from, to: from}
	r.said = append(r.said, u)
	r.text += written
	st.emit(AudioTranscript{r.at(), written})
	language := clause.Language(text, st.speakLanguage())
	st.do(Speak{Response: r.ID, Utterance: u.n, Text: text, Language: language, Voice: r.Voice, Speed: st.config.Speed, Filler: filler})
}

// dense reports whether no space belongs between two texts.
func dense(a, b string) bool {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	scripts := []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana}
	return unicode.In(last, scripts...) && unicode.In(first, scripts...) || strings.ContainsRune("。！？、，」", last)
}

func (st *step) synthesised(e Synthesised) {
	r := st.edit(e.Response)
	if r == nil || e.Samples <= 0 || e.Utterance < 0 || e.Utterance >= len(r.said) || r.said[e.Utterance].done {
		return
	}
	if e.Utterance > 0 && !r.said[e.Utterance-1].done {
		return // utterances are spoken one after the other
	}
	u := &r.said[e.Utterance]
	if u.to == u.from {
		u.from = r.generated
	}
	r.generated += e.Samples
	u.to = r.generated
	st.State.generated += e.Samples
}

func (st *step) uttered(response string, n int, failure string) {
	r := st.edit(response)
	if r == nil || n < 0 || n >= len(r.said) || r.said[n].done {
		return
	}
	if n > 0 && !r.said[n-1].done {
		return
	}
	r.said[n].done = true
	if failure != "" {
		st.emit(Warning{"speech_failed", failure})
	}
	st.finishIfDone(r)
}

// due sends the next sound of a response, if it is still wanted.
func (st *step) due(e Due) {
	r := st.find(e.Response)
	if r == nil || e.Samples <= 0 || e.Samples > r.generated-r.sent || !st.attached {
		return
	}
	r = st.edit(e.Response)
	st.emit(AudioDelta{At: r.at(), From: r.sent, Samples: e.Samples, Epoch: st.epoch})
	r.sent += e.Samples
	st.State.sent += e.Samples
	st.State.voiced = true
	st.finishIfDone(r)
}

// heard is how much of the response's sound the person has heard.
func (r *response) heard(ahead audio.Samples) audio.Samples {
	if r.played >= 0 {
		return min(r.played, r.sent)
	}
	return max(0, r.sent-ahead)
}

// cutTo is a part of the item cut to the sound that was heard.
func (it *Item) cutTo(p Part, heard audio.Samples) Part {
	p.Samples = max(0, min(heard, it.sent))
	p.Text = wordsUpTo(it.said, p.Samples, true)
	p.Cut = true
	return p
}

// asHeard is the item as the person knows it: of an answer what they heard, without what
// only bridged a wait.
func (it *Item) asHeard() Item {
	out := *it
	if it.said == nil || len(it.Parts) == 0 {
		return out
	}
	p := it.Parts[0]
	p.Text = strings.TrimSpace(wordsUpTo(it.said, p.Samples, false))
	out.Parts = []Part{p}
	return out
}

// wordsUpTo gives the words that were spoken before a place in the sound. A clause that was
// cut counts by its share of time, rounded down to whole words: the person may have heard
// a little more, never less.
func wordsUpTo(said []utterance, to audio.Samples, fillers bool) string {
	var out strings.Builder
	for _, u := range said {
		if u.filler && !fillers {
			continue
		}
		switch {
		case u.done && u.to <= to && (u.to > u.from || to > 0):
			out.WriteString(u.text)
		case u.from >= to || u.to == u.from:
			return out.String()
		default:
			// Of a clause that is still being synthesised the length is not known;
			// what there is stands for all of it only if it is done.
			if u.done {
				out.WriteString(share(u.text, int64(to-u.from), int64(u.to-u.from)))
			} else {
				out.WriteString(share(u.text, int64(to-u.from), max(int64(u.to-u.from), slowest(u.text))))
			}
			return out.String()
		}
	}
	return out.String()
}

// slowest is a length of sound that a text does not exceed: about 130 ms for every weight
// of one.
func slowest(text string) int64 { return int64(clause.Weight(text)) * audio.Rate * 13 / 100 }

// share is the part of a text, cut at words, that num of den of its time hold.
func share(text string, num, den int64) string {
	if den <= 0 || num <= 0 {
		return ""
	}
	most := int64(clause.Weight(text)) * num / den
	weight, end := int64(0), 0
	for at, r := range text {
		if unicode.IsSpace(r) && weight > 0 && at > 0 {
			end = at
		}
		weight += int64(clause.Weight(string(r)))
		if weight > most {
			return text[:end]
		}
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
			end = at + utf8.RuneLen(r)
		}
	}
	return text
}
