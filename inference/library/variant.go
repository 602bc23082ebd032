package library

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"dure/inference/fetch"
)

// Variant names a set of libraries by what it computes on.
type Variant string

// The variants. Prebuilt ones exist for some architectures only; a source
// variant exists once it was built.
const (
	CPU          Variant = "cpu"
	Vulkan       Variant = "vulkan"
	CUDA         Variant = "cuda"   // CUDA 13: recent cards
	CUDA12       Variant = "cuda12" // CUDA 12: all cards, older drivers
	SourceCPU    Variant = "source-cpu"
	SourceHIP    Variant = "source-hip"
	SourceCUDA   Variant = "source-cuda"
	SourceVulkan Variant = "source-vulkan"
	// Custom is the user's own folder.
	Custom Variant = "custom"
)

// Variants are all that can be installed or built, prebuilt ones first.
var Variants = []Variant{CPU, Vulkan, CUDA, CUDA12, SourceCPU, SourceHIP, SourceCUDA, SourceVulkan}

// FromSource says whether Build makes it, and not Install.
func (v Variant) FromSource() bool { return strings.HasPrefix(string(v), "source-") }

// folder is the name of the variant's folder under engine.
func (v Variant) folder() string { return string(v) + "-" + LlamaVersion }

// part is one archive of a prebuilt variant.
type part struct {
	artifact fetch.Artifact
	// take maps a member of the archive to a file name in lib; "" leaves it.
	take func(member string) string
	// bytes is the exact size of what is taken.
	bytes int64
	// sonames are what it provides that the system may have already; empty for
	// the engine itself.
	sonames []string
}

// prebuilt are the parts of each variant by architecture (runtime.GOARCH).
var prebuilt = map[string]map[Variant][]part{
	"amd64": {
		CPU:    {{artifact: cpuAMD64, take: engineLibs, bytes: 29_611_440}},
		Vulkan: {{artifact: vulkanAMD64, take: engineLibs, bytes: 72_866_912}},
		CUDA: {
			{artifact: cudaAMD64, take: engineLibs, bytes: 188_604_712},
			{artifact: cudart13, take: exactly("libcudart.so.13"), bytes: 757_536, sonames: []string{"libcudart.so.13"}},
			{artifact: cublas13, take: exactly("libcublas.so.13", "libcublasLt.so.13"), bytes: 556_795_312, sonames: []string{"libcublas.so.13", "libcublasLt.so.13"}},
		},
		CUDA12: {
			{artifact: cudaAMD64, take: engineLibsBut("libggml-cuda.so"), bytes: 29_611_440},
			{artifact: cudaExtAMD64, take: exactly("libggml-cuda.so"), bytes: 374_450_984},
			{artifact: cudart12, take: exactly("libcudart.so.12"), bytes: 741_088, sonames: []string{"libcudart.so.12"}},
			{artifact: cublas12, take: exactly("libcublas.so.12", "libcublasLt.so.12"), bytes: 854_346_880, sonames: []string{"libcublas.so.12", "libcublasLt.so.12"}},
		},
	},
	"arm64": {
		CPU: {{artifact: cpuARM64, take: engineLibs, bytes: 19_243_400}},
	},
}

// Prebuilt are the variants that can be installed on an architecture.
func Prebuilt(arch string) []Variant {
	var all []Variant
	for _, v := range Variants {
		if _, ok := prebuilt[arch][v]; ok {
			all = append(all, v)
		}
	}
	return all
}

// engineLibs takes the shared libraries of an npm package and leaves its add-on
// for another runtime.
func engineLibs(member string) string {
	ok, _ := path.Match("package/bins/*/*.so", member) // the pattern is well-formed
	if !ok {
		return ""
	}
	return path.Base(member)
}

func engineLibsBut(name string) func(string) string {
	return func(member string) string {
		if base := engineLibs(member); base != name {
			return base
		}
		return ""
	}
}

// exactly takes the files of these names, wherever they lie in the archive.
func exactly(names ...string) func(string) string {
	return func(member string) string {
		if base := path.Base(member); slices.Contains(names, base) {
			return base
		}
		return ""
	}
}

// taggedRE matches the names that carry variant and version, for example
// libllama.vulkan.v0.5.0.so.
var taggedRE = regexp.MustCompile(`^(lib[a-z]+)(\.[a-z]+)?\.v[0-9.]+\.so$`)

// links are the names under which the files of a set are looked for besides
// their own: NAME.so by yzma, and NAME.so.0 by programs that were linked with
// libraries built from the plain source, which is what lets the peer tools run
// on this very set.
func links(files []string) []Link {
	var all []Link
	for _, file := range files {
		stem := ""
		if m := taggedRE.FindStringSubmatch(file); m != nil {
			stem = m[1]
			all = append(all, Link{Name: stem + ".so", Target: file})
		} else if file == "libggml-base.so" || file == "libllama-common.so" {
			stem = strings.TrimSuffix(file, ".so")
		}
		if stem != "" {
			all = append(all, Link{Name: stem + ".so.0", Target: file})
		}
	}
	return all
}
