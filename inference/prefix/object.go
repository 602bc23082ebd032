package prefix

import (
	"fmt"

	"dure/kvcache"
	"dure/kvcache/blob"
	"dure/kvcache/codec"

	"golang.org/x/sys/unix"
)

// object is saved bytes in RAM. They lie outside of Go's heap: a collector that
// lets the heap double before it runs would take twice the budget.
type object struct {
	data     []byte
	from, to int
	state    bool
	loss     codec.Class // of the sequence it was read from
}

// part of a sequence's state that an object's bytes are of.
func part(from, to int) blob.Part {
	if from < to {
		return blob.Whole
	}
	return blob.Partial
}

// keep copies bytes into an object.
func keep(t kvcache.Target, data []byte) (object, error) {
	o := object{from: t.From, to: t.To, state: t.State}
	mem, err := unix.Mmap(-1, 0, len(data), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return o, fmt.Errorf("%d bytes of memory for a state: %w", len(data), err)
	}
	copy(mem, data)
	o.data = mem
	return o, nil
}

func (o object) free() error { return unix.Munmap(o.data) }
