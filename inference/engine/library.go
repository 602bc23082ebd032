package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/hybridgroup/yzma/pkg/llama"
)

// Versions of llama.cpp whose struct layouts match the bindings. The prebuilt
// libraries call themselves -dev; both mean release 0.5.0.
var acceptedVersions = []string{"0.5.0", "0.5.0-dev"}

// ErrLibrary is wrapped by every failure to open the shared libraries.
var ErrLibrary = errors.New("engine libraries")

// installHint is appended to errors that a fresh install mends.
const installHint = "run `dure engine install` to fetch the matching libraries"

// Library is the opened set of shared libraries of this process.
type Library struct {
	dir     string
	version string
	log     *engineLog
	amx     struct {
		once  sync.Once
		packs bool
		err   error
	}
}

var opened struct {
	sync.Mutex
	lib *Library
}

// Open loads libggml, libggml-base and libllama from dir, checks their version
// before anything else is called, starts the backends found there and routes
// the engine's log into log. The process keeps one Library: a second Open of
// the same dir returns it, of another dir is an error.
func Open(dir string, log *slog.Logger) (*Library, error) {
	opened.Lock()
	defer opened.Unlock()
	if opened.lib != nil {
		if opened.lib.dir != dir {
			return nil, fmt.Errorf("%w: %s is already open in this process, cannot open %s too", ErrLibrary, opened.lib.dir, dir)
		}
		return opened.lib, nil
	}
	version, err := readVersion(dir)
	if err != nil {
		return nil, err
	}
	if err := llama.Load(dir); err != nil {
		return nil, fmt.Errorf("%w: %s lacks what the bindings need: %w; %s", ErrLibrary, dir, err, installHint)
	}
	if err := bindExtra(dir); err != nil {
		return nil, err
	}
	lib := &Library{dir: dir, version: version, log: newEngineLog(log)}
	setLogCallback(lib.log)
	llama.Init()
	if len(lib.Devices()) == 0 {
		return nil, fmt.Errorf("%w: no compute backend in %s runs on this machine; %s", ErrLibrary, dir, installHint)
	}
	opened.lib = lib
	return lib, nil
}

// readVersion asks llama_version() of the library in dir. It runs before any
// struct crosses the boundary, since another version has other layouts.
func readVersion(dir string) (string, error) {
	path := filepath.Join(dir, "libllama.so")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: %w; %s", ErrLibrary, err, installHint)
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return "", fmt.Errorf("%w: open %s: %w; %s", ErrLibrary, path, err, installHint)
	}
	addr, err := purego.Dlsym(handle, "llama_version")
	if err != nil {
		return "", fmt.Errorf("%w: %s has no llama_version, so it is older than the %s this program needs; %s",
			ErrLibrary, path, acceptedVersions[0], installHint)
	}
	var call func() string
	purego.RegisterFunc(&call, addr)
	version := call()
	for _, v := range acceptedVersions {
		if version == v {
			return version, nil
		}
	}
	return "", fmt.Errorf("%w: %s is llama.cpp %q, this program needs %s; %s",
		ErrLibrary, path, version, acceptedVersions[0], installHint)
}

// Version is what llama_version() answered, for example "0.5.0-dev".
func (l *Library) Version() string { return l.version }

// Dir is where the libraries were loaded from.
func (l *Library) Dir() string { return l.dir }

// Device is one compute device as ggml reports it.
type Device struct {
	Name        string // "CPU", "Vulkan0", "CUDA0"
	Description string // product name
	Kind        string // "cpu", "gpu", "igpu", "accel"
	Backend     string // "CPU", "Vulkan", "CUDA"
	// FreeBytes and TotalBytes of its memory. For the CPU ggml reports free =
	// total, and software Vulkan always claims 2 GiB.
	FreeBytes, TotalBytes uint64
	// PCI is its address on the bus, "0000:c1:00.0"; empty where the backend does
	// not tell, or the library is too old to be asked.
	PCI string
}

// Devices lists the devices in ggml's order.
func (l *Library) Devices() []Device {
	n := llama.GGMLBackendDeviceCount()
	devices := make([]Device, 0, n)
	for i := range n {
		d := llama.GGMLBackendDeviceGet(i)
		free, total := llama.GGMLBackendDeviceMemory(d)
		name := llama.GGMLBackendDeviceName(d)
		devices = append(devices, Device{
			Name:        name,
			Description: llama.GGMLBackendDeviceDescription(d),
			Kind:        deviceKind(llama.GGMLBackendDevType(d)),
			Backend:     llama.GGMLBackendRegName(llama.GGMLBackendDeviceBackendReg(d)),
			FreeBytes:   free,
			TotalBytes:  total,
			PCI:         deviceID(d, name),
		})
	}
	return devices
}

func deviceKind(t llama.GGMLBackendDeviceType) string {
	switch t {
	case llama.GGMLBackendDeviceTypeCPU:
		return "cpu"
	case llama.GGMLBackendDeviceTypeGPU:
		return "gpu"
	case llama.GGMLBackendDeviceTypeIGPU:
		return "igpu"
	case llama.GGMLBackendDeviceTypeACCEL:
		return "accel"
	default:
		return fmt.Sprintf("type %d", t)
	}
}

// extra holds the C calls that yzma does not bind, and the addresses of those
// that are made for every token of a vocabulary: yzma's way costs five times as
// much for each.
var extra struct {
	tokenToPiece, tokenAttr, isEOG uintptr

	deviceProps uintptr // 0 where the library has none

	tokenize func(vocab llama.Vocab, text unsafe.Pointer, textLen int32, tokens unsafe.Pointer, max int32, addSpecial, parseSpecial bool) int32
}

// bindExtra binds calls of libllama that yzma lacks or binds unsafely: its
// Tokenize hands a nil pointer to C for text that holds a NUL byte.
func bindExtra(dir string) error {
	var tokenize uintptr
	if err := symbols(ErrLibrary, filepath.Join(dir, "libllama.so"), map[string]*uintptr{
		"llama_tokenize": &tokenize, "llama_token_to_piece": &extra.tokenToPiece,
		"llama_vocab_get_attr": &extra.tokenAttr, "llama_vocab_is_eog": &extra.isEOG,
	}); err != nil {
		return err
	}
	purego.RegisterFunc(&extra.tokenize, tokenize)
	bindProps(dir)
	return nil
}

// symbols opens a library and finds addresses in it by name. Its errors are kind.
func symbols(kind error, path string, into map[string]*uintptr) error {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return fmt.Errorf("%w: open %s: %w", kind, path, err)
	}
	for name, addr := range into {
		if *addr, err = purego.Dlsym(handle, name); err != nil {
			return fmt.Errorf("%w: %s: %w; %s", kind, path, err, installHint)
		}
	}
	return nil
}
