package gguf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

var le = binary.LittleEndian

// pad rounds n up to a multiple of the power of two a.
func pad(n, a uint64) uint64 { return (n + a - 1) &^ (a - 1) }

// tensorBytes is the number of elements and bytes of a tensor of known type.
// Both must fit an int64, as in the engine. No dimensions mean one element.
func tensorBytes(t TensorType, shape []uint64) (elements, size uint64, err error) {
	row := uint64(1)
	if len(shape) > 0 {
		row = shape[0]
	}
	if row%t.BlockSize() != 0 {
		return 0, 0, fmt.Errorf("row of %d elements is not a multiple of the %d of a %v block", row, t.BlockSize(), t)
	}
	elements = 1
	for _, d := range shape {
		hi, lo := bits.Mul64(elements, d)
		if hi != 0 || lo >= math.MaxInt64 {
			return 0, 0, fmt.Errorf("shape %v has too many elements", shape)
		}
		elements = lo
	}
	hi, size := bits.Mul64(elements/t.BlockSize(), t.BlockBytes())
	if hi != 0 || size > math.MaxInt64 {
		return 0, 0, fmt.Errorf("shape %v of %v has too many bytes", shape, t)
	}
	return elements, size, nil
}

func appendString(b []byte, s string) []byte {
	b = le.AppendUint64(b, uint64(len(s)))
	return append(b, s...)
}

var errValueType = errors.New("no metadata type for this Go type")

// typeOf says how a Go value is stored: its type, and for slices Array with
// the type of the elements.
func typeOf(v any) (t, elem ValueType, err error) {
	switch v.(type) {
	case uint8:
		return Uint8, 0, nil
	case int8:
		return Int8, 0, nil
	case uint16:
		return Uint16, 0, nil
	case int16:
		return Int16, 0, nil
	case uint32:
		return Uint32, 0, nil
	case int32:
		return Int32, 0, nil
	case float32:
		return Float32, 0, nil
	case bool:
		return Bool, 0, nil
	case string:
		return String, 0, nil
	case uint64:
		return Uint64, 0, nil
	case int64:
		return Int64, 0, nil
	case float64:
		return Float64, 0, nil
	}
	if elem, ok := elemOf(v); ok {
		return Array, elem, nil
	}
	return 0, 0, fmt.Errorf("%w: %T", errValueType, v)
}

func elemOf(v any) (ValueType, bool) {
	switch v.(type) {
	case []uint8:
		return Uint8, true
	case []int8:
		return Int8, true
	case []uint16:
		return Uint16, true
	case []int16:
		return Int16, true
	case []uint32:
		return Uint32, true
	case []int32:
		return Int32, true
	case []float32:
		return Float32, true
	case []bool:
		return Bool, true
	case []string:
		return String, true
	case []uint64:
		return Uint64, true
	case []int64:
		return Int64, true
	case []float64:
		return Float64, true
	}
	return 0, false
}

// appendValue appends type and value. v has passed typeOf.
func appendValue(b []byte, v any) []byte {
	t, elem, err := typeOf(v)
	if err != nil {
		panic(err) // Set has refused it
	}
	b = le.AppendUint32(b, uint32(t))
	switch {
	case t == String:
		return appendString(b, v.(string))
	case t != Array:
		return appendFixed(b, v)
	}
	b = le.AppendUint32(b, uint32(elem))
	if s, ok := v.([]string); ok {
		b = le.AppendUint64(b, uint64(len(s)))
		for _, e := range s {
			b = appendString(b, e)
		}
		return b
	}
	// The length is the encoded size over the element size: one switch over
	// the slice types (in encoding/binary) is enough.
	b = le.AppendUint64(b, uint64(binary.Size(v))/elem.Size())
	return appendFixed(b, v)
}

// appendFixed appends a value, or a slice of values, of fixed size.
func appendFixed(b []byte, v any) []byte {
	b, err := binary.Append(b, le, v)
	if err != nil {
		panic(err) // typeOf admits only types that binary can encode
	}
	return b
}
