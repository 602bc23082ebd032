package audio

import "fmt"

// Ring holds the latest part of an endless sound, by absolute places: the first sample
// ever put in is at 0. It grows as needed up to a limit. Not safe for use by two
// goroutines.
type Ring struct {
	buf        []float32
	start, end Samples // what is held
	limit      int
}

// NewRing makes one that holds at most limit samples.
func NewRing(limit Samples) *Ring { return &Ring{limit: int(limit)} }

// Start is the place of the first sample that is held; End the one behind the last.
func (r *Ring) Start() Samples { return r.start }

// End is where the next sample goes.
func (r *Ring) End() Samples { return r.end }

// Len is how much is held.
func (r *Ring) Len() Samples { return r.end - r.start }

// Append takes all of pcm, or nothing if it does not fit.
func (r *Ring) Append(pcm []float32) error {
	need := int(r.Len()) + len(pcm)
	if need > r.limit {
		return fmt.Errorf("append %d samples of sound: %d of at most %d are held", len(pcm), r.Len(), r.limit)
	}
	if need > len(r.buf) {
		r.grow(need)
	}
	for len(pcm) > 0 {
		n := copy(r.buf[r.index(r.end):], pcm)
		r.end += Samples(n)
		pcm = pcm[n:]
	}
	return nil
}

// Range gives what is held from one place to another, in two pieces where the ring wraps.
// They are valid until the next Append. What is not held is not given.
func (r *Ring) Range(from, to Samples) (a, b []float32) {
	from, to = max(from, r.start), min(to, r.end)
	if from >= to {
		return nil, nil
	}
	i, n := r.index(from), int(to-from)
	if i+n <= len(r.buf) {
		return r.buf[i : i+n], nil
	}
	return r.buf[i:], r.buf[:n-(len(r.buf)-i)]
}

// Forget drops what lies before a place. It never forgets what is still to come.
func (r *Ring) Forget(before Samples) {
	r.start = max(r.start, min(before, r.end))
}

func (r *Ring) index(at Samples) int { return int(at % Samples(len(r.buf))) }

func (r *Ring) grow(need int) {
	size := max(FrameSamples, 2*len(r.buf))
	for size < need {
		size *= 2
	}
	size = min(size, r.limit)
	a, b := r.Range(r.start, r.end)
	buf := make([]float32, size)
	old := Ring{buf: buf}
	for at, part := range [][]float32{a, b} {
		place := r.start
		if at == 1 {
			place += Samples(len(a))
		}
		for len(part) > 0 {
			n := copy(buf[old.index(place):], part)
			place += Samples(n)
			part = part[n:]
		}
	}
	r.buf = buf
}
