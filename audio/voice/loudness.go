package voice

import "math"

// loudness is a speech detector of last resort: it takes for speech what is clearly louder
// than the quietest sound lately. It is used where there is no other, and after a detector
// died.
type loudness struct {
	rest  []float32
	floor float64
}

const loudnessHop = 512

func (l *loudness) Hop() int { return loudnessHop }

func (l *loudness) Feed(dst, pcm []float32) ([]float32, error) {
	l.rest = append(l.rest, pcm...)
	for len(l.rest) >= loudnessHop {
		sum := 0.0
		for _, v := range l.rest[:loudnessHop] {
			sum += float64(v) * float64(v)
		}
		l.rest = l.rest[:copy(l.rest, l.rest[loudnessHop:])]
		dst = append(dst, l.judge(math.Sqrt(sum/loudnessHop)))
	}
	return dst, nil
}

// judge compares with a floor that falls at once and rises slowly.
func (l *loudness) judge(rms float64) float32 {
	const least = 0.003 // quieter is never speech
	if l.floor == 0 || rms < l.floor {
		l.floor = max(rms, 1e-5)
	} else {
		l.floor *= 1.005
	}
	switch ratio := rms / l.floor; {
	case rms < least:
		return 0
	case ratio >= 6 || rms > 0.05:
		return 1
	case ratio <= 3:
		return 0
	default:
		return float32((ratio - 3) / 3)
	}
}

func (l *loudness) Reset()       { l.rest, l.floor = l.rest[:0], 0 }
func (l *loudness) Close() error { return nil }
