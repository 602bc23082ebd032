package codec

import (
	"errors"
	"fmt"
	"strings"
)

// Class says how much may be lost.
type Class uint8

const (
	// Exact loses nothing.
	Exact Class = 1 + iota
	// Near loses what cells of q8_0 lose, at most.
	Near
	// NearSmall loses more than Near and less than Small.
	NearSmall
	// Small loses what cells of q4_0 lose, at most.
	Small
	// Calibrated loses as much as Small and is smaller. It needs the Basis of the
	// model.
	Calibrated
	classEnd
)

var classNames = [classEnd]string{"", "exact", "near", "near-small", "small", "calibrated"}

func (c Class) String() string {
	if c.valid() {
		return classNames[c]
	}
	return fmt.Sprintf("class %d", uint8(c))
}

func (c Class) valid() bool { return c >= Exact && c < classEnd }

// Classes are all of them, least loss first.
func Classes() []Class { return []Class{Exact, Near, NearSmall, Small, Calibrated} }

// ParseClass reads a name.
func ParseClass(name string) (Class, error) {
	for _, c := range Classes() {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("quality class %q, must be one of %s", name, strings.Join(classNames[1:], ", "))
}

var (
	// ErrCoded is wrapped by every error about coded bytes: they are not what
	// Encode made.
	ErrCoded = errors.New("malformed coded state")
	// ErrBasis is wrapped by every error about a basis: it is damaged, missing or
	// another model's.
	ErrBasis = errors.New("basis of the model")
)
