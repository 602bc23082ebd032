package pack

import "fmt"

// DeltaSize is the length of what a delta makes, by its own account.
func DeltaSize(delta []byte) (uint64, error) {
	_, rest, err := cutSize(delta)
	if err != nil {
		return 0, err
	}
	size, _, err := cutSize(rest)
	return size, err
}

// ApplyDelta makes the object that a delta describes on its base. limit bounds the
// result: a delta of a few bytes can ask for any size.
func ApplyDelta(base, delta []byte, limit uint64) ([]byte, error) {
	baseSize, delta, err := cutSize(delta)
	if err != nil {
		return nil, err
	}
	size, delta, err := cutSize(delta)
	switch {
	case err != nil:
		return nil, err
	case baseSize != uint64(len(base)):
		return nil, fmt.Errorf("%w: a delta for a base of %d bytes, which has %d", ErrFormat, baseSize, len(base))
	case size > limit:
		return nil, &TooLargeError{Size: size, Limit: limit}
	}
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		switch {
		case op&0x80 != 0:
			var offset, length uint64
			if offset, length, delta, err = cutCopy(op, delta); err != nil {
				return nil, err
			}
			if offset+length > uint64(len(base)) || uint64(len(out))+length > size {
				return nil, fmt.Errorf("%w: a delta copies beyond an end", ErrFormat)
			}
			out = append(out, base[offset:offset+length]...)
		case op != 0:
			n := int(op)
			if n > len(delta) || uint64(len(out)+n) > size {
				return nil, fmt.Errorf("%w: a delta inserts beyond an end", ErrFormat)
			}
			out = append(out, delta[:n]...)
			delta = delta[n:]
		default:
			return nil, fmt.Errorf("%w: a delta with an unknown instruction", ErrFormat)
		}
	}
	if uint64(len(out)) != size {
		return nil, fmt.Errorf("%w: a delta makes %d bytes and says %d", ErrFormat, len(out), size)
	}
	return out, nil
}

func cutSize(b []byte) (size uint64, rest []byte, err error) {
	for i, c := range b {
		if i > 8 {
			break
		}
		size |= uint64(c&0x7f) << (7 * i)
		if c&0x80 == 0 {
			return size, b[i+1:], nil
		}
	}
	return 0, nil, fmt.Errorf("%w: no end to a size of a delta", ErrFormat)
}

// cutCopy reads the operands of a copy: four bytes of offset, three of length,
// those present that op has bits for.
func cutCopy(op byte, b []byte) (offset, length uint64, rest []byte, err error) {
	for i := range 7 {
		if op&(1<<i) == 0 {
			continue
		}
		if len(b) == 0 {
			return 0, 0, nil, fmt.Errorf("%w: a delta ends within a copy", ErrFormat)
		}
		if i < 4 {
			offset |= uint64(b[0]) << (8 * i)
		} else {
			length |= uint64(b[0]) << (8 * (i - 4))
		}
		b = b[1:]
	}
	if length == 0 {
		length = 0x10000
	}
	return offset, length, b, nil
}
