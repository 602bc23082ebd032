package nvml

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ebitengine/purego"
)

// functions are all that is called of the library.
var functions = []string{
	"nvmlInit_v2", "nvmlShutdown", "nvmlSystemGetDriverVersion", "nvmlSystemGetCudaDriverVersion_v2",
	"nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2",
	"nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetPciInfo_v3",
	"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetUtilizationRates",
	"nvmlDeviceGetTemperature", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetEnforcedPowerLimit",
	"nvmlDeviceGetPowerManagementLimitConstraints", "nvmlDeviceGetPowerManagementDefaultLimit",
	"nvmlDeviceGetCudaComputeCapability", "nvmlDeviceGetMigMode",
	"nvmlDeviceGetCurrPcieLinkGeneration", "nvmlDeviceGetCurrPcieLinkWidth",
	"nvmlDeviceGetMaxPcieLinkGeneration", "nvmlDeviceGetMaxPcieLinkWidth", "nvmlDeviceGetClockInfo",
	"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses",
	"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2", "nvmlDeviceGetGraphicsRunningProcesses",
}

// Library is the loaded library. Close it when no card is to be read any more.
type Library struct {
	path    string
	symbols map[string]uintptr
	// turn holds a token while a call is inside the library. Whoever has the
	// turn owns the fields below.
	turn        chan struct{}
	initialised bool
	closed      bool
}

// Open loads the library at an absolute path. It talks to no driver yet. The
// error is ErrAbsent where path is empty or nothing is there.
func Open(path string) (*Library, error) {
	if path == "" {
		return nil, ErrAbsent
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open %s: %w", path, ErrAbsent)
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("open NVIDIA's management library %s: %w", path, err)
	}
	l := &Library{path: path, symbols: map[string]uintptr{}, turn: make(chan struct{}, 1)}
	for _, name := range functions {
		// One that is not there is answered with FunctionNotFound when called.
		if addr, err := purego.Dlsym(handle, name); err == nil {
			l.symbols[name] = addr
		}
	}
	return l, nil
}

// call calls a function of the library. Pointers are converted in the argument
// list, so that what they point to stays in place for the time of the call.
//
//go:uintptrescapes
func (l *Library) call(name string, args ...uintptr) error {
	addr, ok := l.symbols[name]
	if !ok {
		return &CallError{name, FunctionNotFound}
	}
	result, _, _ := purego.SyscallN(addr, args...)
	if code := Code(int32(result)); code != success {
		return &CallError{name, code}
	}
	return nil
}

// Close ends the use of the driver. The library itself stays loaded, as drivers
// do not bear being unloaded. While a call hangs it fails with ErrNoAnswer and
// the driver is left as it is.
func (l *Library) Close() error {
	select {
	case l.turn <- struct{}{}:
	default:
		return fmt.Errorf("close %s: %w", l.path, ErrNoAnswer)
	}
	defer func() { <-l.turn }()
	l.closed = true
	return l.shutdown()
}

func (l *Library) shutdown() error {
	if !l.initialised {
		return nil
	}
	l.initialised = false
	return l.call("nvmlShutdown")
}
