package device

import "dure/inference/device/nvml"

// Reading is a figure that may not be known. An unknown one has the zero value,
// which must not be taken for a figure. The zero Reading is unknown.
type Reading[T any] struct {
	Value T    `json:"value"`
	Known bool `json:"known"`
	// Why it is not known, for people; may be empty.
	Why string `json:"why,omitempty"`
}

// Is returns a known reading.
func Is[T any](v T) Reading[T] { return Reading[T]{Value: v, Known: true} }

// Unknown returns a reading that could not be had.
func Unknown[T any](why string) Reading[T] { return Reading[T]{Why: why} }

// from takes over what NVIDIA's library answered, as another type.
func from[A, B any](v nvml.Value[A], convert func(A) B) Reading[B] {
	switch {
	case v.Known:
		return Is(convert(v.V))
	case v.Err != nil:
		return Unknown[B](v.Err.Error())
	}
	return Unknown[B]("")
}

// or is r, or if that is not known other; the reason stays r's.
func (r Reading[T]) or(other Reading[T]) Reading[T] {
	if r.Known || !other.Known && r.Why != "" {
		return r
	}
	return other
}

// minus is the difference of two byte counts, at least 0. The two were not read
// at the same moment.
func minus(a, b Reading[uint64]) Reading[uint64] {
	if !a.Known {
		return a
	}
	if !b.Known {
		return b
	}
	return Is(a.Value - min(a.Value, b.Value))
}

func plus(a, b Reading[uint64]) Reading[uint64] {
	if !a.Known {
		return a
	}
	if !b.Known {
		return b
	}
	return Is(a.Value + b.Value)
}
