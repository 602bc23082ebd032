package answer

// Bounds of Repetition. A model that is caught in a loop goes on until a limit ends
// it; text that people want repeats itself too, but not for so long, or with
// something that changes from one line to the next (a number, a name), which is no
// period.
//
//   - A period of more than 64 tokens is a paragraph: by the time that one has come
//     often enough, a limit of the caller has been reached.
//   - The longest runs in Go's standard library are tables of one value, such as
//     encoding/base64's 16 lines of 16 times \xff: 1,100 tokens even if each byte
//     were one. 1,280 tokens are more than those, and 25 seconds of a loop at 50
//     tokens a second. (One file of its tests has the same word 762 times in a row:
//     nothing tells that from a loop.)
//   - A period of 64 tokens comes 20 times by then, so that no least number of times
//     is needed.
const (
	maxPeriod  = 64
	minRepeats = 1280
)

// Repetition finds out that an answer repeats itself without end: that its last
// 1,280 tokens are one period of at most 64 tokens over and over. The zero value is
// ready. It keeps 64 tokens.
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
		found = found || length >= minRepeats
	}
	r.last[r.count%maxPeriod] = token
	r.count++
	return found
}
