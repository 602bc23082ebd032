package onnx

import (
	"fmt"
	"unsafe"
)

// Element is the type of a tensor's elements.
type Element int32

// Element types, by the numbers of ONNX.
const (
	Float32 Element = 1
	Int32   Element = 6
	Int64   Element = 7
)

// Number is what a tensor here can hold.
type Number interface{ float32 | int32 | int64 }

func elementOf[T Number]() Element {
	switch any(*new(T)).(type) {
	case float32:
		return Float32
	case int32:
		return Int32
	}
	return Int64
}

// Value is a tensor in the library's memory. Close it.
type Value struct {
	l      *Library
	handle uintptr
}

// New makes a tensor of a shape and copies data into it. len(data) must be the product of
// the shape; an empty shape is a scalar.
func New[T Number](l *Library, shape []int64, data []T) (*Value, error) {
	n := int64(1)
	for _, d := range shape {
		if d < 0 || d > 1<<31 || n*d > 1<<31 {
			return nil, fmt.Errorf("onnx: tensor of shape %v: impossible", shape)
		}
		n *= d
	}
	if n != int64(len(data)) {
		return nil, fmt.Errorf("onnx: tensor of shape %v: has %d elements, got %d", shape, n, len(data))
	}
	v := &Value{l: l}
	if err := l.check(l.createTensor(l.alloc, unsafe.SliceData(shape), uintptr(len(shape)), int32(elementOf[T]()), &v.handle)); err != nil {
		return nil, err
	}
	if n == 0 {
		return v, nil
	}
	to, err := Data[T](v)
	if err != nil {
		v.Close()
		return nil, err
	}
	copy(to, data)
	return v, nil
}

// Data is the tensor's memory itself, valid until Close. Another element type than T is
// an error.
func Data[T Number](v *Value) ([]T, error) {
	element, shape, err := v.describe()
	if err != nil {
		return nil, err
	}
	if want := elementOf[T](); element != want {
		return nil, fmt.Errorf("onnx: tensor of shape %v has elements of type %d, want %d", shape, element, want)
	}
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	if n <= 0 {
		return nil, nil
	}
	var p unsafe.Pointer
	if err := v.l.check(v.l.tensorData(v.handle, &p)); err != nil {
		return nil, err
	}
	return unsafe.Slice((*T)(p), n), nil
}

// Shape is the tensor's.
func (v *Value) Shape() ([]int64, error) {
	_, shape, err := v.describe()
	return shape, err
}

func (v *Value) describe() (Element, []int64, error) {
	if v.handle == 0 {
		return 0, nil, fmt.Errorf("onnx: a tensor was used after it was closed")
	}
	l := v.l
	var info, dims uintptr
	if err := l.check(l.typeAndShape(v.handle, &info)); err != nil {
		return 0, nil, err
	}
	defer l.releaseTypeAndShape(info)
	var element int32
	if err := l.check(l.elementType(info, &element)); err != nil {
		return 0, nil, err
	}
	if err := l.check(l.dimensionsCount(info, &dims)); err != nil {
		return 0, nil, err
	}
	shape := make([]int64, dims)
	if dims == 0 {
		return Element(element), shape, nil
	}
	return Element(element), shape, l.check(l.dimensions(info, &shape[0], dims))
}

// Close releases the tensor; closing nil or twice does nothing.
func (v *Value) Close() {
	if v != nil && v.handle != 0 {
		v.l.releaseValue(v.handle)
		v.handle = 0
	}
}

// CloseAll closes every value.
func CloseAll(values []*Value) {
	for _, v := range values {
		v.Close()
	}
}
