package gguf

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
)

// Value is one metadata value. It refers to the bytes of its file and is
// decoded when asked, so that a vocabulary costs nothing until it is read. It
// must not be used after the file is closed.
type Value struct {
	src    *source
	raw    []byte // the value; without the length of a string or the head of an array
	typ    ValueType
	elem   ValueType
	count  uint64
	offset uint64 // of the value in the file
	err    error  // an element that could not be read
}

// ErrType is what reading a value as another type than its own gives.
var ErrType = errors.New("other type")

// Type is the type in the file.
func (v Value) Type() ValueType { return v.typ }

// Elem is the type of an array's elements.
func (v Value) Elem() ValueType { return v.elem }

// Len is the number of an array's elements, 0 for other values.
func (v Value) Len() int { return int(v.count) }

// bits reads a value of fixed size as unsigned bits.
func (v Value) bits() (n uint64, err error) {
	if v.err != nil || v.typ.Size() == 0 {
		return 0, v.wrong("a number")
	}
	err = v.src.guard(func() error {
		for i := len(v.raw) - 1; i >= 0; i-- {
			n = n<<8 | uint64(v.raw[i])
		}
		return nil
	})
	return n, err
}

func (v Value) wrong(want string) error {
	if v.err != nil {
		return v.err
	}
	return fmt.Errorf("%w: is %s, want %s", ErrType, v.typeName(), want)
}

func (v Value) typeName() string {
	if v.typ == Array {
		return fmt.Sprintf("array of %d %v", v.count, v.elem)
	}
	return v.typ.String()
}

// Int reads a signed or unsigned integer of any size.
func (v Value) Int() (int64, error) {
	n, err := v.bits()
	if err != nil {
		return 0, err
	}
	switch v.typ {
	case Uint8, Uint16, Uint32:
		return int64(n), nil
	case Uint64:
		if n > math.MaxInt64 {
			return 0, fmt.Errorf("%w: %d is too large", ErrType, n)
		}
		return int64(n), nil
	case Int8:
		return int64(int8(n)), nil
	case Int16:
		return int64(int16(n)), nil
	case Int32:
		return int64(int32(n)), nil
	case Int64:
		return int64(n), nil
	}
	return 0, v.wrong("an integer")
}

// Uint reads an integer of any size that is not negative.
func (v Value) Uint() (uint64, error) {
	if v.typ == Uint64 {
		return v.bits()
	}
	n, err := v.Int()
	if err == nil && n < 0 {
		err = fmt.Errorf("%w: %d is negative", ErrType, n)
	}
	return uint64(max(n, 0)), err
}

// Float reads a float of either size.
func (v Value) Float() (float64, error) {
	n, err := v.bits()
	if err != nil {
		return 0, err
	}
	switch v.typ {
	case Float32:
		return float64(math.Float32frombits(uint32(n))), nil
	case Float64:
		return math.Float64frombits(n), nil
	}
	return 0, v.wrong("a float")
}

// Bool reads a bool. As in the engine any byte but 0 is true.
func (v Value) Bool() (bool, error) {
	if v.typ != Bool {
		return false, v.wrong("a bool")
	}
	n, err := v.bits()
	return n != 0, err
}

// Text reads a string. The bytes need not be UTF-8.
func (v Value) Text() (s string, err error) {
	if v.typ != String || v.err != nil {
		return "", v.wrong("a string")
	}
	err = v.src.guard(func() error { s = string(v.raw); return nil })
	return s, err
}

// Elements yields the elements of an array with their index; other values
// yield nothing.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.typ != Array {
			return
		}
		c := cursor{src: v.src, b: v.raw, size: uint64(len(v.raw))}
		for i := range v.Len() {
			e := v.next(&c)
			if !yield(i, e) || e.err != nil {
				return
			}
		}
	}
}

// next reads an element. Lengths were checked when the file was opened, so
// that only a file that changed since can make it fail.
func (v Value) next(c *cursor) (e Value) {
	base := v.offset + 12 // after element type and length
	err := v.src.guard(func() (err error) {
		e, err = readTyped(c, v.elem, field{part: "array element"}, 0)
		return err
	})
	e.offset += base
	if err != nil {
		e = Value{src: v.src, typ: v.elem, offset: e.offset, err: err}
	}
	return e
}

// maxPrinted is how much of a long value String shows: bytes of a string,
// elements of an array.
const (
	maxPrinted   = 60
	maxPrintElem = 4
)

// String renders the value for people; long values are cut, with their length.
func (v Value) String() string {
	var s any
	var err error
	switch v.typ {
	case Array:
		return v.printArray()
	case String:
		return v.printText()
	case Bool:
		s, err = v.Bool()
	case Float32:
		var f float64
		f, err = v.Float()
		s = float32(f)
	case Float64:
		s, err = v.Float()
	case Uint64:
		s, err = v.Uint()
	default:
		s, err = v.Int()
	}
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return fmt.Sprint(s)
}

func (v Value) printText() string {
	short := v
	short.raw = v.raw[:min(len(v.raw), maxPrinted)]
	s, err := short.Text()
	if err != nil {
		return "(" + err.Error() + ")"
	}
	s = strconv.Quote(s)
	if len(v.raw) > maxPrinted {
		s += fmt.Sprintf("... (%d bytes)", len(v.raw))
	}
	return s
}

func (v Value) printArray() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, e := range v.Elements() {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == maxPrintElem {
			fmt.Fprintf(&b, "... (%d %v)", v.count, v.elem)
			break
		}
		b.WriteString(e.String())
	}
	b.WriteByte(']')
	return b.String()
}
