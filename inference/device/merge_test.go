package device

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dure/inference/device/nvml"
)

const gib = 1 << 30

func nvidiaBus(addresses ...string) Report {
	r := Report{NVIDIA: &NVIDIA{Version: "580.65.06", CUDA: "/c", NVML: "/n"}, Memory: Memory{Total: 64 * gib, Available: 60 * gib}}
	for _, a := range addresses {
		r.GPUs = append(r.GPUs, GPU{Vendor: VendorNVIDIA, VendorID: 0x10de, DeviceID: 0x2b85, PCI: a, Driver: "nvidia"})
	}
	return r
}

func nvmlCard(i int, pci, name string, used uint64, processes ...nvml.Process) nvml.Card {
	return nvml.Card{Index: i, Name: nvml.Known(name), PCI: nvml.Known(pci), UUID: nvml.Known("GPU-" + pci),
		Memory:      nvml.Known(nvml.Memory{Total: 32 * gib, Reserved: gib, Free: 31*gib - used, Used: used}),
		Utilisation: nvml.Missing[nvml.Utilisation](nvml.NotSupported), Temperature: nvml.Known(50), Power: nvml.Known[uint64](75500),
		Capability: nvml.Known(nvml.Version{Major: 12}), MIG: nvml.Known(nvml.MIG{}), Processes: nvml.Known(processes)}
}

func holds(pid int, bytes uint64) nvml.Process {
	return nvml.Process{PID: pid, Bytes: nvml.Known(bytes), Compute: true}
}

func cuda(i int, description, pci string) EngineDevice {
	return EngineDevice{Name: fmt.Sprintf("CUDA%d", i), Description: description, Kind: "gpu", Backend: "CUDA", PCI: pci, FreeBytes: 30 * gib, TotalBytes: 32 * gib}
}

func TestMergeNVIDIA(t *testing.T) {
	const name = "NVIDIA GeForce RTX 5090"
	s := Sources{
		Report: nvidiaBus("0000:01:00.0", "0000:41:00.0"),
		NVML: nvml.Snapshot{Driver: nvml.Known("580.65.06"), Cards: []nvml.Card{
			nvmlCard(0, "0000:01:00.0", name, 5*gib, holds(10, 3*gib), holds(20, gib)), nvmlCard(1, "0000:41:00.0", name, 0)}},
		Names:  map[int]string{10: "dure", 20: "comfyui"},
		Engine: []EngineDevice{cuda(0, name, "0000:41:00.0"), cuda(1, name, "00000000:01:00.0")},
		Own:    []int{10},
	}
	devices := Merge(s)
	checkDevices(t, s, devices)
	first := devices[0]
	if first.Name != name || first.Compute != "12.0" || first.DriverVersion != "580.65.06" || first.Kind != Discrete || first.Total != Is[uint64](32*gib) {
		t.Errorf("the first card is %+v", first)
	}
	if first.Others != Is[uint64](2*gib) || first.Unlisted != Is[uint64](gib) {
		t.Errorf("others hold %+v, %+v is not listed", first.Others, first.Unlisted)
	}
	want := Is([]Process{{10, "dure", Is[uint64](3 * gib), true}, {20, "comfyui", Is[uint64](gib), false}})
	if d := cmp.Diff(want, first.Processes); d != "" {
		t.Error(d)
	}
	if first.Utilisation.Known || !strings.Contains(first.Utilisation.Why, "not supported") || first.Power != Is(75.5) {
		t.Errorf("utilisation %+v, power %+v", first.Utilisation, first.Power)
	}
	if first.Seen[0].Name != "CUDA1" || devices[1].Seen[0].Name != "CUDA0" {
		t.Errorf("the engine's devices are on %v and %v", first.Seen, devices[1].Seen)
	}
}

// Without addresses the engine's devices go by name, by size, then in order.
func TestMatch(t *testing.T) {
	named := func(pci, name string, total uint64) nvml.Card {
		c := nvmlCard(0, pci, name, 0)
		c.Memory = nvml.Known(nvml.Memory{Total: total, Free: total})
		return c
	}
	const a, b, c = "0000:01:00.0", "0000:02:00.0", "0000:03:00.0"
	for _, x := range []struct {
		name   string
		cards  []nvml.Card
		engine []EngineDevice
		want   string // address=name/match of each card
	}{
		{"by name", []nvml.Card{named(a, "NVIDIA GeForce RTX 3090", 24*gib), named(b, "NVIDIA GeForce RTX 5090", 32*gib)},
			[]EngineDevice{cuda(0, "NVIDIA GeForce RTX 5090", ""), cuda(1, "NVIDIA GeForce RTX 3090", "")}, a + "=CUDA1/name " + b + "=CUDA0/name"},
		{"by size", []nvml.Card{named(a, "NVIDIA A100", 40*gib), named(b, "NVIDIA A100", 80*gib)},
			[]EngineDevice{{Name: "CUDA0", Description: "NVIDIA A100", Kind: "gpu", Backend: "CUDA", TotalBytes: 79 * gib}}, a + " " + b + "=CUDA0/memory"},
		{"in order", []nvml.Card{named(a, "NVIDIA H200", gib), named(b, "NVIDIA H200", gib), named(c, "NVIDIA H200", gib)},
			[]EngineDevice{cuda(0, "NVIDIA H200", ""), cuda(1, "NVIDIA H200", "")}, a + "=CUDA0/order " + b + "=CUDA1/order " + c},
		{"another maker's", []nvml.Card{named(a, "NVIDIA GeForce RTX 5090", gib)},
			[]EngineDevice{{Name: "Vulkan0", Description: "AMD Radeon RX 7900 XTX (RADV NAVI31)", Kind: "gpu", Backend: "Vulkan"}}, a + " =Vulkan0/none"},
		{"a name nobody has", []nvml.Card{named(a, "NVIDIA GeForce RTX 5090", gib)},
			[]EngineDevice{cuda(0, "NVIDIA GeForce RTX 4090", "")}, a + " =CUDA0/none"},
		{"one too many", []nvml.Card{named(a, "NVIDIA H200", gib)},
			[]EngineDevice{cuda(0, "NVIDIA H200", ""), cuda(1, "NVIDIA H200", "")}, a + "=CUDA0/name =CUDA1/none"},
		{"two backends", []nvml.Card{named(a, "NVIDIA H200", gib)},
			[]EngineDevice{cuda(0, "NVIDIA H200", ""), {Name: "Vulkan0", Description: "NVIDIA H200", Kind: "gpu", Backend: "Vulkan"}}, a + "=CUDA0/name=Vulkan0/name"},
		{"an address nobody has", []nvml.Card{named(a, "NVIDIA H200", gib)}, []EngineDevice{cuda(0, "NVIDIA H200", "0000:99:00.0")}, a + " 0000:99:00.0=CUDA0/none"},
		{"a broken address", []nvml.Card{named(a, "NVIDIA H200", gib)}, []EngineDevice{cuda(0, "NVIDIA H200", "where")}, a + "=CUDA0/name"},
	} {
		var addresses []string
		for _, c := range x.cards {
			addresses = append(addresses, c.PCI.V)
		}
		s := Sources{Report: nvidiaBus(addresses...), NVML: nvml.Snapshot{Cards: x.cards}, Engine: x.engine}
		devices := Merge(s)
		checkDevices(t, s, devices)
		var got []string
		for _, d := range devices[:len(devices)-1] {
			text := d.PCI
			for _, s := range d.Seen {
				text += "=" + s.Name + "/" + string(s.Match)
			}
			got = append(got, text)
		}
		if g := strings.Join(got, " "); g != x.want {
			t.Errorf("%s: %s, want %s", x.name, g, x.want)
		}
	}
}

// Under WSL2 the bus shows no card; NVIDIA's library and the engine do.
func TestMergeWSL(t *testing.T) {
	_, root, _ := readMachine(t, "testdata/wsl.txtar")
	card := nvmlCard(0, "0000:01:00.0", "NVIDIA GeForce RTX 4090", gib)
	card.Processes = nvml.Missing[[]nvml.Process](nvml.NotSupported)
	s := Sources{Report: Detect(Options{Root: root}), Engine: []EngineDevice{cuda(0, "NVIDIA GeForce RTX 4090", "0000:01:00.0")}, Own: []int{1},
		NVML: nvml.Snapshot{Driver: nvml.Known("551.23"), Cards: []nvml.Card{card}}}
	devices := Merge(s)
	checkDevices(t, s, devices)
	if len(devices) != 2 || devices[0].PCI != "0000:01:00.0" || len(devices[0].Seen) != 1 {
		t.Fatalf("devices are %+v", devices)
	}
	if d := devices[0]; d.Others.Known || d.Unlisted.Known || d.Processes.Known || d.Used != Is[uint64](gib) {
		t.Errorf("without a list of processes: others %+v, unlisted %+v", d.Others, d.Unlisted)
	}
	// The version that the kernel does not tell is asked of the library.
	if p := Unused(s, devices, "cuda12"); len(p) != 1 || !strings.Contains(p[0].What, "551.23") {
		t.Errorf("problems %+v", p)
	}
}

// Who holds what is not known where the list has another container's numbers.
func TestOthersInContainer(t *testing.T) {
	for _, x := range []struct {
		name      string
		processes []nvml.Process
		names     map[int]string
		own       []int
		want      Reading[uint64]
	}{
		{"nothing is ours", []nvml.Process{holds(10, gib)}, map[int]string{10: "x"}, nil, Is[uint64](4 * gib)},
		{"ours is listed", []nvml.Process{holds(10, gib)}, nil, []int{10}, Is[uint64](3 * gib)},
		{"ours holds none", []nvml.Process{holds(10, gib)}, map[int]string{10: "x"}, []int{7}, Is[uint64](4 * gib)},
		{"hidden list", nil, nil, []int{7}, Unknown[uint64]("the driver's list of processes is not of this container")},
		{"the host's numbers", []nvml.Process{holds(31337, gib)}, nil, []int{7}, Unknown[uint64]("the driver's list of processes is not of this container")},
		{"ours without a figure", []nvml.Process{{PID: 7, Bytes: nvml.Missing[uint64](nvml.NotSupported)}}, nil, []int{7}, Unknown[uint64]("not supported by this card")},
	} {
		s := Sources{Report: nvidiaBus("0000:01:00.0"), Names: x.names, Own: x.own,
			NVML: nvml.Snapshot{Cards: []nvml.Card{nvmlCard(0, "0000:01:00.0", "NVIDIA H200", 4*gib, x.processes...)}}}
		if got := Merge(s)[0].Others; got != x.want {
			t.Errorf("%s: %+v, want %+v", x.name, got, x.want)
		}
	}
}

func TestMergeMIG(t *testing.T) {
	card := nvmlCard(0, "0000:01:00.0", "NVIDIA H200", 4*gib)
	card.MIG = nvml.Known(nvml.MIG{On: true})
	s := Sources{Report: nvidiaBus("0000:01:00.0"), NVML: nvml.Snapshot{Cards: []nvml.Card{card}}}
	if d := Merge(s)[0]; d.Total.Known || d.Free.Known || d.Used.Known || !strings.Contains(d.Total.Why, "MIG") {
		t.Errorf("a divided card that the engine does not see is %+v", d)
	}
	s.Engine = []EngineDevice{{Name: "CUDA0", Description: "NVIDIA H200 MIG 1g.18gb", Kind: "gpu", Backend: "CUDA", PCI: "0000:01:00.0", FreeBytes: 15 * gib, TotalBytes: 16 * gib}}
	devices := Merge(s)
	if d := devices[0]; d.Total != Is[uint64](16*gib) || d.Free != Is[uint64](15*gib) {
		t.Errorf("a divided card has %+v of %+v free", d.Free, d.Total)
	}
	if p := Unused(s, devices, "cuda"); len(p) != 1 || !strings.Contains(p[0].Fix, "-mig 0") {
		t.Errorf("problems %+v", p)
	}
}

// A lost card keeps its place: it is the one that the library does not list.
func TestMergeLost(t *testing.T) {
	lost := &nvml.CallError{Call: "nvmlDeviceGetHandleByIndex_v2", Code: nvml.GPUIsLost}
	s := Sources{
		Report: nvidiaBus("0000:01:00.0", "0000:41:00.0"),
		NVML: nvml.Snapshot{Cards: []nvml.Card{nvmlCard(0, "0000:01:00.0", "NVIDIA H200", 0), {Index: 1, Err: lost, Name: nvml.Missing[string](lost),
			Memory: nvml.Missing[nvml.Memory](lost), Temperature: nvml.Missing[int](lost)}}},
		Faults: ParseFaults("[1.0] NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n[2.0] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."),
		Engine: []EngineDevice{cuda(0, "NVIDIA H200", "0000:01:00.0")},
	}
	devices := Merge(s)
	checkDevices(t, s, devices)
	if devices[0].Lost != "" { // it answers, so the log's line is an old one
		t.Errorf("the card that answers is %+v", devices[0])
	}
	if d := devices[1]; d.PCI != "0000:41:00.0" || !strings.Contains(d.Lost, "lost") || !strings.Contains(d.Lost, "Xid") || d.Total.Known || !strings.Contains(d.Temperature.Why, "lost") {
		t.Errorf("the lost card is %+v", d)
	}
	if p := Unused(s, devices, "cuda"); len(p) != 1 || !strings.Contains(p[0].What, "0000:41:00.0 is lost") || !strings.Contains(p[0].Fix, "reboot") {
		t.Errorf("problems %+v", p)
	}
	// Two without an address and two without an answer: which is which is not known.
	s.NVML.Cards[0] = s.NVML.Cards[1]
	s.NVML.Cards[0].Index = 0
	s.Engine = nil
	devices = Merge(s)
	checkDevices(t, s, devices)
	if len(devices) != 5 || devices[2].ID != "nvidia0" || devices[3].ID != "nvidia1" {
		t.Errorf("devices %+v", devices)
	}
}

func TestUnused(t *testing.T) {
	const a = "0000:01:00.0"
	card := nvml.Snapshot{Driver: nvml.Known("580.65.06"), Cards: []nvml.Card{nvmlCard(0, a, "NVIDIA GeForce RTX 5090", 0)}}
	amd := Report{GPUs: []GPU{{Vendor: VendorAMD, VendorID: 0x1002, DeviceID: 0x7551, PCI: a, Driver: "amdgpu", Name: "R9700"}}}
	both := nvidiaBus(a)
	both.GPUs = append(both.GPUs, GPU{Vendor: VendorAMD, PCI: "0000:02:00.0", Driver: "amdgpu", Name: "R9700"})
	seenCUDA := []EngineDevice{cuda(0, "NVIDIA GeForce RTX 5090", a)}
	vulkan := []EngineDevice{{Name: "Vulkan0", Description: "NVIDIA GeForce RTX 5090", Kind: "gpu", Backend: "Vulkan", PCI: a}}
	refused := func(c nvml.Code) error { return &nvml.CallError{Call: "nvmlInit_v2", Code: c} }
	for _, x := range []struct {
		name      string
		s         Sources
		variant   string
		what, fix string // in the only problem; "" is no problem
	}{
		{"in use", Sources{Report: nvidiaBus(a), NVML: card, Engine: seenCUDA}, "cuda", "", ""},
		{"no engine asked", Sources{Report: nvidiaBus(a), NVML: card}, "", "", ""},
		{"cpu engine", Sources{Report: nvidiaBus(a), NVML: card}, "cpu", "the engine cpu does not see it", "dure engine install cuda"},
		{"vulkan engine", Sources{Report: nvidiaBus(a), NVML: card, Engine: vulkan}, "vulkan", "slower", "dure engine install cuda"},
		{"after suspend", Sources{Report: nvidiaBus(a), NVML: card}, "cuda", "after suspend", "modprobe nvidia_uvm"},
		{"not listed", Sources{Report: nvidiaBus(a, "0000:41:00.0"), NVML: card, Engine: seenCUDA}, "cuda", "does not list it", "xid"},
		{"driver updated", Sources{Report: nvidiaBus(), NVMLErr: refused(nvml.VersionMismatch)}, "cuda", "old kernel module", "reboot"},
		{"driver gone", Sources{Report: nvidiaBus(), NVMLErr: refused(nvml.DriverNotLoaded)}, "cuda", "does not answer", "modprobe nvidia"},
		{"no permission", Sources{Report: nvidiaBus(), NVMLErr: refused(nvml.NoPermission)}, "cuda", "no permission", "/dev/nvidia"},
		{"hangs", Sources{Report: nvidiaBus(), NVMLErr: fmt.Errorf("x: %w: %w", nvml.ErrNoAnswer, context.DeadlineExceeded)}, "cuda", "hangs", "reboot"},
		{"no library", Sources{Report: nvidiaBus(), NVMLErr: nvml.ErrAbsent}, "cuda", "libnvidia-ml.so.1", "install"},
		{"something else", Sources{Report: nvidiaBus(), NVMLErr: errors.New("odd")}, "cuda", "odd", "nvidia-smi"},
		{"AMD, cpu engine", Sources{Report: amd}, "cpu", "cannot drive it", "install vulkan"},
		{"AMD, vulkan engine", Sources{Report: amd}, "vulkan", "Vulkan does not show it", "vulkaninfo"},
		{"AMD, HIP engine", Sources{Report: amd}, "source-hip", "HIP does not see it", "--backend hip"},
		{"both makers, cuda", Sources{Report: both, NVML: card, Engine: seenCUDA}, "cuda", "the engine cuda cannot drive it", "ENGINE=vulkan"},
		{"said already", Sources{Report: Report{GPUs: amd.GPUs, Problems: []Problem{{"R9700 at " + a + " is not used: no Vulkan", "f"}}}}, "cpu", "", ""},
	} {
		p := Unused(x.s, Merge(x.s), x.variant)
		if x.what == "" && len(p) == 0 {
			continue
		}
		if len(p) != 1 || x.what == "" || !strings.Contains(p[0].What, x.what) || !strings.Contains(p[0].Fix, x.fix) {
			t.Errorf("%s: %+v", x.name, p)
		}
	}
}

// Whatever the sources say, nothing is doubled, dropped or taken for a zero.
func TestMergeProperties(t *testing.T) {
	address := rapid.SampledFrom([]string{"", "0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "10000:01:00.0", "junk"})
	names := rapid.SampledFrom([]string{"", "NVIDIA H200", "AMD Radeon RX 7900 XTX (RADV NAVI31)", "AMD Radeon Graphics", "Intel(R) Arc(tm) B580 Graphics", "llvmpipe (LLVM 15)"})
	engine := rapid.Custom(func(t *rapid.T) EngineDevice {
		return EngineDevice{Name: rapid.SampledFrom([]string{"CUDA0", "CUDA1", "Vulkan0", "CPU"}).Draw(t, "device"), Description: names.Draw(t, "description"),
			Kind: rapid.SampledFrom([]string{"gpu", "igpu", "cpu", "accel", "type 9"}).Draw(t, "kind"), Backend: rapid.SampledFrom([]string{"CUDA", "Vulkan", "ROCm", "CPU"}).Draw(t, "backend"),
			PCI: address.Draw(t, "pci"), FreeBytes: rapid.Uint64().Draw(t, "free"), TotalBytes: rapid.Uint64().Draw(t, "total")}
	})
	process := rapid.Custom(func(t *rapid.T) nvml.Process {
		return nvml.Process{PID: rapid.IntRange(1, 9).Draw(t, "pid"), Bytes: nvml.Value[uint64]{V: 5, Known: rapid.Bool().Draw(t, "known")}}
	})
	card := rapid.Custom(func(t *rapid.T) nvml.Card {
		c := nvmlCard(0, address.Draw(t, "pci"), names.Draw(t, "name"), rapid.Uint64Range(0, gib).Draw(t, "used"), rapid.SliceOfN(process, 0, 3).Draw(t, "processes")...)
		c.PCI.Known = c.PCI.V != ""
		c.Memory.Known, c.MIG.V.On = rapid.Bool().Draw(t, "memory"), rapid.Bool().Draw(t, "mig")
		return c
	})
	gpu := rapid.Custom(func(t *rapid.T) GPU {
		return GPU{PCI: address.Filter(func(s string) bool { return s != "" }).Draw(t, "pci"), Name: names.Draw(t, "name"), Driver: "amdgpu",
			Vendor: rapid.SampledFrom([]Vendor{VendorNVIDIA, VendorAMD, VendorIntel, VendorOther}).Draw(t, "vendor")}
	})
	byAddress := func(c nvml.Card) string { return c.PCI.V + fmt.Sprint(c.PCI.Known || c.Index == 0) }
	rapid.Check(t, func(t *rapid.T) {
		s := Sources{
			Report: Report{GPUs: rapid.SliceOfNDistinct(gpu, 0, 4, func(g GPU) string { return g.PCI }).Draw(t, "bus"), NVIDIA: &NVIDIA{}},
			NVML:   nvml.Snapshot{Cards: rapid.SliceOfNDistinct(card, 0, 4, byAddress).Draw(t, "nvml")},
			Engine: rapid.SliceOfN(engine, 0, 5).Draw(t, "engine"),
			Own:    rapid.SliceOfN(rapid.IntRange(1, 9), 0, 2).Draw(t, "own"),
		}
		for _, g := range s.Report.GPUs {
			if g.Vendor == VendorAMD {
				s.AMD = append(s.AMD, AMDCard{PCI: g.PCI, VRAMTotal: Is[uint64](gib), VRAMUsed: Is(rapid.Uint64Range(0, 2*gib).Draw(t, "vram")), GTTTotal: Is[uint64](gib),
					Integrated: Reading[bool]{Value: true, Known: rapid.Bool().Draw(t, "apu")}})
			}
		}
		devices := Merge(s)
		checkDevices(t, s, devices)
		if again := Merge(s); !cmp.Equal(devices, again) {
			t.Fatalf("the same sources make another list:\n%s", cmp.Diff(devices, again))
		}
		slices.Reverse(s.Report.GPUs)
		if len(s.Engine) == 0 && !cmp.Equal(devices, Merge(s)) {
			t.Fatalf("the order of the bus changes the list")
		}
	})
}
