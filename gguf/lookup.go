package gguf

import (
	"errors"
	"fmt"
)

// ErrMissingKey: the metadata lacks a key that is needed.
var ErrMissingKey = errors.New("missing")

// KeyError says what is wrong with a key of the metadata.
type KeyError struct {
	Key string
	// Offset of the value in the file, 0 where the key is missing.
	Offset uint64
	// Err wraps ErrMissingKey, ErrType, ErrChanged or says what is out of range.
	Err error
}

func (e *KeyError) Error() string {
	if errors.Is(e.Err, ErrMissingKey) {
		return fmt.Sprintf("gguf: metadata %s: %v", e.Key, e.Err)
	}
	return fmt.Sprintf("gguf: offset %d: metadata %s: %v", e.Offset, e.Key, e.Err)
}

func (e *KeyError) Unwrap() error { return e.Err }

// bad makes the error for a value that is read but makes no sense.
func (m *Metadata) bad(key, format string, args ...any) error {
	v, _ := m.Get(key)
	return &KeyError{Key: key, Offset: v.offset, Err: fmt.Errorf(format, args...)}
}

// read looks a key up and decodes it; found is false where it is missing.
func read[T any](m *Metadata, key string, decode func(Value) (T, error)) (v T, found bool, err error) {
	raw, ok := m.Get(key)
	if !ok {
		return v, false, nil
	}
	if v, err = decode(raw); err != nil {
		err = &KeyError{Key: key, Offset: raw.offset, Err: err}
	}
	return v, true, err
}

// uintOr reads an integer, or takes the default where the key is missing.
func (m *Metadata) uintOr(key string, otherwise uint64) (uint64, error) {
	v, found, err := read(m, key, Value.Uint)
	if !found {
		return otherwise, nil
	}
	return v, err
}

// textOr reads a string, or takes the default where the key is missing.
func (m *Metadata) textOr(key, otherwise string) (string, error) {
	v, found, err := read(m, key, Value.Text)
	if !found {
		return otherwise, nil
	}
	return v, err
}

// list reads n numbers: one that holds for all, or an array of exactly n. Bools
// count as 0 and 1, as in the engine.
func (m *Metadata) list(key string, n int) (values []uint64, found bool, err error) {
	v, ok := m.Get(key)
	if !ok {
		return nil, false, nil
	}
	values = make([]uint64, n)
	if v.Type() != Array {
		one, err := number(v)
		if err != nil {
			return nil, true, &KeyError{Key: key, Offset: v.offset, Err: err}
		}
		for i := range values {
			values[i] = one
		}
		return values, true, nil
	}
	if v.Len() != n {
		return nil, true, m.bad(key, "%d elements, must be %d", v.Len(), n)
	}
	for i, e := range v.Elements() {
		if values[i], err = number(e); err != nil {
			return nil, true, &KeyError{Key: key, Offset: e.offset, Err: fmt.Errorf("element %d: %w", i, err)}
		}
	}
	return values, true, nil
}

// number reads a bool or an integer that fits 32 bits, the most that the
// engine stores.
func number(v Value) (uint64, error) {
	if v.Type() == Bool {
		b, err := v.Bool()
		if b {
			return 1, err
		}
		return 0, err
	}
	n, err := v.Uint()
	if err == nil && n > 1<<32-1 {
		err = fmt.Errorf("%d is too large", n)
	}
	return n, err
}
