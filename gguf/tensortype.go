package gguf

import "fmt"

// TensorType is the storage type of a tensor's elements. A type stores
// elements in blocks of BlockSize elements that take BlockBytes bytes; a row
// (the first dimension) is a whole number of blocks.
type TensorType uint32

// The tensor types of ggml as of llama.cpp v0.5.0. The gaps are types that
// were removed from the format.
const (
	F32    TensorType = 0
	F16    TensorType = 1
	Q4_0   TensorType = 2
	Q4_1   TensorType = 3
	Q5_0   TensorType = 6
	Q5_1   TensorType = 7
	Q8_0   TensorType = 8
	Q8_1   TensorType = 9
	Q2K    TensorType = 10
	Q3K    TensorType = 11
	Q4K    TensorType = 12
	Q5K    TensorType = 13
	Q6K    TensorType = 14
	Q8K    TensorType = 15
	IQ2XXS TensorType = 16
	IQ2XS  TensorType = 17
	IQ3XXS TensorType = 18
	IQ1S   TensorType = 19
	IQ4NL  TensorType = 20
	IQ3S   TensorType = 21
	IQ2S   TensorType = 22
	IQ4XS  TensorType = 23
	I8     TensorType = 24
	I16    TensorType = 25
	I32    TensorType = 26
	I64    TensorType = 27
	F64    TensorType = 28
	IQ1M   TensorType = 29
	BF16   TensorType = 30
	TQ1_0  TensorType = 34
	TQ2_0  TensorType = 35
	MXFP4  TensorType = 39
	NVFP4  TensorType = 40
	Q1_0   TensorType = 41
	Q2_0   TensorType = 42
)

type tensorInfo struct {
	name  string
	block uint64 // elements
	bytes uint64
}

// tensorInfos: sizes from the block structures of ggml-common.h; kSuper is the
// super-block of the K and IQ families.
const kSuper = 256

var tensorInfos = [...]tensorInfo{
	F32:    {"F32", 1, 4},
	F16:    {"F16", 1, 2},
	Q4_0:   {"Q4_0", 32, 2 + 16},
	Q4_1:   {"Q4_1", 32, 2 + 2 + 16},
	Q5_0:   {"Q5_0", 32, 2 + 4 + 16},
	Q5_1:   {"Q5_1", 32, 2 + 2 + 4 + 16},
	Q8_0:   {"Q8_0", 32, 2 + 32},
	Q8_1:   {"Q8_1", 32, 2 + 2 + 32},
	Q2K:    {"Q2_K", kSuper, 2 + 2 + kSuper/16 + kSuper/4},
	Q3K:    {"Q3_K", kSuper, 2 + kSuper/4 + kSuper/8 + 12},
	Q4K:    {"Q4_K", kSuper, 2 + 2 + kSuper/2 + 12},
	Q5K:    {"Q5_K", kSuper, 2 + 2 + kSuper/2 + kSuper/8 + 12},
	Q6K:    {"Q6_K", kSuper, 2 + kSuper/2 + kSuper/4 + kSuper/16},
	Q8K:    {"Q8_K", kSuper, 4 + kSuper + kSuper/8},
	IQ2XXS: {"IQ2_XXS", kSuper, 2 + kSuper/4},
	IQ2XS:  {"IQ2_XS", kSuper, 2 + kSuper/4 + kSuper/32},
	IQ3XXS: {"IQ3_XXS", kSuper, 2 + kSuper/4 + kSuper/8},
	IQ1S:   {"IQ1_S", kSuper, 2 + kSuper/8 + kSuper/16},
	IQ4NL:  {"IQ4_NL", 32, 2 + 16},
	IQ3S:   {"IQ3_S", kSuper, 2 + kSuper/4 + kSuper/8 + kSuper/32 + 4},
	IQ2S:   {"IQ2_S", kSuper, 2 + kSuper/4 + kSuper/16},
	IQ4XS:  {"IQ4_XS", kSuper, 2 + 2 + kSuper/2 + kSuper/64},
	I8:     {"I8", 1, 1},
	I16:    {"I16", 1, 2},
	I32:    {"I32", 1, 4},
	I64:    {"I64", 1, 8},
	F64:    {"F64", 1, 8},
	IQ1M:   {"IQ1_M", kSuper, kSuper/8 + kSuper/16 + kSuper/32},
	BF16:   {"BF16", 1, 2},
	TQ1_0:  {"TQ1_0", kSuper, 2 + 4*13},
	TQ2_0:  {"TQ2_0", kSuper, 2 + kSuper/4},
	MXFP4:  {"MXFP4", 32, 1 + 16},
	NVFP4:  {"NVFP4", 64, 4 + 32},
	Q1_0:   {"Q1_0", 128, 2 + 16},
	Q2_0:   {"Q2_0", 64, 2 + 16},
}

func (t TensorType) info() tensorInfo {
	if int64(t) >= int64(len(tensorInfos)) {
		return tensorInfo{}
	}
	return tensorInfos[t]
}

// Known says whether the engine knows the type.
func (t TensorType) Known() bool { return t.info().block != 0 }

// BlockSize is the number of elements in one block, 0 for an unknown type.
func (t TensorType) BlockSize() uint64 { return t.info().block }

// BlockBytes is the size of one block in bytes, 0 for an unknown type.
func (t TensorType) BlockBytes() uint64 { return t.info().bytes }

// RowBytes is the size in bytes of a row of n elements. It is 0 where n is not
// a whole number of blocks or the type is unknown.
func (t TensorType) RowBytes(n uint64) uint64 {
	i := t.info()
	if i.block == 0 || n%i.block != 0 {
		return 0
	}
	return n / i.block * i.bytes
}

func (t TensorType) String() string {
	if !t.Known() {
		return fmt.Sprintf("type %d", uint32(t))
	}
	return t.info().name
}

// MarshalText writes the name, so that JSON shows it.
func (t TensorType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a name of a known type.
func (t *TensorType) UnmarshalText(text []byte) error {
	for i, info := range tensorInfos {
		if info.block != 0 && info.name == string(text) {
			*t = TensorType(i)
			return nil
		}
	}
	return fmt.Errorf("gguf: tensor type %q is not known", text)
}
