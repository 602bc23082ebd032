package audio

import "time"

const (
	// Rate is the number of samples in a second inside the program.
	Rate = 24000
	// FrameSamples is the length of a frame: 2/15 of a second, 133.33 ms.
	FrameSamples = 3200
	// ListenRate is the rate that speech detectors and recognisers are fed with.
	ListenRate = 16000
)

// Samples is a length or a place in sound at Rate. Times are counted with it and become
// milliseconds at the edge only, so that nothing drifts.
type Samples int64

// Milliseconds rounds down, as a player's own clock does: what it has not played
// whole it has not played.
func (s Samples) Milliseconds() int64 { return int64(s) * 1000 / Rate }

// Duration is exact to a nanosecond, rounded down.
func (s Samples) Duration() time.Duration {
	return time.Duration(int64(s)/Rate)*time.Second + time.Duration(int64(s)%Rate*int64(time.Second)/Rate)
}

// FromMilliseconds is how many samples ms milliseconds hold. It saturates rather than
// overflows.
func FromMilliseconds(ms int64) Samples {
	const most = int64(^uint64(0)>>1) / Rate
	switch {
	case ms > most:
		ms = most
	case ms < -most:
		ms = -most
	}
	return Samples(ms * Rate / 1000)
}

// Frame is FrameSamples samples at Rate.
type Frame [FrameSamples]float32
