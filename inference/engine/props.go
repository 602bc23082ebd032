package engine

import (
	"path/filepath"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/hybridgroup/yzma/pkg/llama"
)

// deviceProps is struct ggml_backend_dev_props of the pinned release, with room
// behind it for capabilities of a build that knows more of them.
type deviceProps struct {
	name, description       uintptr
	memoryFree, memoryTotal uint64
	kind                    int32
	id                      uintptr // C string, or nil
	_                       [64]byte
}

// bindProps looks for the call that tells a device's address. Devices are found
// by their names where it is missing.
func bindProps(dir string) {
	handle, err := purego.Dlopen(filepath.Join(dir, "libggml-base.so"), purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return // what needs this library says so
	}
	if addr, err := purego.Dlsym(handle, "ggml_backend_dev_get_props"); err == nil {
		extra.deviceProps = addr
	}
}

// deviceID is the PCI address that a backend tells of its device, or "".
func deviceID(d llama.GGMLBackendDevice, name string) string {
	if extra.deviceProps == 0 {
		return ""
	}
	return readProps(extra.deviceProps, uintptr(d), name)
}

// readProps asks for the properties of a device. The name in them must be the one
// that the library gives it otherwise: a build with another layout tells nothing.
func readProps(call, device uintptr, name string) string {
	p := new(deviceProps)
	var pin runtime.Pinner
	pin.Pin(p)
	defer pin.Unpin()
	purego.SyscallN(call, device, uintptr(unsafe.Pointer(p)))
	if textAt(&p.name) != name {
		return ""
	}
	return textAt(&p.id)
}

// textAt is the C string at an address, "" for none. The indirection is how
// package unsafe wants an address from C turned into a pointer.
func textAt(at *uintptr) string { return cString(*(**byte)(unsafe.Pointer(at))) }
