package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// cacheTypes are the types a KV cache may have, by the names of ggml. The empty
// name is the engine's default.
var cacheTypes = map[string]llama.GGMLType{
	"":       llama.GGMLTypeF16,
	"f32":    llama.GGMLTypeF32,
	"f16":    llama.GGMLTypeF16,
	"bf16":   llama.GGMLTypeBF16,
	"q8_0":   llama.GGMLTypeQ8_0,
	"q5_0":   llama.GGMLTypeQ5_0,
	"q5_1":   llama.GGMLTypeQ5_1,
	"q4_0":   llama.GGMLTypeQ4_0,
	"q4_1":   llama.GGMLTypeQ4_1,
	"iq4_nl": llama.GGMLTypeIQ4_NL,
}

// validateCache checks the types of the KV cache. That their blocks divide a
// head depends on the model: NewContext says so.
func (o ContextOptions) validateCache() error {
	for _, f := range []struct{ name, value string }{{"key type", o.KeyType}, {"value type", o.ValueType}} {
		if _, ok := cacheTypes[f.value]; !ok {
			names := slices.Sorted(maps.Keys(cacheTypes))
			return fmt.Errorf("%s %q, must be one of %s", f.name, f.value, strings.Join(names[1:], ", "))
		}
	}
	switch cacheTypes[o.ValueType] {
	case llama.GGMLTypeF32, llama.GGMLTypeF16, llama.GGMLTypeBF16:
		return nil
	}
	if o.FlashAttention == FlashOff {
		return fmt.Errorf("value type %q needs flash attention, which is off; ask for f16 values or turn it on", o.ValueType)
	}
	return nil
}
