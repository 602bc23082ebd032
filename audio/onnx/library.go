package onnx

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// apiVersion is the oldest version of the library's table of functions that has all that
// is used here. The table only ever grows at its end, so that every later library
// answers to it.
const apiVersion = 17

// status and the other objects of the library are addresses of its own.
type status uintptr

// Library is the open ONNX Runtime.
type Library struct {
	version string
	env     uintptr
	alloc   uintptr
	functions
}

// functions are those of OrtApi in onnxruntime_c_api.h that are used here.
type functions struct {
	errorMessage        func(status) string
	createEnv           func(severity int32, name string, out *uintptr) status
	createSession       func(env uintptr, model *byte, bytes uintptr, options uintptr, out *uintptr) status
	run                 func(session, options uintptr, inNames **byte, in *uintptr, ins uintptr, outNames **byte, outs uintptr, out *uintptr) status
	createOptions       func(out *uintptr) status
	logSeverity         func(options uintptr, severity int32) status
	intraThreads        func(options uintptr, n int32) status
	interThreads        func(options uintptr, n int32) status
	inputCount          func(session uintptr, n *uintptr) status
	outputCount         func(session uintptr, n *uintptr) status
	inputName           func(session, index, alloc uintptr, out *unsafe.Pointer) status
	outputName          func(session, index, alloc uintptr, out *unsafe.Pointer) status
	createRunOptions    func(out *uintptr) status
	terminate           func(options uintptr) status
	createTensor        func(alloc uintptr, shape *int64, dims uintptr, element int32, out *uintptr) status
	tensorData          func(value uintptr, out *unsafe.Pointer) status
	elementType         func(info uintptr, out *int32) status
	dimensionsCount     func(info uintptr, out *uintptr) status
	dimensions          func(info uintptr, out *int64, n uintptr) status
	typeAndShape        func(value uintptr, out *uintptr) status
	allocatorFree       func(alloc uintptr, p unsafe.Pointer) status
	defaultAllocator    func(out *uintptr) status
	releaseStatus       func(status)
	releaseSession      func(uintptr)
	releaseValue        func(uintptr)
	releaseRunOptions   func(uintptr)
	releaseTypeAndShape func(uintptr)
	releaseOptions      func(uintptr)
	configEntry         func(options uintptr, key, value string) status
}

// places says where each function is in the table: the same in every version of the
// header from 1.17 to 1.28.
func (f *functions) places() map[int]any {
	return map[int]any{
		2: &f.errorMessage, 3: &f.createEnv, 8: &f.createSession, 9: &f.run, 10: &f.createOptions,
		22: &f.logSeverity, 24: &f.intraThreads, 25: &f.interThreads, 30: &f.inputCount,
		31: &f.outputCount, 36: &f.inputName, 37: &f.outputName, 39: &f.createRunOptions,
		46: &f.terminate, 48: &f.createTensor, 51: &f.tensorData, 60: &f.elementType,
		61: &f.dimensionsCount, 62: &f.dimensions, 65: &f.typeAndShape, 76: &f.allocatorFree,
		78: &f.defaultAllocator, 93: &f.releaseStatus, 95: &f.releaseSession, 96: &f.releaseValue,
		97: &f.releaseRunOptions, 99: &f.releaseTypeAndShape, 100: &f.releaseOptions, 130: &f.configEntry,
	}
}

// tableSize is the number of functions in the table that are looked at.
const tableSize = 131

// Open loads the library at path, for example .../libonnxruntime.so, and refuses one that
// does not know version 17 of the API (ONNX Runtime 1.17, February 2024). It stays loaded
// until the process ends: its threads cannot be stopped in order.
func Open(path string) (*Library, error) {
	l, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("open ONNX Runtime %s: %w", path, err)
	}
	return l, nil
}

func open(path string) (*Library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, fmt.Errorf("%w; `dure voice install` fetches one", err)
	}
	symbol, err := purego.Dlsym(handle, "OrtGetApiBase")
	if err != nil {
		return nil, fmt.Errorf("it is another library: %w", err)
	}
	var getBase func() *struct{ getAPI, getVersion uintptr }
	purego.RegisterFunc(&getBase, symbol)
	base := getBase()
	if base == nil || base.getAPI == 0 || base.getVersion == 0 {
		return nil, fmt.Errorf("it has no API")
	}
	var getVersion func() string
	var getAPI func(version uint32) *[tableSize]uintptr
	purego.RegisterFunc(&getVersion, base.getVersion)
	purego.RegisterFunc(&getAPI, base.getAPI)
	l := &Library{version: getVersion()}
	table := getAPI(apiVersion)
	if table == nil {
		return nil, fmt.Errorf("version %s does not know API %d; use 1.%d or later, as `dure voice install` fetches",
			l.version, apiVersion, apiVersion)
	}
	for place, fn := range l.places() {
		purego.RegisterFunc(fn, table[place])
	}
	const warnings = 3 // errors and worse: the library's own log is not ours to show
	if err := l.check(l.createEnv(warnings, "dure", &l.env)); err != nil {
		return nil, err
	}
	return l, l.check(l.defaultAllocator(&l.alloc))
}

// Version is the library's own, for example 1.28.2.
func (l *Library) Version() string { return l.version }

// check turns a status into an error and releases it.
func (l *Library) check(s status) error {
	if s == 0 {
		return nil
	}
	defer l.releaseStatus(s)
	return fmt.Errorf("ONNX Runtime %s: %s", l.version, strings.TrimSpace(l.errorMessage(s)))
}
