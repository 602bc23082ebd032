package device

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// versionRE finds the driver's version in /proc/driver/nvidia/version, whose
// wording differs between the open and the closed kernel module.
var versionRE = regexp.MustCompile(`\b(\d{3,4}\.\d+(?:\.\d+)?)\b`)

// detectNVIDIA looks for the loaded kernel module. Under WSL2 the module lives
// in Windows: there the library alone counts.
func detectNVIDIA(root fs.FS, libs *Libraries) *NVIDIA {
	version := read(root, "/proc/driver/nvidia/version")
	cuda, _ := libs.Find("libcuda.so.1")
	if version == "" && !strings.HasPrefix(cuda, "/usr/lib/wsl/") {
		return nil
	}
	nvml, _ := libs.Find("libnvidia-ml.so.1")
	n := &NVIDIA{CUDA: cuda, NVML: nvml}
	first, _, _ := strings.Cut(version, "\n")
	if m := versionRE.FindStringSubmatch(first); m != nil {
		n.Version = m[1]
	}
	return n
}

// Major is the first number of the driver's version; 0 where it is not known.
func (n *NVIDIA) Major() int {
	first, _, _ := strings.Cut(n.Version, ".")
	return int(decimal(first))
}

// icdDirs is where the Vulkan loader looks for drivers, per-user folders aside.
var icdDirs = []string{"/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d",
	"/run/opengl-driver/share/vulkan/icd.d", "/usr/local/nvidia/share/vulkan/icd.d"}

func detectVulkan(root fs.FS, libs *Libraries) Vulkan {
	var v Vulkan
	v.Loader, _ = libs.Find("libvulkan.so.1")
	for _, dir := range icdDirs {
		files := names(root, dir)
		slices.Sort(files)
		for _, file := range files {
			if path.Ext(file) == ".json" && !wrongArch(file) {
				v.ICDs = append(v.ICDs, readICD(root, path.Join(dir, file)))
			}
		}
	}
	return v
}

// wrongArch knows descriptions of 32-bit drivers, which carry it in the name.
func wrongArch(file string) bool {
	return strings.Contains(file, ".i686.") || strings.Contains(file, ".i386.") || strings.Contains(file, ".armv7")
}

// icdVendors knows a driver by its library or by its description's name.
var icdVendors = []struct {
	part     string
	vendor   Vendor
	software bool
}{
	{"lvp", VendorOther, true}, {"lavapipe", VendorOther, true}, {"swiftshader", VendorOther, true}, {"vk_swiftshader", VendorOther, true},
	{"nvidia", VendorNVIDIA, false}, {"nouveau", VendorNVIDIA, false},
	{"radeon", VendorAMD, false}, {"amdvlk", VendorAMD, false}, {"amd_icd", VendorAMD, false},
	{"intel", VendorIntel, false},
}

func readICD(root fs.FS, file string) ICD {
	icd := ICD{File: file, Vendor: VendorOther}
	var description struct {
		ICD struct {
			Library string `json:"library_path"`
		} `json:"ICD"`
	}
	// A description that cannot be read names no library: the loader skips it too.
	if err := json.Unmarshal([]byte(read(root, file)), &description); err == nil {
		icd.Library = description.ICD.Library
	}
	known := strings.ToLower(path.Base(file) + " " + path.Base(icd.Library))
	for _, v := range icdVendors {
		if icd.Library != "" && strings.Contains(known, v.part) {
			icd.Vendor, icd.Software = v.vendor, v.software
			break
		}
	}
	return icd
}
