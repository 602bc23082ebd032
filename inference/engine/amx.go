package engine

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"dure/gguf"

	"github.com/ebitengine/purego"
	"github.com/hybridgroup/yzma/pkg/llama"
)

// CPUs with AMX keep weights in a layout of their own. The release's product of
// such weights with a batch of matrices reads behind the weight and writes beside
// the result from the second matrix on. Models with recurrent layers multiply so,
// one matrix a sequence: two streams get nonsense, some twenty end the process.
// So weights that meet a batch stay in the file's layout, and nothing else
// changes: AMX is worth 2 to 4 times the speed elsewhere.

// batchedWeights are the weights that meet a batch in architectures whose graphs
// were read for it. The engine matches them as regular expressions.
var batchedWeights = map[string]string{
	"qwen35":    `\.ssm_out\.weight$`,
	"qwen35moe": `\.ssm_out\.weight$`,
}

// packing is how a CPU with AMX shall keep a model's weights.
type packing struct {
	// none packs nothing: all weights stay in the file's layout.
	none bool
	// except are the weights that stay so though the others are packed; empty
	// for all packed.
	except string
	// seen: the header was read for it. Without, what the loaded model says counts.
	seen bool
}

// choosePacking decides by the header. A header that cannot be read leaves the
// choice to what the loaded model says. card says that layers may lie on a card.
func choosePacking(path string, card bool) packing {
	file, err := gguf.Open(path)
	if err != nil {
		return packing{}
	}
	defer file.Close()
	for _, t := range file.Tensors() {
		// Weights that are batches themselves; those of experts go another way.
		if s := t.Shape(); len(s) > 2 && s[2] > 1 && !strings.Contains(t.Name, "_exps") && !strings.Contains(t.Name, "_chexps") {
			return packing{none: true, seen: true}
		}
	}
	arch, ok := file.Metadata().Get("general.architecture")
	if !ok {
		return packing{}
	}
	name, err := arch.Text()
	if err != nil {
		return packing{}
	}
	pattern := batchedWeights[name]
	if pattern != "" && card {
		// The pattern would take them from the card too.
		return packing{none: true, seen: true}
	}
	return packing{except: pattern, seen: pattern != ""}
}

// fits says that a model loaded with this packing computes right.
func (p packing) fits(f Facts) bool { return p.none || p.seen || !f.Hybrid && !f.Recurrent }

// loadPacked loads a model so that the CPU packs no weight that it then computes
// wrong with.
func (l *Library) loadPacked(ctx context.Context, opt LoadOptions, params llama.ModelParams) (*Model, error) {
	amx, err := l.packsAMX()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLoad, opt.Path, err)
	}
	if !amx {
		return l.load(ctx, opt.Path, params)
	}
	p := choosePacking(opt.Path, l.onCard(opt.GPULayers))
	release := p.apply(&params)
	defer release()
	m, err := l.load(ctx, opt.Path, params)
	if err == nil && !p.fits(m.facts) {
		if err := m.Close(); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrLoad, opt.Path, err)
		}
		p = packing{none: true}
		p.apply(&params)
		m, err = l.load(ctx, opt.Path, params)
	}
	if err == nil {
		p.tell(l.log.log)
	}
	return m, err
}

// tell logs what AMX is not used for.
func (p packing) tell(log *slog.Logger) {
	const why = "the engine computes wrong with such weights where several sequences run at once"
	switch {
	case p.none:
		log.Warn("what the CPU computes of this model runs without AMX, several times slower", "reason", why)
	case p.except != "":
		log.Info("some weights stay out of AMX", "pattern", p.except, "reason", why)
	}
}

// apply sets it in the parameters of a load. What the parameters then point to
// stays in its place until release is called.
func (p packing) apply(params *llama.ModelParams) (release func()) {
	if p.none {
		params.UseExtraBufts = 0
	}
	if p.except == "" {
		return func() {}
	}
	o := &overrides{pattern: append([]byte(p.except), 0)}
	o.list[0] = override{pattern: &o.pattern[0], buft: unsafe.Pointer(plainBuffers())}
	var pin runtime.Pinner
	pin.Pin(o) // callbacks of the load may move this goroutine's stack
	params.TensorBuftOverrides = uintptr(unsafe.Pointer(&o.list[0]))
	return func() {
		runtime.KeepAlive(o)
		pin.Unpin()
	}
}

// override is struct llama_model_tensor_buft_override.
type override struct {
	pattern *byte
	buft    unsafe.Pointer
}

// overrides is a list of one override and its end, and the text it points to.
type overrides struct {
	list    [2]override
	pattern []byte
}

// bufferType is struct ggml_backend_buffer_type of the pinned release.
type bufferType struct {
	getName, allocBuffer, getAlignment, getMaxSize, getAllocSize, isHost uintptr
	device, context                                                      uintptr
}

// plainName contains what the comparison with the plan takes for a second copy of
// weights, which it is: the file stays mapped as a whole.
var plainName = []byte("CPU_NO_REPACK\x00")

// plainBuffers is the CPU's ordinary buffer type under another address: an
// override to the CPU's own would be taken for a wish for its special layouts. It
// lives as long as the process, as buffers point to it.
var plainBuffers = sync.OnceValue(func() *bufferType {
	cpu := uintptr(llama.GGMLBackendCpuBufferType())
	plain := **(**bufferType)(unsafe.Pointer(&cpu))
	plain.getName = purego.NewCallback(func(uintptr) uintptr { return uintptr(unsafe.Pointer(&plainName[0])) })
	return &plain
})

// packsAMX says that this process's CPU backend keeps weights in AMX's layout.
func (l *Library) packsAMX() (bool, error) {
	l.amx.once.Do(func() {
		names, err := extraBuffers(l.dir)
		l.amx.packs, l.amx.err = slices.Contains(names, "AMX"), err
	})
	return l.amx.packs, l.amx.err
}

// onCard says that a load with so many layers to offload puts some on a card.
func (l *Library) onCard(layers int) bool {
	return layers != 0 && slices.ContainsFunc(l.Devices(), func(d Device) bool { return d.Kind != "cpu" && d.Kind != "accel" })
}

// extraBuffers are the names of the CPU's buffer types for weights in layouts of
// its own; none where the backend has no such call.
func extraBuffers(dir string) (names []string, err error) {
	device := llama.GGMLBackendDeviceByType(llama.GGMLBackendDeviceTypeCPU)
	if device == 0 {
		return nil, nil
	}
	var find, name uintptr
	if err := symbols(ErrLibrary, filepath.Join(dir, "libggml-base.so"), map[string]*uintptr{
		"ggml_backend_reg_get_proc_address": &find, "ggml_backend_buft_name": &name,
	}); err != nil {
		return nil, fmt.Errorf("the CPU's weight layouts: %w", err)
	}
	var getProc func(reg uintptr, name string) uintptr
	var buftName func(buft uintptr) string
	purego.RegisterFunc(&getProc, find)
	purego.RegisterFunc(&buftName, name)
	get := getProc(uintptr(llama.GGMLBackendDeviceBackendReg(device)), "ggml_backend_dev_get_extra_bufts")
	if get == 0 {
		return nil, nil
	}
	list, _, _ := purego.SyscallN(get, uintptr(device))
	if list == 0 {
		return nil, nil
	}
	for at := *(*unsafe.Pointer)(unsafe.Pointer(&list)); *(*uintptr)(at) != 0; at = unsafe.Add(at, unsafe.Sizeof(list)) {
		names = append(names, buftName(*(*uintptr)(at)))
	}
	return names, nil
}
