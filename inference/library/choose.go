package library

import (
	"fmt"
	"slices"
	"strings"

	"dure/inference/device"
)

// Wish is what the user asked for; the zero value leaves it to Choose.
type Wish struct {
	// Engine is a variant's name, "source" for whatever was built, or "auto".
	Engine string
	// Dir is a folder of the user's own libraries (DURE_ENGINE_DIR).
	Dir string
}

// Choice is a set of libraries to try, and why.
type Choice struct {
	Variant Variant
	Dir     string // for Custom
	Reason  string
}

// Choose says which variants to try, in this order. arch is runtime.GOARCH,
// built are the source variants that are installed. What the user asked for is
// the only choice: if it does not start, that is an error and no reason to take
// another. Pure.
func Choose(r device.Report, w Wish, arch string, built []Variant) ([]Choice, error) {
	engine := strings.TrimSpace(w.Engine)
	if engine == "auto" {
		engine = ""
	}
	switch {
	case w.Dir != "" && engine != "":
		return nil, fmt.Errorf("both a folder (DURE_ENGINE_DIR=%s) and a variant (ENGINE=%s) are set: unset one", w.Dir, engine)
	case w.Dir != "":
		return []Choice{{Variant: Custom, Dir: w.Dir, Reason: "override DURE_ENGINE_DIR=" + w.Dir}}, nil
	case engine == "source":
		return chooseSource(r, built)
	case engine != "":
		return chooseNamed(Variant(engine), built)
	}
	return chooseAuto(r, arch), nil
}

func chooseNamed(v Variant, built []Variant) ([]Choice, error) {
	if !slices.Contains(Variants, v) {
		return nil, fmt.Errorf("ENGINE=%s is not known: use auto, source, or one of %v", v, Variants)
	}
	if v.FromSource() && !slices.Contains(built, v) {
		return nil, fmt.Errorf("ENGINE=%s is not built: run `make engine-source BACKEND=%s`", v, v[len("source-"):])
	}
	return []Choice{{Variant: v, Reason: "override ENGINE=" + string(v)}}, nil
}

// chooseSource takes the only one that was built, else the one for the card.
func chooseSource(r device.Report, built []Variant) ([]Choice, error) {
	want := SourceCPU
	switch {
	case r.NVIDIA != nil:
		want = SourceCUDA
	case hasGPU(r, device.VendorAMD):
		want = SourceHIP
	case hasGPU(r, device.VendorIntel):
		want = SourceVulkan
	}
	switch {
	case len(built) == 0:
		return nil, fmt.Errorf("ENGINE=source: nothing is built: run `make engine-source BACKEND=%s`", want[len("source-"):])
	case len(built) == 1:
		return []Choice{{Variant: built[0], Reason: "override ENGINE=source, the only one built"}}, nil
	case slices.Contains(built, want):
		return []Choice{{Variant: want, Reason: "override ENGINE=source, the one for this machine's card"}}, nil
	}
	return nil, fmt.Errorf("ENGINE=source: built are %v, none of them for this machine's card: name one of them, or run `make engine-source BACKEND=%s`", built, want[len("source-"):])
}

func chooseAuto(r device.Report, arch string) []Choice {
	var all []Choice
	available := Prebuilt(arch)
	add := func(v Variant, reason string) {
		if slices.Contains(available, v) {
			all = append(all, Choice{Variant: v, Reason: reason})
		}
	}
	if v, reason := chooseCUDA(r); v != "" {
		add(v, reason)
	}
	if gpu, ok := vulkanGPU(r); ok {
		add(Vulkan, fmt.Sprintf("%s with a Vulkan driver found", gpu.Label()))
	}
	reason := "no graphics card found that an engine could use"
	switch {
	case len(all) > 0:
		reason = "runs everywhere"
	case len(r.Problems) > 0:
		reason = "no usable graphics card: " + r.Problems[0].What
	case r.NVIDIA != nil || hasGPU(r, device.VendorAMD) || hasGPU(r, device.VendorIntel):
		reason = "no prebuilt libraries for this card on " + arch
	}
	add(CPU, reason)
	return all
}

// chooseCUDA picks between the builds of CUDA 13 and CUDA 12.
func chooseCUDA(r device.Report) (Variant, string) {
	n := r.NVIDIA
	if n == nil || n.CUDA == "" {
		return "", ""
	}
	found := "NVIDIA driver " + n.Version + " found"
	if n.Version == "" {
		return CUDA, "NVIDIA driver of unknown version found"
	}
	if n.Major() < device.MinCUDA12Driver {
		return "", ""
	}
	if n.Major() < device.MinCUDA13Driver {
		return CUDA12, fmt.Sprintf("%s, older than CUDA 13 needs (%d)", found, device.MinCUDA13Driver)
	}
	for _, g := range r.GPUs {
		if g.Vendor == device.VendorNVIDIA && !cuda13Serves(g.DeviceID) {
			return CUDA12, fmt.Sprintf("%s; the CUDA 13 libraries have no code for %s", found, g.Label())
		}
	}
	return CUDA, found
}

// cuda13Families are the upper bytes of the PCI device numbers of the chips that
// the CUDA 13 libraries hold code for: GA102 to GA107 (8.6), AD10x (8.9), GB20x
// (12.0) and GB10 (12.1). GA100, Hopper and GB100 lie between them.
var cuda13Families = []uint16{0x22, 0x24, 0x25, 0x26, 0x27, 0x28, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f}

func cuda13Serves(id uint16) bool { return slices.Contains(cuda13Families, id>>8) }

// vulkanGPU is the first card that the Vulkan libraries could use.
func vulkanGPU(r device.Report) (device.GPU, bool) {
	if r.Vulkan.Loader == "" {
		return device.GPU{}, false
	}
	for _, g := range r.GPUs {
		// Mesa's drivers need a render node; NVIDIA's has nodes of its own.
		opens := g.Render || g.Vendor == device.VendorNVIDIA && g.Driver == "nvidia"
		if g.Vendor != device.VendorOther && opens && r.Vulkan.Serves(g.Vendor) {
			return g, true
		}
	}
	return device.GPU{}, false
}

func hasGPU(r device.Report, v device.Vendor) bool {
	return slices.ContainsFunc(r.GPUs, func(g device.GPU) bool { return g.Vendor == v })
}
