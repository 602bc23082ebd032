package sample

// history is what the sampler remembers of prompt and answer: the last window
// tokens, in a row.
type history struct {
	window int     // the most tokens any option looks back
	tokens []int32 // the last of them is the newest; at least window of them where there were so many
	before int     // tokens that went before tokens[0]

	counted int // tokens whose occurrences changes counts: the window of the penalties
	changes *changes
	dry     *dry
}

// slack is how much longer than the window the row may get before the old part
// is thrown out, at least.
const slack = 256

func newHistory(window, counted int, c *changes, d *dry) *history {
	return &history{window: window, counted: counted, changes: c, dry: d}
}

func (h *history) accept(token int32) {
	if token < 0 {
		return // no token at all: it cannot be repeated
	}
	if len(h.tokens) >= h.window+max(h.window, slack) {
		gone := len(h.tokens) - h.window
		h.before += gone
		h.tokens = h.tokens[:copy(h.tokens, h.tokens[gone:])]
	}
	h.tokens = append(h.tokens, token)
	if h.counted > 0 {
		h.count(token)
	}
	if h.dry != nil {
		h.dry.accept(h)
	}
}

// count lets the window of the penalties slide on by a token.
func (h *history) count(token int32) {
	h.changes.at(token).count++
	if i := len(h.tokens) - 1 - h.counted; i >= 0 {
		h.changes.at(h.tokens[i]).count--
		h.changes.tidy(h.tokens[i])
	}
}

// last returns the newest n tokens, or all there are.
func (h *history) last(n int) []int32 {
	return h.tokens[max(0, len(h.tokens)-n):]
}

// end is the number of tokens there have been.
func (h *history) end() int { return h.before + len(h.tokens) }
