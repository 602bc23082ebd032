package device

import (
	"context"
	"io/fs"
	"path"
	"strconv"
	"time"

	"dure/inference/device/nvml"
)

// answerTime is what NVIDIA's driver gets for all cards. Waking sleeping cards
// takes it seconds.
const answerTime = 10 * time.Second

// Reader looks at the machine's devices again and again. It keeps NVIDIA's
// library open between looks, since starting it takes long. Safe for concurrent
// use; NVIDIA's driver is asked by one at a time.
type Reader struct {
	options Options
	log     func() string // the kernel's
	open    func(path string) (*nvml.Library, error)
	// libraries holds the open library, or nothing; whoever took it out may use
	// and replace it.
	libraries chan *nvml.Library
}

// NewReader makes a reader of this machine. libraryDirs are as for Here.
// NVIDIA's library is opened by the first Read that finds its driver.
func NewReader(libraryDirs []string) *Reader {
	return newReader(here(libraryDirs), readKernelLog)
}

func newReader(o Options, log func() string) *Reader {
	r := &Reader{options: o, log: log, open: nvml.Open, libraries: make(chan *nvml.Library, 1)}
	r.libraries <- nil
	return r
}

// Read looks at everything: the bus, the drivers, the processes. engine is what
// the engine reported, own are the caller's processes that hold memory on a card.
// It never fails: what cannot be read is said in the Sources. It lasts at most
// about ten seconds, and less if ctx ends.
func (r *Reader) Read(ctx context.Context, engine []EngineDevice, own []int) Sources {
	s := Sources{Report: Detect(r.options), Engine: engine, Own: own}
	root := r.options.Root
	if s.AMD = readAMD(root, s.Report.GPUs); len(s.AMD) > 0 {
		s.Memory = readProcessMemory(root)
	}
	if s.Report.NVIDIA != nil {
		s.NVML, s.NVMLErr = r.readNVIDIA(ctx, s.Report.NVIDIA.NVML)
	}
	s.Names = processNames(root, s)
	if len(s.AMD) > 0 || s.Report.NVIDIA != nil {
		s.Faults = ParseFaults(r.log())
	}
	return s
}

func (r *Reader) readNVIDIA(ctx context.Context, file string) (nvml.Snapshot, error) {
	lib := <-r.libraries
	if lib == nil {
		var err error
		if lib, err = r.open(file); err != nil {
			r.libraries <- nil
			return nvml.Snapshot{}, err
		}
	}
	r.libraries <- lib
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return lib.Read(ctx)
}

// processNames reads the names of the processes that hold memory. One that this
// system does not show is left out.
func processNames(root fs.FS, s Sources) map[int]string {
	names := map[int]string{}
	add := func(pid int) {
		if name := read(root, path.Join("proc", strconv.Itoa(pid), "comm")); name != "" {
			names[pid] = name
		}
	}
	for _, c := range s.NVML.Cards {
		for _, p := range c.Processes.V {
			add(p.PID)
		}
	}
	for _, p := range s.Memory {
		add(p.PID)
	}
	return names
}

// Close gives NVIDIA's driver back. It fails with nvml.ErrNoAnswer while the
// driver keeps a call. Reads after it open the library anew.
func (r *Reader) Close() error {
	lib := <-r.libraries
	if lib == nil {
		r.libraries <- nil
		return nil
	}
	if err := lib.Close(); err != nil {
		r.libraries <- lib // another one would only add a second call that hangs
		return err
	}
	r.libraries <- nil
	return nil
}
