package device

import (
	"cmp"
	"fmt"
	"io/fs"
)

// MinCUDA13Driver is the oldest driver that CUDA 13 programs run on, MinCUDA12Driver
// the oldest for CUDA 12 (NVIDIA's compatibility tables).
const (
	MinCUDA13Driver = 580
	MinCUDA12Driver = 525
)

// findProblems says what keeps the cards from being used, in the cards' order.
func findProblems(root fs.FS, r Report) []Problem {
	var all []Problem
	for _, g := range r.GPUs {
		switch g.Vendor {
		case VendorNVIDIA:
			all = append(all, nvidiaProblems(g, r)...)
		case VendorAMD, VendorIntel:
			all = append(all, vulkanProblems(g, r)...)
		}
	}
	if r.NVIDIA != nil {
		all = append(all, driverProblems(r)...)
	}
	if read(root, "/proc/meminfo") == "" {
		all = append(all, Problem{"the size of the main memory is not known: /proc/meminfo cannot be read", "mount /proc"})
	}
	return all
}

var vendorNames = map[Vendor]string{VendorNVIDIA: "NVIDIA", VendorAMD: "AMD", VendorIntel: "Intel", VendorOther: "other"}

// Label names a card for people.
func (g GPU) Label() string {
	return cmp.Or(g.Name, g.numbers()) + " at " + g.PCI
}

// numbers stand for a card that nobody knows a name of.
func (g GPU) numbers() string {
	return fmt.Sprintf("%s GPU %04x:%04x", vendorNames[g.Vendor], g.VendorID, g.DeviceID)
}

func nvidiaProblems(g GPU, r Report) []Problem {
	if r.NVIDIA != nil || r.Vulkan.Loader != "" && r.Vulkan.Serves(VendorNVIDIA) && g.Driver != "" {
		return nil
	}
	if g.Driver == "nouveau" {
		return []Problem{{g.Label() + " is not used: the kernel drives it with nouveau, which CUDA cannot use and for which there is no Vulkan driver here",
			"install NVIDIA's driver 580 or newer (Ubuntu: `sudo ubuntu-drivers install`; Fedora: akmod-nvidia from RPM Fusion; Arch: `sudo pacman -S nvidia-open`), which shuts nouveau off, and reboot"}}
	}
	return []Problem{{g.Label() + " is not used: NVIDIA's driver is not loaded",
		"install NVIDIA's driver 580 or newer from your distribution (Ubuntu: `sudo ubuntu-drivers install`) and reboot; in a container start it with the GPU (`--gpus all`)"}}
}

// driverProblems are those of a driver that is loaded.
func driverProblems(r Report) []Problem {
	var all []Problem
	n := r.NVIDIA
	if n.CUDA == "" {
		all = append(all, Problem{"NVIDIA's driver is loaded but libcuda.so.1 is not found, so CUDA cannot be used",
			"install the driver's CUDA library (Debian: `sudo apt install libcuda1`; Ubuntu: the libnvidia-compute package of the same version); in a container start it with NVIDIA's runtime (`--gpus all`)"})
	}
	update := fmt.Sprintf("update it to %d or newer (Ubuntu: `sudo ubuntu-drivers install`) and reboot", MinCUDA13Driver)
	switch major := n.Major(); {
	case major == 0: // not told, as under WSL2
	case major < MinCUDA12Driver:
		all = append(all, Problem{fmt.Sprintf("NVIDIA's driver %s is too old for CUDA", n.Version), update})
	case major < MinCUDA13Driver:
		all = append(all, Problem{fmt.Sprintf("NVIDIA's driver %s is older than CUDA 13 needs (%d), so the libraries of CUDA 12 are used, which know recent cards less well", n.Version, MinCUDA13Driver), update})
	}
	return all
}

func vulkanProblems(g GPU, r Report) []Problem {
	install := "`sudo apt install libvulkan1 mesa-vulkan-drivers` (Debian, Ubuntu), `sudo dnf install vulkan-loader mesa-vulkan-drivers` (Fedora), " +
		"`sudo pacman -S vulkan-icd-loader vulkan-radeon` (Arch; vulkan-intel for Intel)"
	switch {
	case g.Driver == "":
		return []Problem{{g.Label() + " is not used: no kernel driver is bound to it",
			"install a kernel that knows the card and its firmware package (linux-firmware), and reboot"}}
	case r.Vulkan.Loader == "":
		return []Problem{{g.Label() + " is not used: the Vulkan loader libvulkan.so.1 is not found", install}}
	case !r.Vulkan.Serves(g.Vendor):
		return []Problem{{g.Label() + " is not used: there is no Vulkan driver for it", install}}
	case !g.Render:
		return []Problem{{g.Label() + " is not used: its render node in /dev/dri is missing",
			"in a container pass the device (`--device /dev/dri`); else check that the kernel driver " + g.Driver + " started (`dmesg`)"}}
	case g.Refused != "":
		return []Problem{{g.Label() + " is not used: this user may not open " + g.Refused, joinGroups}}
	}
	return nil
}

const joinGroups = "`sudo usermod -aG render,video $USER` and log in again; in a container add the groups (`--group-add`) with the numbers that `stat -c %g /dev/dri/renderD*` shows"

// computeProblems are those of AMD's compute device, which HIP needs and Vulkan does not.
func computeProblems(root fs.FS, r Report, access func(string) error) []Problem {
	const kfd = "/dev/kfd"
	for _, g := range r.GPUs {
		if g.Vendor == VendorAMD && g.Driver == "amdgpu" && exists(root, kfd) && access(kfd) != nil {
			return []Problem{{"an engine built for HIP cannot use " + g.Label() + ": this user may not open " + kfd, joinGroups}}
		}
	}
	return nil
}
