package bert

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// array is a tensor of a safetensors file.
type array struct {
	shape []uint64
	data  []byte // F32, little-endian
}

// arrays reads a safetensors file: the length of a JSON header, the header, and the
// data that it points into. Tensors other than F32 keep no data.
func arrays(file []byte) (map[string]array, error) {
	if len(file) < 8 {
		return nil, fmt.Errorf("no safetensors file: %d bytes", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > uint64(len(file)-8) {
		return nil, fmt.Errorf("no safetensors file: a header of %d bytes in a file of %d", n, len(file))
	}
	header, data := file[8:8+n], file[8+n:]
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(header, &entries); err != nil {
		return nil, fmt.Errorf("safetensors header: %w", err)
	}
	all := map[string]array{}
	for name, raw := range entries {
		if name == "__metadata__" {
			continue
		}
		var e struct {
			Type    string    `json:"dtype"`
			Shape   []uint64  `json:"shape"`
			Offsets [2]uint64 `json:"data_offsets"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("safetensors: tensor %s: %w", name, err)
		}
		a := array{shape: e.Shape}
		if e.Type == "F32" {
			from, to := e.Offsets[0], e.Offsets[1]
			if from > to || to > uint64(len(data)) || to-from != 4*a.elements() {
				return nil, fmt.Errorf("safetensors: tensor %s: bytes %d to %d of %d for shape %v", name, from, to, len(data), e.Shape)
			}
			a.data = data[from:to]
		}
		all[name] = a
	}
	return all, nil
}

// elements is the product of the shape; far too much where that overflows.
func (a array) elements() uint64 {
	n := uint64(1)
	for _, d := range a.shape {
		if d > 1<<40 || n > 1<<40 {
			return math.MaxUint64 / 8
		}
		n *= d
	}
	return n
}
