package onnx_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/audio/enginetest"
	"dure/audio/onnx"
	"dure/audio/onnx/graph"
)

// product is y = a times b, and the sum of a.
func product() []byte {
	var g graph.Graph
	g.Input("a", graph.Float32, graph.Named("n"), graph.Fixed(2))
	g.Node("", "MatMul", []string{"a", g.Floats("b", []int64{2, 3}, []float32{1, 2, 3, 4, 5, 6})}, []string{"y"})
	g.Node("", "ReduceSum", []string{"a"}, []string{"sum"}, graph.Int("keepdims", 0))
	g.Output("y", graph.Float32, graph.Named("n"), graph.Fixed(3))
	g.Output("sum", graph.Float32)
	return g.Model()
}

func TestRun(t *testing.T) {
	lib := enginetest.Runtime(t)
	s, err := lib.Load(product(), onnx.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Expect([]string{"a"}, []string{"y", "sum"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Expect([]string{"b"}, []string{"y", "sum"}); err == nil || !strings.Contains(err.Error(), "[b]") {
		t.Errorf("another model's inputs: %v", err)
	}
	a, err := onnx.New(lib, []int64{2, 2}, []float32{1, 0, 2, -1})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, ctx := range []context.Context{context.Background(), t.Context()} {
		out, err := s.Run(ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		y, err := onnx.Data[float32](out[0])
		if want := []float32{1, 2, 3, -2, -1, 0}; err != nil || !slices.Equal(y, want) {
			t.Errorf("got %v, %v, want %v", y, err, want)
		}
		if shape, err := out[0].Shape(); err != nil || !slices.Equal(shape, []int64{2, 3}) {
			t.Errorf("got the shape %v, %v", shape, err)
		}
		if sum, err := onnx.Data[float32](out[1]); err != nil || !slices.Equal(sum, []float32{2}) {
			t.Errorf("got the sum %v, %v", sum, err)
		}
		if _, err := onnx.Data[int64](out[0]); err == nil {
			t.Error("float32 was read as int64")
		}
		onnx.CloseAll(out)
		onnx.CloseAll(out) // twice is allowed
		if _, err := onnx.Data[float32](out[0]); err == nil {
			t.Error("a closed tensor was read")
		}
	}
}

func TestRunRefuses(t *testing.T) {
	lib := enginetest.Runtime(t)
	s, err := lib.Load(product(), onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Run(t.Context()); err == nil {
		t.Error("no input was taken")
	}
	wrong, err := onnx.New(lib, []int64{1, 5}, make([]float32, 5))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "ONNX Runtime") {
		t.Errorf("an input of another shape: %v", err)
	}
	whole, err := onnx.New(lib, []int64{1, 2}, []int64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), whole); err == nil {
		t.Error("an input of whole numbers was taken")
	}
	wrong.Close()
	whole.Close()
	if _, err := s.Run(t.Context(), wrong); err == nil {
		t.Error("a closed input was taken")
	}
	ended, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no time")
	cancel(why)
	if _, err := s.Run(ended, wrong); err == nil {
		t.Error("a run began after its context ended")
	}
}

func TestValuesRefuse(t *testing.T) {
	lib := enginetest.Runtime(t)
	for _, shape := range [][]int64{{2}, {-1}, {1 << 40}, {1 << 31, 1 << 31}, {0, 3}} {
		if v, err := onnx.New(lib, shape, []float32{1}); err == nil {
			t.Errorf("shape %v took one number", shape)
			v.Close()
		}
	}
	for _, shape := range [][]int64{{}, {1}, {1, 1}} {
		v, err := onnx.New(lib, shape, []int32{7})
		if err != nil {
			t.Fatal(err)
		}
		if data, err := onnx.Data[int32](v); err != nil || !slices.Equal(data, []int32{7}) {
			t.Errorf("shape %v: got %v, %v", shape, data, err)
		}
		v.Close()
	}
	empty, err := onnx.New[float32](lib, []int64{1, 0, 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := onnx.Data[float32](empty); err != nil || len(data) != 0 {
		t.Errorf("an empty tensor: got %v, %v", data, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	lib := enginetest.Runtime(t)
	model := product()
	for name, m := range map[string][]byte{"empty": nil, "text": []byte("no model"), "cut": model[:len(model)/2]} {
		if s, err := lib.Load(m, onnx.Options{}); err == nil {
			t.Errorf("%s: loaded", name)
			s.Close()
		}
	}
	other := filepath.Join(t.TempDir(), "libonnxruntime.so")
	if _, err := onnx.Open(other); err == nil || !strings.Contains(err.Error(), "dure voice install") {
		t.Errorf("a missing library: %v", err)
	}
	if err := os.WriteFile(other, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := onnx.Open(other); err == nil {
		t.Error("a text file was opened as a library")
	}
	if _, err := onnx.Open("libc.so.6"); err == nil || !strings.Contains(err.Error(), "another library") {
		t.Errorf("the C library: %v", err)
	}
}

// A run that goes on ends when its context does.
func TestCancel(t *testing.T) {
	lib := enginetest.Runtime(t)
	var g graph.Graph
	g.Input("a", graph.Float32, graph.Fixed(512), graph.Fixed(512))
	x := "a"
	for i := range 400 { // many operators, each a few milliseconds
		y := "y" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		g.Node("", "MatMul", []string{x, "a"}, []string{y})
		x = y
	}
	g.Output(x, graph.Float32, graph.Fixed(512), graph.Fixed(512))
	s, err := lib.Load(g.Model(), onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := onnx.New(lib, []int64{512, 512}, make([]float32, 512*512))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(why) })
	if _, err := s.Run(ctx, a); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
	out, err := s.Run(t.Context(), a) // the session is whole
	if err != nil {
		t.Fatal(err)
	}
	onnx.CloseAll(out)
}

// Many goroutines run one session, and contexts end at any moment.
func TestConcurrentRuns(t *testing.T) {
	lib := enginetest.Runtime(t)
	s, err := lib.Load(product(), onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				v := float32(i)
				a, err := onnx.New(lib, []int64{1, 2}, []float32{v, v})
				if err != nil {
					t.Error(err)
					return
				}
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 0 {
					go cancel()
				}
				out, err := s.Run(ctx, a)
				cancel()
				a.Close()
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					continue
				}
				y, err := onnx.Data[float32](out[0])
				if err != nil || math.Abs(float64(y[0]-5*v)) > 1e-5 {
					t.Errorf("got %v, %v, want %v first", y, err, 5*v)
				}
				onnx.CloseAll(out)
			}
		})
	}
	all.Wait()
}
