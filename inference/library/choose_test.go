package library

import (
	"slices"
	"strings"
	"testing"

	"dure/inference/device"

	"pgregory.net/rapid"
)

func nvidiaCard(id uint16) device.GPU {
	return device.GPU{Vendor: device.VendorNVIDIA, VendorID: 0x10de, DeviceID: id, PCI: "0000:01:00.0", Driver: "nvidia"}
}

var (
	radeon = device.GPU{Vendor: device.VendorAMD, VendorID: 0x1002, DeviceID: 0x7551, PCI: "0000:03:00.0", Driver: "amdgpu", Render: true}
	bmc    = device.GPU{Vendor: device.VendorOther, VendorID: 0x1a03, DeviceID: 0x2000, PCI: "0000:04:00.0", Driver: "ast"}
	driver = &device.NVIDIA{Version: "580.65.06", CUDA: "/usr/lib/libcuda.so.1", NVML: "/usr/lib/libnvidia-ml.so.1"}
	vulkan = device.Vulkan{Loader: "/usr/lib/libvulkan.so.1", ICDs: []device.ICD{{Vendor: device.VendorNVIDIA}, {Vendor: device.VendorAMD}, {Vendor: device.VendorOther, Software: true}}}
)

func TestChooseAuto(t *testing.T) {
	old := &device.NVIDIA{Version: "550.120", CUDA: driver.CUDA}
	ancient := &device.NVIDIA{Version: "470.256.02", CUDA: driver.CUDA}
	for _, c := range []struct {
		name   string
		report device.Report
		want   []Variant
		first  string // in the reason of the first choice
	}{
		{"no card", device.Report{}, []Variant{CPU}, "no graphics card"},
		{"management chip", device.Report{GPUs: []device.GPU{bmc}, Vulkan: vulkan}, []Variant{CPU}, "no graphics card"},
		{"5090", device.Report{GPUs: []device.GPU{nvidiaCard(0x2b85)}, NVIDIA: driver, Vulkan: vulkan}, []Variant{CUDA, Vulkan, CPU}, "NVIDIA driver 580.65.06 found"},
		{"5090 without Vulkan", device.Report{GPUs: []device.GPU{nvidiaCard(0x2b85)}, NVIDIA: driver}, []Variant{CUDA, CPU}, "580.65.06"},
		{"3090 and 4090", device.Report{GPUs: []device.GPU{nvidiaCard(0x2204), nvidiaCard(0x2684)}, NVIDIA: driver}, []Variant{CUDA, CPU}, "580.65.06"},
		{"H200", device.Report{GPUs: []device.GPU{nvidiaCard(0x2335)}, NVIDIA: driver}, []Variant{CUDA12, CPU}, "no code for NVIDIA GPU 10de:2335"},
		{"5090 and 2080", device.Report{GPUs: []device.GPU{nvidiaCard(0x2b85), nvidiaCard(0x1e87)}, NVIDIA: driver}, []Variant{CUDA12, CPU}, "no code for NVIDIA GPU 10de:1e87"},
		{"5090 beside other graphics", device.Report{GPUs: []device.GPU{nvidiaCard(0x2b85), radeon, bmc}, NVIDIA: driver, Vulkan: vulkan}, []Variant{CUDA, Vulkan, CPU}, "580"},
		{"old driver", device.Report{GPUs: []device.GPU{nvidiaCard(0x2684)}, NVIDIA: old, Vulkan: vulkan}, []Variant{CUDA12, Vulkan, CPU}, "older than CUDA 13 needs"},
		{"ancient driver", device.Report{GPUs: []device.GPU{nvidiaCard(0x1b38)}, NVIDIA: ancient, Vulkan: vulkan}, []Variant{Vulkan, CPU}, "with a Vulkan driver"},
		{"driver without libraries", device.Report{GPUs: []device.GPU{nvidiaCard(0x2b85)}, NVIDIA: &device.NVIDIA{Version: "580.1"},
			Problems: []device.Problem{{What: "libcuda.so.1 is not found", Fix: "f"}}}, []Variant{CPU}, "no usable graphics card: libcuda.so.1"},
		{"WSL", device.Report{NVIDIA: &device.NVIDIA{CUDA: "/usr/lib/wsl/lib/libcuda.so.1"}}, []Variant{CUDA, CPU}, "unknown version"},
		{"R9700", device.Report{GPUs: []device.GPU{radeon}, Vulkan: vulkan}, []Variant{Vulkan, CPU}, "AMD GPU 1002:7551 at 0000:03:00.0"},
		{"R9700, only software Vulkan", device.Report{GPUs: []device.GPU{radeon}, Vulkan: device.Vulkan{Loader: "l", ICDs: vulkan.ICDs[2:]}}, []Variant{CPU}, ""},
		{"R9700, no loader", device.Report{GPUs: []device.GPU{radeon}, Vulkan: device.Vulkan{ICDs: vulkan.ICDs}}, []Variant{CPU}, ""},
		{"software Vulkan alone", device.Report{Vulkan: vulkan}, []Variant{CPU}, "no graphics card"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Choose(c.report, Wish{}, "amd64", nil)
			if err != nil || !slices.Equal(variantsOf(got), c.want) {
				t.Fatalf("Choose = %+v, %v; want %v", got, err, c.want)
			}
			if !strings.Contains(got[0].Reason, c.first) {
				t.Errorf("reason is %q, want %q in it", got[0].Reason, c.first)
			}
			auto, err := Choose(c.report, Wish{Engine: "auto"}, "amd64", nil)
			if err != nil || !slices.Equal(auto, got) {
				t.Errorf("ENGINE=auto chooses %v, %v", auto, err)
			}
		})
	}
	arm, err := Choose(device.Report{GPUs: []device.GPU{nvidiaCard(0x2e12)}, NVIDIA: driver}, Wish{}, "arm64", nil)
	if err != nil || !slices.Equal(variantsOf(arm), []Variant{CPU}) || !strings.Contains(arm[0].Reason, "no prebuilt libraries for this card on arm64") {
		t.Errorf("arm64: %+v, %v", arm, err)
	}
}

func variantsOf(choices []Choice) []Variant {
	var all []Variant
	for _, c := range choices {
		all = append(all, c.Variant)
	}
	return all
}

func TestChooseOverride(t *testing.T) {
	amd := device.Report{GPUs: []device.GPU{radeon}, Vulkan: vulkan}
	for _, c := range []struct {
		name  string
		wish  Wish
		built []Variant
		want  Variant
		says  string // in the reason, or in the error where want is ""
	}{
		{"cpu", Wish{Engine: "cpu"}, nil, CPU, "override ENGINE=cpu"},
		{"cuda without a card", Wish{Engine: "cuda"}, nil, CUDA, "override ENGINE=cuda"},
		{"folder", Wish{Dir: "/my/libs"}, nil, Custom, "DURE_ENGINE_DIR=/my/libs"},
		{"source, one built", Wish{Engine: "source"}, []Variant{SourceCPU}, SourceCPU, "the only one built"},
		{"source, the card's", Wish{Engine: "source"}, []Variant{SourceCPU, SourceHIP}, SourceHIP, "this machine's card"},
		{"named source", Wish{Engine: "source-cpu"}, []Variant{SourceCPU, SourceHIP}, SourceCPU, "ENGINE=source-cpu"},
		{"source, none built", Wish{Engine: "source"}, nil, "", "make engine-source BACKEND=hip"},
		{"source, not the card's", Wish{Engine: "source"}, []Variant{SourceCPU, SourceCUDA}, "", "name one of them"},
		{"named source, not built", Wish{Engine: "source-vulkan"}, []Variant{SourceCPU}, "", "make engine-source BACKEND=vulkan"},
		{"unknown", Wish{Engine: "metal"}, nil, "", "ENGINE=metal is not known: use auto, source, or one of [cpu vulkan"},
		{"custom by name", Wish{Engine: "custom"}, nil, "", "not known"},
		{"both", Wish{Engine: "cpu", Dir: "/my/libs"}, nil, "", "unset one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Choose(amd, c.wish, "amd64", c.built)
			switch {
			case c.want == "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("Choose = %+v, %v; want an error with %q", got, err, c.says)
			case c.want != "" && (err != nil || len(got) != 1 || got[0].Variant != c.want || got[0].Dir != c.wish.Dir || !strings.Contains(got[0].Reason, c.says)):
				t.Errorf("Choose = %+v, %v; want only %s with %q", got, err, c.want, c.says)
			}
		})
	}
}

// Whatever the machine: without a wish there is always something that can be
// installed, CPU comes last and once, nothing twice, everything with a reason.
func TestChooseProperty(t *testing.T) {
	vendor := rapid.SampledFrom([]device.Vendor{device.VendorNVIDIA, device.VendorAMD, device.VendorIntel, device.VendorOther})
	card := rapid.Custom(func(t *rapid.T) device.GPU {
		return device.GPU{Vendor: vendor.Draw(t, "vendor"), DeviceID: rapid.Uint16().Draw(t, "id"), Render: rapid.Bool().Draw(t, "render"),
			Driver: rapid.SampledFrom([]string{"", "nvidia", "nouveau", "amdgpu"}).Draw(t, "driver")}
	})
	icd := rapid.Custom(func(t *rapid.T) device.ICD {
		return device.ICD{Vendor: vendor.Draw(t, "vendor"), Software: rapid.Bool().Draw(t, "software")}
	})
	rapid.Check(t, func(t *rapid.T) {
		r := device.Report{GPUs: rapid.SliceOfN(card, 0, 3).Draw(t, "cards"),
			Vulkan: device.Vulkan{Loader: rapid.SampledFrom([]string{"", "/l"}).Draw(t, "loader"), ICDs: rapid.SliceOfN(icd, 0, 3).Draw(t, "icds")}}
		if rapid.Bool().Draw(t, "driver") {
			r.NVIDIA = &device.NVIDIA{Version: rapid.SampledFrom([]string{"", "x", "470.1", "550.1", "580.1", "610.1"}).Draw(t, "version"),
				CUDA: rapid.SampledFrom([]string{"", "/c"}).Draw(t, "cuda")}
		}
		arch := rapid.SampledFrom([]string{"amd64", "arm64"}).Draw(t, "arch")
		got, err := Choose(r, Wish{}, arch, Variants)
		if err != nil || len(got) == 0 || got[len(got)-1].Variant != CPU {
			t.Fatalf("Choose = %+v, %v", got, err)
		}
		seen := map[Variant]bool{}
		for _, c := range got {
			if seen[c.Variant] || c.Reason == "" || !slices.Contains(Prebuilt(arch), c.Variant) {
				t.Fatalf("Choose = %+v", got)
			}
			seen[c.Variant] = true
		}
		if seen[CUDA] && seen[CUDA12] || r.NVIDIA == nil && (seen[CUDA] || seen[CUDA12]) || r.Vulkan.Loader == "" && seen[Vulkan] {
			t.Fatalf("%+v: Choose = %+v", r, got)
		}
	})
}
