package kv

import (
	"fmt"
	"slices"
	"strings"

	"dure/gguf"
	"dure/kvcache/blob"
)

// Tier says where a setting keeps keys and values.
type Tier string

// The tiers: the cells that the model computes with, and the bytes of a sequence that
// waits and goes on in f16 cells.
const (
	Hot    Tier = "hot"
	Parked Tier = "parked"
)

// Setting is one way to keep keys and values that is compared with f16.
type Setting struct {
	Name string
	Tier Tier
	// Keys and Values are the types of a hot setting.
	Keys, Values gguf.TensorType
	// Read is how many tokens of a context a hot one computes at once; 0 is as many as
	// the full cache does.
	Read int
	// Beside says that a parked one may lose as much as CellsBeside.
	Beside bool
	// Make prepares a parked one for a model; nil for a hot one.
	Make func(Ground) (Transform, error)
}

// Ground is what a parked setting is made on.
type Ground struct {
	Geometry *gguf.Geometry
	Layout   blob.Layout
	// State is that of a sequence of so many tokens, which belong to no text that is
	// measured: to calibrate on.
	State func(tokens int) ([]byte, error)
}

// Transform parks states. It is used from one goroutine.
type Transform interface {
	// Encode is the state as it is kept.
	Encode(state []byte) ([]byte, error)
	// Decode is what the engine gets back: as many bytes as the state had.
	Decode(coded []byte) ([]byte, error)
}

// HotSetting keeps cells in the two types.
func HotSetting(keys, values gguf.TensorType) Setting {
	return Setting{Name: TypesName(keys, values), Tier: Hot, Keys: keys, Values: values}
}

// TypesName names two types as the engine does: "q8_0", "q8_0/q4_0".
func TypesName(keys, values gguf.TensorType) string {
	k, v := strings.ToLower(keys.String()), strings.ToLower(values.String())
	if k == v {
		return k
	}
	return k + "/" + v
}

// ParseTypes reads what TypesName writes.
func ParseTypes(text string) (keys, values gguf.TensorType, err error) {
	k, v, pair := strings.Cut(text, "/")
	if !pair {
		v = k
	}
	if keys.UnmarshalText([]byte(strings.ToUpper(k))) != nil || values.UnmarshalText([]byte(strings.ToUpper(v))) != nil {
		return keys, values, fmt.Errorf("%q is not a type of the cache; write for example q8_0, or q8_0/q4_0", text)
	}
	return keys, values, nil
}

// UsualTypes are the hot settings that are measured without being named.
func UsualTypes() []string { return []string{"q8_0", "q5_1", "q5_0", "q8_0/q4_0", "q4_0"} }

// ControlName is that of the setting that changes nothing.
const ControlName = "unchanged"

// Control parks states as they are. Its divergence is that of the engine with itself.
func Control() Setting {
	return Setting{Name: ControlName, Tier: Parked, Make: func(Ground) (Transform, error) { return same{}, nil }}
}

// NoiseName is that of the setting that keeps f16 and computes in another order.
const NoiseName = "f16, other batches"

// Noise reads contexts a few tokens at once. Its divergence is what the order of a sum
// makes of the model's numbers: no loss below it can be told from none.
func Noise() Setting {
	return Setting{Name: NoiseName, Tier: Hot, Keys: gguf.F16, Values: gguf.F16, Read: scoreRows}
}

type same struct{}

// Encode implements Transform.
func (same) Encode(state []byte) ([]byte, error) { return slices.Clone(state), nil }

// Decode implements Transform.
func (same) Decode(coded []byte) ([]byte, error) { return coded, nil }

// Lossless says that cells of these types hold what the model computes in, as exactly
// as f16 does.
func Lossless(keys, values gguf.TensorType) bool {
	return keys.BlockSize() == 1 && values.BlockSize() == 1
}

// Rotation is how many elements of a head the engine turns together, by a Hadamard
// matrix, before it stores keys and values in these types; 0 where it does not. So does
// llama.cpp v0.5.0 (src/llama-kv-cache.cpp, src/llama-graph.cpp): for quantised types,
// where all heads of the model have the same width, a multiple of 64.
type Rotation struct {
	Keys   int `json:"keys"`
	Values int `json:"values"`
}

// RotationOf a model's cache; disabled is what LLAMA_ATTN_ROT_DISABLE asks for.
func RotationOf(g *gguf.Geometry, keys, values gguf.TensorType, disabled bool) (r Rotation) {
	k, v := 0, 0
	for i := range g.Layers {
		l := &g.Layers[i]
		if l.Recurrent || l.MTP || l.KVHeads == 0 {
			continue
		}
		if k == 0 {
			k, v = l.KeyDim, l.ValueDim
		}
		if l.KeyDim != k {
			k = -1
		}
		if l.ValueDim != v {
			v = -1
		}
	}
	if disabled {
		return r
	}
	if keys.BlockSize() > 1 && k > 0 && k%64 == 0 {
		for r.Keys = 64; k%(2*r.Keys) == 0; r.Keys *= 2 {
		}
	}
	if values.BlockSize() > 1 && v > 0 && v%64 == 0 {
		r.Values = 64
	}
	return r
}

// String says it for people.
func (r Rotation) String() string {
	if r == (Rotation{}) {
		return "none"
	}
	return fmt.Sprintf("keys %d, values %d", r.Keys, r.Values)
}
