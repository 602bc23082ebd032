package onnx

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"unsafe"
)

// Options says how a model is run.
type Options struct {
	// Threads compute one run; 0 is one.
	Threads int
}

// Session is a loaded model. Close it when no run is under way.
type Session struct {
	l       *Library
	handle  uintptr
	inputs  []string
	outputs []string
	inPtrs  []*byte
	outPtrs []*byte
}

// LoadFile makes the model of an .onnx file ready to run, and refuses one that takes or
// gives anything else than inputs and outputs, by name and in this order.
func (l *Library) LoadFile(files fs.FS, name string, o Options, inputs, outputs []string) (*Session, error) {
	model, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	s, err := l.Load(model, o)
	if err != nil {
		return nil, err
	}
	if err := s.Expect(inputs, outputs); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Load makes a model, given as the bytes of an .onnx file, ready to run.
func (l *Library) Load(model []byte, o Options) (*Session, error) {
	if len(model) == 0 {
		return nil, fmt.Errorf("load ONNX model: it is empty")
	}
	var options uintptr
	if err := l.check(l.createOptions(&options)); err != nil {
		return nil, err
	}
	defer l.releaseOptions(options)
	for _, s := range []status{
		l.logSeverity(options, 3),
		l.intraThreads(options, int32(max(1, o.Threads))),
		l.interThreads(options, 1),
		// Threads that spin while they wait take the cores from the frame pump.
		l.configEntry(options, "session.intra_op.allow_spinning", "0"),
	} {
		if err := l.check(s); err != nil {
			return nil, err
		}
	}
	s := &Session{l: l}
	if err := l.check(l.createSession(l.env, unsafe.SliceData(model), uintptr(len(model)), options, &s.handle)); err != nil {
		return nil, fmt.Errorf("load ONNX model of %d bytes: %w", len(model), err)
	}
	var err error
	if s.inputs, err = s.names(l.inputCount, l.inputName); err == nil {
		s.outputs, err = s.names(l.outputCount, l.outputName)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.inPtrs, s.outPtrs = cStrings(s.inputs), cStrings(s.outputs)
	return s, nil
}

// Inputs are the names of what Run takes, in its order.
func (s *Session) Inputs() []string { return slices.Clone(s.inputs) }

// Outputs are the names of what Run returns, in its order.
func (s *Session) Outputs() []string { return slices.Clone(s.outputs) }

// Expect is an error unless the model has exactly these inputs and outputs, in any order
// of outputs and in this order of inputs: a model that changed its shape fails at the
// load, not in a call.
func (s *Session) Expect(inputs, outputs []string) error {
	if !slices.Equal(s.inputs, inputs) || !slices.Equal(s.outputs, outputs) {
		return fmt.Errorf("onnx: the model takes %v and gives %v, want %v and %v", s.inputs, s.outputs, inputs, outputs)
	}
	return nil
}

// Run computes all outputs from the inputs, in the orders of Inputs and Outputs. The
// caller keeps the inputs and closes the outputs. When ctx ends, the run ends at the next
// operator with ctx's cause.
func (s *Session) Run(ctx context.Context, in ...*Value) ([]*Value, error) {
	if len(in) != len(s.inputs) {
		return nil, fmt.Errorf("onnx: run: got %d inputs, want %d: %v", len(in), len(s.inputs), s.inputs)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	handles := make([]uintptr, len(in))
	for i, v := range in {
		if v == nil || v.handle == 0 {
			return nil, fmt.Errorf("onnx: run: input %s is closed", s.inputs[i])
		}
		handles[i] = v.handle
	}
	options, done, err := s.watch(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	l := s.l
	raw := make([]uintptr, len(s.outputs))
	err = l.check(l.run(s.handle, options, unsafe.SliceData(s.inPtrs), unsafe.SliceData(handles), uintptr(len(in)),
		unsafe.SliceData(s.outPtrs), uintptr(len(raw)), unsafe.SliceData(raw)))
	out := make([]*Value, len(raw))
	for i, h := range raw {
		out[i] = &Value{l: l, handle: h}
	}
	if err != nil {
		CloseAll(out)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return out, nil
}

// watch makes the options of a run that ends when ctx does, and returns how to let go of
// them. A context that cannot end costs nothing.
func (s *Session) watch(ctx context.Context) (options uintptr, done func(), err error) {
	if ctx.Done() == nil {
		return 0, func() {}, nil
	}
	l := s.l
	if err := l.check(l.createRunOptions(&options)); err != nil {
		return 0, nil, err
	}
	var mu sync.Mutex // between the end of ctx and that of the run
	gone := false
	stop := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if !gone {
			_ = l.check(l.terminate(options)) // it can only fail for memory
		}
	})
	return options, func() {
		stop()
		mu.Lock()
		defer mu.Unlock()
		gone = true
		l.releaseRunOptions(options)
	}, nil
}

// Close releases the model; closing twice does nothing.
func (s *Session) Close() {
	if s != nil && s.handle != 0 {
		s.l.releaseSession(s.handle)
		s.handle = 0
	}
}

func (s *Session) names(count func(uintptr, *uintptr) status, name func(uintptr, uintptr, uintptr, *unsafe.Pointer) status) ([]string, error) {
	l := s.l
	var n uintptr
	if err := l.check(count(s.handle, &n)); err != nil {
		return nil, err
	}
	var all []string
	for i := range n {
		var p unsafe.Pointer
		if err := l.check(name(s.handle, i, l.alloc, &p)); err != nil {
			return nil, err
		}
		all = append(all, goString(p))
		if err := l.check(l.allocatorFree(l.alloc, p)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func cStrings(names []string) []*byte {
	out := make([]*byte, len(names))
	for i, n := range names {
		out[i] = unsafe.SliceData(append([]byte(n), 0))
	}
	return out
}

func goString(p unsafe.Pointer) string {
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}
