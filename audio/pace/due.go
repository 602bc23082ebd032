package pace

import (
	"time"

	"dure/audio"
)

// Due is when frame k is due after the first: k * 2/15 s, rounded down to a nanosecond,
// without any error that adds up. k may be up to 10^9, four years.
func Due(k int64) time.Duration { return time.Duration(k * 2 * int64(time.Second) / 15) }

// Next is the number of the first frame that is due after t.
func Next(t time.Duration) int64 {
	if t < 0 {
		return 0
	}
	k := int64(t) * 15 / (2 * int64(time.Second))
	for Due(k) <= t {
		k++
	}
	return k
}

// Ahead is how much sound may be sent before it is played: two frames, so that a stop
// never has more than 266 ms to flush.
const Ahead = 2 * audio.FrameSamples

// Fade is how much of the last sound is repeated, fading, when the next is not there.
const Fade = audio.Rate / 50

// Playout is a model of a person's playout buffer. The zero value is empty. It counts in
// samples since sound last began, so that it does not drift however long that is.
type Playout struct {
	began   time.Duration // when the sound that is played began
	count   audio.Samples // sent since then
	running bool          // sound is being played, as far as can be known
	// Slack is how long the player waits before it begins, so that frames that are made
	// one by one may come a little unevenly.
	Slack time.Duration
}

// end is when all that was sent will have been played.
func (p *Playout) end() time.Duration { return p.began + p.count.Duration() }

// Room is how much may be sent now, to the nearest sample.
func (p *Playout) Room(now time.Duration) audio.Samples {
	ahead := p.end() - now
	if ahead <= 0 {
		return Ahead
	}
	return max(0, Ahead-audio.Samples((int64(ahead)*audio.Rate+int64(time.Second)/2)/int64(time.Second)))
}

// Left is how long what was sent will still be played.
func (p *Playout) Left(now time.Duration) time.Duration { return max(0, p.end()-now) }

// Sent notes that n samples were sent.
func (p *Playout) Sent(now time.Duration, n audio.Samples) {
	if !p.running || p.end() < now {
		p.began, p.count = now+p.Slack, 0
	}
	p.count += n
	p.running = true
}

// Drained reports, once, that what was sent has been played out.
func (p *Playout) Drained(now time.Duration) bool {
	if !p.running || p.end() > now {
		return false
	}
	p.running = false
	return true
}

// Stop empties the buffer: the client drops what it has not played.
func (p *Playout) Stop(now time.Duration) {
	p.began, p.count, p.running = min(now, p.end()), 0, false
}

// Conceal makes the sound for an underrun: the end of what was sent last, repeated while it
// fades to nothing. last may be shorter than a fade, or empty.
func Conceal(last []float32) []float32 {
	out := make([]float32, Fade)
	tail := last[max(0, len(last)-Fade):]
	if len(tail) == 0 {
		return out
	}
	for i := range out {
		// Backwards first: the sound goes on without a step where it broke off.
		at := len(tail) - 1 - i%len(tail)
		out[i] = tail[at] * float32(Fade-i) / Fade
	}
	return out
}
