package llm

import (
	"dure/inference/engine"
	"dure/kvcache"
)

// trail is how far the layers for further tokens have read a sequence's text, and the
// hidden rows of the model that they still want for it. They read a token together
// with the row of the place before it. Rows come only of what the model computes
// itself, not of what the cache brings: places without a row before them are left out,
// which makes guesses worse there and nothing else.
type trail struct {
	width int
	lease kvcache.LeaseID
	// text is what the model holds, as far as it is known here.
	text []engine.Token
	// end: places below it were read, or left out. top: places below it may have
	// cells; those from end on are of guesses.
	end, top int
	// rows of the places from first on, one behind the other.
	first int
	rows  []float32
}

// behind is the place behind that of the last row.
func (t *trail) behind() int { return t.first + len(t.rows)/t.width }

// row of a place.
func (t *trail) row(place int) []float32 {
	at := (place - t.first) * t.width
	return t.rows[at : at+t.width]
}

// enter goes over to a text of which the model holds so much.
func (t *trail) enter(lease kvcache.LeaseID, text []engine.Token) {
	known := common(t.text, text)
	t.lease, t.end = lease, min(t.end, known)
	t.text = append(t.text[:known], text[known:]...)
	if more := t.behind() - known; known == len(text) && more >= 0 && more*t.width < len(t.rows) {
		t.rows = t.rows[:len(t.rows)-more*t.width]
		return
	}
	t.begin(len(text))
}

// begin drops the rows; the next one is of a place. Before the first place there is a
// row of zeros.
func (t *trail) begin(place int) {
	if t.first, t.rows = place, t.rows[:0]; place == 0 {
		t.first, t.rows = -1, append(t.rows, make([]float32, t.width)...)
	}
}

// keep takes note of tokens that the model computed at a place, whose rows are
// appended next.
func (t *trail) keep(place int, tokens []engine.Token) {
	t.text = append(t.text, tokens...)
	if t.behind() != place {
		t.begin(place)
	}
}

// from is the first place that can be read; those up to the end of the text follow.
func (t *trail) from() int { return min(max(t.end, t.first+1), len(t.text)) }

// due is how many places can be read.
func (t *trail) due() int { return len(t.text) - t.from() }

// read takes note that places below one were read, whose rows are of no more use but
// for the last.
func (t *trail) read(end int) {
	t.end, t.top = end, max(t.top, end)
	if drop := end - 1 - t.first; drop > 0 {
		t.rows = append(t.rows[:0], t.rows[drop*t.width:]...)
		t.first = end - 1
	}
}

// forget everything but the width.
func (t *trail) forget() { *t = trail{width: t.width, text: t.text[:0], rows: t.rows[:0]} }
