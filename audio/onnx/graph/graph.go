// Package graph writes ONNX models: weights that come in another program's format become
// a model that the ONNX Runtime can run.
//
// It owns the encoding (protocol buffers, as onnx.proto3 has them) and nothing of what a
// model computes. Pure. Package whisper calls it.
package graph

import (
	"encoding/binary"
	"math"
	"slices"
)

// Operator sets of the models written here: those of ONNX itself, and of the runtime's own
// operators.
const (
	onnxSet    = 20
	runtimeSet = 1
	irVersion  = 9
)

// Runtime is the domain of the ONNX Runtime's own operators.
const Runtime = "com.microsoft"

// Element types, by the numbers of ONNX.
const (
	Float32 = 1
	Int64   = 7
	Float16 = 10
)

// Dim is a dimension: a number, or a name where it is only known at a run.
type Dim struct {
	Name string
	N    int64
}

// Fixed and Named make dimensions.
func Fixed(n int64) Dim { return Dim{N: n} }

// Named is a dimension that may differ from run to run.
func Named(name string) Dim { return Dim{Name: name} }

// Graph is a model that is being written. The zero value is empty and usable.
type Graph struct {
	nodes, weights, inputs, outputs []byte
	count                           int
}

// Grow makes room for weights of n bytes.
func (g *Graph) Grow(n int) { g.weights = slices.Grow(g.weights, n) }

// Input declares an input.
func (g *Graph) Input(name string, element int, shape ...Dim) {
	g.inputs = appendMessage(g.inputs, 11, valueInfo(name, element, shape))
}

// Output declares a value of the graph to be an output.
func (g *Graph) Output(name string, element int, shape ...Dim) {
	g.outputs = appendMessage(g.outputs, 12, valueInfo(name, element, shape))
}

// Weight adds a constant from its raw little-endian bytes, and returns name.
func (g *Graph) Weight(name string, element int, shape []int64, raw []byte) string {
	var t []byte
	for _, d := range shape {
		t = appendVarint(t, 1, uint64(d))
	}
	t = appendVarint(t, 2, uint64(element))
	t = appendMessage(t, 8, []byte(name))
	t = binary.AppendUvarint(appendTag(t, 9, 2), uint64(len(raw)))
	// The numbers are most of a model: they are copied once.
	g.weights = binary.AppendUvarint(appendTag(g.weights, 5, 2), uint64(len(t)+len(raw)))
	g.weights = append(append(g.weights, t...), raw...)
	return name
}

// Ints adds a constant of whole numbers.
func (g *Graph) Ints(name string, values ...int64) string {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return g.Weight(name, Int64, []int64{int64(len(values))}, raw)
}

// Floats adds a constant of numbers.
func (g *Graph) Floats(name string, shape []int64, values []float32) string {
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return g.Weight(name, Float32, shape, raw)
}

// Attribute is a property of a node.
type Attribute []byte

// Int is a whole number.
func Int(name string, v int64) Attribute {
	a := appendMessage(nil, 1, []byte(name))
	a = appendVarint(a, 3, uint64(v))
	return appendVarint(a, 20, 2)
}

// Float is a number.
func Float(name string, v float32) Attribute {
	a := appendMessage(nil, 1, []byte(name))
	a = append(appendTag(a, 2, 5), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(a[len(a)-4:], math.Float32bits(v))
	return appendVarint(a, 20, 1)
}

// IntList is a list of whole numbers.
func IntList(name string, values ...int64) Attribute {
	a := appendMessage(nil, 1, []byte(name))
	for _, v := range values {
		a = appendVarint(a, 8, uint64(v))
	}
	return appendVarint(a, 20, 7)
}

// Node adds an operator: domain "" is ONNX's own. An empty input name is an input that is
// left out.
func (g *Graph) Node(domain, op string, inputs, outputs []string, attributes ...Attribute) {
	var n []byte
	for _, in := range inputs {
		n = appendMessage(n, 1, []byte(in))
	}
	for _, out := range outputs {
		n = appendMessage(n, 2, []byte(out))
	}
	n = appendMessage(n, 4, []byte(op))
	for _, a := range attributes {
		n = appendMessage(n, 5, a)
	}
	if domain != "" {
		n = appendMessage(n, 7, []byte(domain))
	}
	g.nodes = appendMessage(g.nodes, 1, n)
}

// Model is the bytes of the .onnx file.
func (g *Graph) Model() []byte {
	name := appendMessage(nil, 2, []byte("dure"))
	parts := [][]byte{g.nodes, name, g.weights, g.inputs, g.outputs}
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	m := make([]byte, 0, n+64)
	m = appendVarint(m, 1, irVersion)
	m = appendMessage(m, 2, []byte("dure"))
	m = binary.AppendUvarint(appendTag(m, 7, 2), uint64(n))
	for _, p := range parts {
		m = append(m, p...)
	}
	m = appendMessage(m, 8, operatorSet("", onnxSet))
	return appendMessage(m, 8, operatorSet(Runtime, runtimeSet))
}

func operatorSet(domain string, version uint64) []byte {
	return appendVarint(appendMessage(nil, 1, []byte(domain)), 2, version)
}

func valueInfo(name string, element int, shape []Dim) []byte {
	var dims []byte
	for _, d := range shape {
		var b []byte
		if d.Name != "" {
			b = appendMessage(b, 2, []byte(d.Name))
		} else {
			b = appendVarint(b, 1, uint64(d.N))
		}
		dims = appendMessage(dims, 1, b)
	}
	tensor := appendVarint(nil, 1, uint64(element))
	tensor = appendMessage(tensor, 2, dims)
	return appendMessage(appendMessage(nil, 1, []byte(name)), 2, appendMessage(nil, 1, tensor))
}

func appendTag(b []byte, field, wire uint64) []byte {
	return binary.AppendUvarint(b, field<<3|wire)
}

func appendVarint(b []byte, field, v uint64) []byte {
	return binary.AppendUvarint(appendTag(b, field, 0), v)
}

func appendMessage(b []byte, field uint64, m []byte) []byte {
	return append(binary.AppendUvarint(appendTag(b, field, 2), uint64(len(m))), m...)
}
