package answer

// Bounds of Repetition. A model that is caught in a loop goes on for thousands of
// tokens; text that people want repeats itself too, but shortly, or with something
// that changes from one line to the next (a number, a name), which is no period.
//
//   - A period of more than 64 tokens is a paragraph; by the time that it has come
//     twelve times, a limit of the caller has been reached.
//   - Twelve times: lists and tables have ten equal rows at times, rulers and
//     borders have more, which is why there is a least length as well.
//   - 256 tokens: a ruler of dashes or an indentation is shorter, as tokens hold
//     runs of the same character.
const (
	maxPeriod  = 64
	minTimes   = 12
	minRepeats = 256
)

// Repetition finds out that an answer repeats itself without end: that its last
// tokens are one period over and over, of at most 64 tokens, at least 12 times and
// at least 256 tokens long. The zero value is ready. It keeps 64 tokens.
//
// For each period it counts how long every token has been the one a period before:
// at most 64 comparisons a token, whatever the length of the answer.
type Repetition struct {
	last  [maxPeriod]int32 // the last tokens, by position modulo maxPeriod
	equal [maxPeriod]int   // equal[p-1]: that many last tokens are those p before
	count int
}

// Push takes the next token. True: the answer repeats itself, this token included.
func (r *Repetition) Push(token int32) bool {
	found := false
	for period := 1; period <= min(maxPeriod, r.count); period++ {
		if r.last[(r.count-period)%maxPeriod] != token {
			r.equal[period-1] = 0
			continue
		}
		r.equal[period-1]++
		// The first period equals nothing before it.
		length := r.equal[period-1] + period
		found = found || length >= max(minRepeats, minTimes*period)
	}
	r.last[r.count%maxPeriod] = token
	r.count++
	return found
}
