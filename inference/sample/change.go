package sample

import (
	"math"
	"math/bits"

	"dure/inference"
)

// ban is the bias from which on a token can never be drawn, as OpenAI has it.
const ban = -100

// change says how the logit of one token differs from the row's.
type change struct {
	id     int32   // token + 1; 0 marks an empty slot
	bias   float32 // -Inf bans
	count  int32   // occurrences in the window of the penalties
	repeat int32   // tokens of the repetition that the token would extend
}

func (c change) token() int32 { return c.id - 1 }

// changes are the tokens whose logits differ from the row's: a hash table with
// open addressing that also forgets, so that its size follows what the windows
// hold and not the vocabulary. It is at most half full.
type changes struct {
	slots []change // a power of two of them
	used  int
	shift int // what is left of a 32-bit hash after it is the slot

	repeat, frequency, presence float32
	dry                         *dry
}

// newChanges makes the table with the request's biases in it. The penalties
// are the effective ones.
func newChanges(p inference.Params, d *dry) *changes {
	t := &changes{
		repeat: p.Penalties.Repeat, frequency: p.Penalties.Frequency, presence: p.Penalties.Presence, dry: d,
	}
	t.resize(64)
	for _, b := range p.LogitBias {
		switch {
		case b.Bias <= ban:
			t.at(b.Token).bias = float32(math.Inf(-1))
		case b.Bias != 0:
			t.at(b.Token).bias = b.Bias
		}
	}
	return t
}

// effectivePenalties puts the defaults in; LastN 0 says that they are off.
func effectivePenalties(p inference.Penalties) inference.Penalties {
	if p.Repeat == 0 {
		p.Repeat = 1
	}
	switch {
	case p.Repeat == 1 && p.Frequency == 0 && p.Presence == 0:
		p.LastN = 0
	case p.LastN == 0:
		p.LastN = DefaultLastN
	case p.LastN < 0:
		p.LastN = MaxHistory
	}
	return p
}

// logit is what a token's logit becomes, in llama.cpp's order and in its
// precision: bias, penalties, DRY.
func (t *changes) logit(c change, v float32) float32 {
	if math.IsInf(float64(c.bias), -1) {
		return c.bias
	}
	v += c.bias
	if c.count > 0 {
		if v <= 0 {
			v *= t.repeat
		} else {
			v /= t.repeat
		}
		v -= float32(float32(c.count)*t.frequency) + t.presence
	}
	if c.repeat > 0 {
		v -= t.dry.penalty(c.repeat)
	}
	return v
}

// has reports whether a token's logit differs.
func (t *changes) has(token int32) bool { return t.slots[t.slot(token)].id != 0 }

// at returns the entry of a token, made if there was none. It is valid until
// the table changes.
func (t *changes) at(token int32) *change {
	i := t.slot(token)
	if t.slots[i].id == 0 {
		if t.used++; 2*t.used > len(t.slots) {
			t.resize(2 * len(t.slots))
			i = t.slot(token)
		}
		t.slots[i].id = token + 1
	}
	return &t.slots[i]
}

// tidy forgets a token that has no change any more.
func (t *changes) tidy(token int32) {
	i := t.slot(token)
	if c := t.slots[i]; c.id == 0 || c.bias != 0 || c.count != 0 || c.repeat != 0 {
		return
	}
	t.used--
	// The entries behind it move up as far as their own first slot allows, so
	// that no search ends at the gap too early.
	mask := len(t.slots) - 1
	for j := (i + 1) & mask; t.slots[j].id != 0; j = (j + 1) & mask {
		if (j-t.home(t.slots[j].token()))&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = change{}
}

// home is where the search for a token begins (Fibonacci hashing).
func (t *changes) home(token int32) int { return int(uint32(token) * 0x9e3779b1 >> t.shift) }

// slot is where a token is or would be.
func (t *changes) slot(token int32) int {
	i := t.home(token)
	for t.slots[i].id != token+1 && t.slots[i].id != 0 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	return i
}

func (t *changes) resize(n int) {
	old := t.slots
	t.slots, t.shift = make([]change, n), 32-bits.TrailingZeros(uint(n))
	for _, c := range old {
		if c.id != 0 {
			t.slots[t.slot(c.token())] = c
		}
	}
}

// rowWeight is the sum of the weights of a whole row at a temperature, with the
// changes in it; see rowWeight below. A nil table changes nothing.
func (t *changes) rowWeight(logits []float32, largest float32, temperature float64) float64 {
	sum := rowWeight(logits, largest, temperature)
	if t == nil {
		return sum
	}
	for _, c := range t.slots {
		if c.id == 0 || int(c.token()) >= len(logits) {
			continue
		}
		v := logits[c.token()]
		sum += fastWeight(t.logit(c, v), largest, 1/temperature) - fastWeight(v, largest, 1/temperature)
	}
	return sum
}
