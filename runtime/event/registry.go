package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A Registry knows the types of events by name: the version that is written today,
// and how to read earlier ones. It is filled at the start and then only read.
type Registry struct {
	types map[string]entry
}

type entry struct {
	version  int
	upgrades []Upgrade
	decode   func([]byte) (any, error)
}

// NewRegistry is a register without types.
func NewRegistry() *Registry { return &Registry{types: make(map[string]entry)} }

// An Upgrade makes the payload of a version into one of the next.
type Upgrade func(payload []byte) ([]byte, error)

// A Type makes and reads the events of one registered type.
type Type[T any] struct {
	name  string
	entry entry
}

// Register adds a type whose payload is a T as JSON. version counts from 1;
// upgrades[i] leads from version i+1 to i+2, so that there is one less than the
// version: what was once written stays readable.
func Register[T any](r *Registry, name string, version int, upgrades ...Upgrade) (Type[T], error) {
	if err := CheckType(name); err != nil {
		return Type[T]{}, fmt.Errorf("register: %w", err)
	}
	if version < 1 || len(upgrades) != version-1 {
		return Type[T]{}, fmt.Errorf("register %s: %w: version %d wants %d upgrades, has %d",
			name, ErrInvalid, version, max(version-1, 0), len(upgrades))
	}
	if _, ok := r.types[name]; ok {
		return Type[T]{}, fmt.Errorf("register %s: %w: registered already", name, ErrInvalid)
	}
	e := entry{version: version, upgrades: upgrades, decode: func(payload []byte) (any, error) {
		return decode[T](payload)
	}}
	r.types[name] = e
	return Type[T]{name: name, entry: e}, nil
}

// MustRegister is Register for names and versions that are constants of a program: what
// it panics about is a mistake in that program.
func MustRegister[T any](r *Registry, name string, version int, upgrades ...Upgrade) Type[T] {
	t, err := Register[T](r, name, version, upgrades...)
	if err != nil {
		panic(err)
	}
	return t
}

// Name is the name that the type was registered by.
func (t Type[T]) Name() string { return t.name }

// New makes an event, ready to be appended.
func (t Type[T]) New(payload T) (Event, error) {
	data, err := json.Marshal(payload)
	if err != nil {
		return Event{}, fmt.Errorf("event %s: %w: %w", t.name, ErrInvalid, err)
	}
	return Event{Type: t.name, Version: t.entry.version, Payload: data}, nil
}

// Decode reads the payload of an event of this type, of this version or an earlier
// one. Another type or a later version is an ErrUnknownType.
func (t Type[T]) Decode(e Event) (T, error) {
	var zero T
	if e.Type != t.name {
		return zero, fmt.Errorf("event %s at position %d: %w: want %s", e.Type, e.Position, ErrUnknownType, t.name)
	}
	v, err := t.entry.read(e)
	if err != nil {
		return zero, err
	}
	return v.(T), nil
}

// Decode reads the payload of an event of any registered type: the T that it was
// registered with. A type or version that is not known is an ErrUnknownType, and
// the caller has the payload as it is.
func (r *Registry) Decode(e Event) (any, error) {
	entry, ok := r.types[e.Type]
	if !ok {
		return nil, fmt.Errorf("event %s at position %d: %w", e.Type, e.Position, ErrUnknownType)
	}
	return entry.read(e)
}

func (t entry) read(e Event) (any, error) {
	if e.Version < 1 || e.Version > t.version {
		return nil, fmt.Errorf("event %s at position %d: %w: version %d, known is %d",
			e.Type, e.Position, ErrUnknownType, e.Version, t.version)
	}
	payload := e.Payload
	for i := e.Version - 1; i < len(t.upgrades); i++ {
		var err error
		if payload, err = t.upgrades[i](payload); err != nil {
			return nil, fmt.Errorf("event %s at position %d: upgrade from version %d: %w", e.Type, e.Position, i+1, err)
		}
	}
	v, err := t.decode(payload)
	if err != nil {
		return nil, fmt.Errorf("event %s at position %d: %w", e.Type, e.Position, err)
	}
	return v, nil
}

// A field that T lacks is an error: a payload of another shape has another
// version, and what is not understood must not be dropped in silence.
func decode[T any](payload []byte) (T, error) {
	var v T
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return v, fmt.Errorf("payload: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return v, fmt.Errorf("payload: %w: more than one value", ErrInvalid)
	}
	return v, nil
}
