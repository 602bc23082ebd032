package gguf

import "fmt"

// Magic is the first four bytes of every GGUF file.
const Magic = "GGUF"

// Versions of the container that can be read. Version 1 had 32-bit counts and
// is refused by the engine; version 3 differs from 2 only in allowing
// big-endian files.
const (
	MinVersion = 2
	MaxVersion = 3
)

// DefaultAlignment is the alignment of tensor data, in bytes, where the
// metadata does not set KeyAlignment.
const DefaultAlignment = 32

// MaxDims is the largest number of dimensions of a tensor.
const MaxDims = 4

// MaxTensorName is the longest tensor name in bytes that the engine accepts
// (its buffer holds one more for the terminating zero).
const MaxTensorName = 63

// Keys of the metadata that the container itself gives a meaning to.
const (
	KeyArchitecture = "general.architecture"
	KeyAlignment    = "general.alignment"
	KeyFileType     = "general.file_type"
	KeyName         = "general.name"

	KeySplitNo      = "split.no"            // uint16: index of this shard, from 0
	KeySplitCount   = "split.count"         // uint16: number of shards
	KeySplitTensors = "split.tensors.count" // int32: tensors in all shards
)

// ValueType is the type of a metadata value as stored in the file.
type ValueType uint32

// The types of metadata values.
const (
	Uint8 ValueType = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	String
	Array
	Uint64
	Int64
	Float64
	valueTypes // number of types
)

// valueInfo holds name and size in bytes; size 0 means that it varies.
var valueInfo = [valueTypes]struct {
	name string
	size uint64
}{
	Uint8: {"uint8", 1}, Int8: {"int8", 1},
	Uint16: {"uint16", 2}, Int16: {"int16", 2},
	Uint32: {"uint32", 4}, Int32: {"int32", 4},
	Float32: {"float32", 4}, Bool: {"bool", 1},
	String: {"string", 0}, Array: {"array", 0},
	Uint64: {"uint64", 8}, Int64: {"int64", 8},
	Float64: {"float64", 8},
}

// Known says whether the type is one of the constants above.
func (t ValueType) Known() bool { return t < valueTypes }

// Size is the size of one value in bytes, 0 for strings and arrays.
func (t ValueType) Size() uint64 {
	if !t.Known() {
		return 0
	}
	return valueInfo[t].size
}

func (t ValueType) String() string {
	if !t.Known() {
		return fmt.Sprintf("type %d", uint32(t))
	}
	return valueInfo[t].name
}
