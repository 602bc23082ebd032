package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Buffers is the memory of one buffer type: what the engine holds on one
// device, or in one kind of host memory. All sizes are in bytes.
type Buffers struct {
	// Name of the buffer type: "CPU", "CPU_Mapped", "CPU_REPACK", "Vulkan0",
	// "Vulkan_Host", "CUDA0".
	Name string
	// Device that owns it, as in Device.Name; "CPU" for host memory, also for
	// pinned memory of a GPU's driver.
	Device string
	// Host says that it is ordinary memory of the machine.
	Host bool
	// Weights of the model; of a mapped file the range that is mapped.
	Weights uint64
	// Cache is KV cells and recurrent state together.
	Cache uint64
	// Compute is the scratch space of the graphs.
	Compute uint64
}

// Total of all three.
func (b Buffers) Total() uint64 { return b.Weights + b.Cache + b.Compute }

// Breakdown is the memory of a context and of its model, by buffer type.
type Breakdown struct {
	Buffers []Buffers
}

// Total over all buffer types.
func (b Breakdown) Total() (sum uint64) {
	for _, x := range b.Buffers {
		sum += x.Total()
	}
	return sum
}

// ErrBreakdown says that the libraries do not tell how much memory they hold.
var ErrBreakdown = errors.New("memory breakdown")

// Breakdown asks the engine how much memory it holds. Each call leaks some
// hundred bytes inside the C++ library: call it after a load, not in a loop.
func (c *Context) Breakdown() (Breakdown, error) {
	return breakdown(c.model.lib.dir, uintptr(c.handle))
}

// breakdownSymbol is llama_get_memory_breakdown(const llama_context *). It is
// exported with its C++ name and returns a std::map by value.
const breakdownSymbol = "_Z26llama_get_memory_breakdownPK13llama_context"

// bufferCalls are the C calls that name a buffer type.
var bufferCalls struct {
	once      sync.Once
	err       error
	breakdown uintptr
	name      func(buft uintptr) string
	isHost    func(buft uintptr) bool
	device    func(buft uintptr) uintptr
	devName   func(dev uintptr) string
}

func bindBuffers(dir string) error {
	b := &bufferCalls
	b.once.Do(func() {
		if runtime.GOARCH != "amd64" {
			// The place of a hidden result pointer and the nodes of a std::map
			// were checked for this architecture only.
			b.err = fmt.Errorf("%w: not known on %s", ErrBreakdown, runtime.GOARCH)
			return
		}
		if b.err = symbols(ErrBreakdown, filepath.Join(dir, "libllama.so"), map[string]*uintptr{breakdownSymbol: &b.breakdown}); b.err != nil {
			return
		}
		var name, isHost, device, devName uintptr
		if b.err = symbols(ErrBreakdown, filepath.Join(dir, "libggml-base.so"), map[string]*uintptr{
			"ggml_backend_buft_name": &name, "ggml_backend_buft_is_host": &isHost,
			"ggml_backend_buft_get_device": &device, "ggml_backend_dev_name": &devName,
		}); b.err != nil {
			return
		}
		purego.RegisterFunc(&b.name, name)
		purego.RegisterFunc(&b.isHost, isHost)
		purego.RegisterFunc(&b.device, device)
		purego.RegisterFunc(&b.devName, devName)
	})
	return b.err
}

func breakdown(dir string, ctx uintptr) (Breakdown, error) {
	if err := bindBuffers(dir); err != nil {
		return Breakdown{}, err
	}
	var result [6]uint64 // a std::map: comparator, header node, size
	var pin runtime.Pinner
	pin.Pin(&result)
	defer pin.Unpin()
	purego.SyscallN(bufferCalls.breakdown, uintptr(unsafe.Pointer(&result)), ctx)
	root, count := uintptr(result[2]), result[5]
	if count > maxBufferTypes {
		return Breakdown{}, fmt.Errorf("%w: %d buffer types, the layout of the result is not the expected one", ErrBreakdown, count)
	}
	var b Breakdown
	if err := walk(root, int(count), &b.Buffers); err != nil {
		return Breakdown{}, err
	}
	slices.SortFunc(b.Buffers, func(x, y Buffers) int { return strings.Compare(x.Name, y.Name) })
	return b, nil
}

// maxBufferTypes is far more than any machine has: a larger count is garbage.
const maxBufferTypes = 256

// mapNode is a node of the red-black tree behind std::map as libstdc++ lays it
// out: the links, then the pair of key and value.
type mapNode struct {
	colour              uint64
	parent, left, right uintptr
	buft                uintptr
	model, context      uint64
	compute             uint64
}

// walk visits the tree in order and checks that it holds exactly count nodes.
func walk(root uintptr, count int, into *[]Buffers) error {
	var stack []uintptr
	for at := root; at != 0 || len(stack) > 0; {
		if at != 0 {
			if len(stack) > count {
				break
			}
			stack = append(stack, at)
			at = node(at).left
			continue
		}
		n := node(stack[len(stack)-1])
		stack = stack[:len(stack)-1]
		if len(*into) == count {
			return fmt.Errorf("%w: more than the %d buffer types announced", ErrBreakdown, count)
		}
		*into = append(*into, n.buffers())
		at = n.right
	}
	if len(*into) != count {
		return fmt.Errorf("%w: %d buffer types, %d announced", ErrBreakdown, len(*into), count)
	}
	return nil
}

// node views C memory at an address. The indirection is how package unsafe
// wants an address from C turned into a pointer.
func node(at uintptr) *mapNode { return *(**mapNode)(unsafe.Pointer(&at)) }

func (n *mapNode) buffers() Buffers {
	c := &bufferCalls
	b := Buffers{
		Name: c.name(n.buft), Host: c.isHost(n.buft), Device: "CPU",
		Weights: n.model, Cache: n.context, Compute: n.compute,
	}
	if dev := c.device(n.buft); dev != 0 && !b.Host {
		b.Device = c.devName(dev)
	}
	return b
}
