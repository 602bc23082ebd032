package device

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const pciBus = "/sys/bus/pci/devices"

// pciDisplay is the first byte of the class of display and 3D controllers.
const pciDisplay = 0x03

var vendors = map[uint16]Vendor{0x10de: VendorNVIDIA, 0x1002: VendorAMD, 0x8086: VendorIntel}

// detectGPUs looks at the PCI bus and not at /sys/class/drm: NVIDIA's driver
// makes no entry there unless told to, nor does a card without a driver.
func detectGPUs(root fs.FS, access func(string) error) []GPU {
	var gpus []GPU
	addresses := names(root, pciBus)
	slices.Sort(addresses)
	for _, address := range addresses {
		dir := path.Join(pciBus, address)
		if hexNumber(read(root, dir+"/class"))>>16 != pciDisplay {
			continue
		}
		gpus = append(gpus, readGPU(root, dir, address, access))
	}
	return gpus
}

func readGPU(root fs.FS, dir, address string, access func(string) error) GPU {
	g := GPU{
		PCI:      address,
		VendorID: uint16(hexNumber(read(root, dir+"/vendor"))),
		DeviceID: uint16(hexNumber(read(root, dir+"/device"))),
		Vendor:   VendorOther,
		Name:     read(root, dir+"/product_name"),
		VRAM:     decimal(read(root, dir+"/mem_info_vram_total")),
		GTT:      decimal(read(root, dir+"/mem_info_gtt_total")),
	}
	if v, ok := vendors[g.VendorID]; ok {
		g.Vendor = v
	}
	for line := range strings.Lines(read(root, dir+"/uevent")) {
		if driver, ok := strings.CutPrefix(strings.TrimSpace(line), "DRIVER="); ok {
			g.Driver = driver
		}
	}
	for _, node := range names(root, dir+"/drm") {
		if file := "/dev/dri/" + node; strings.HasPrefix(node, "renderD") && exists(root, file) {
			g.Render = true
			if access(file) != nil {
				g.Refused = file
			}
		}
	}
	switch {
	case g.Name != "":
	case g.Vendor == VendorNVIDIA:
		g.Name = nvidiaName(root, address)
	case g.Vendor == VendorAMD:
		g.Name = amdName(root, g.DeviceID, revision(root, dir))
	}
	return g
}

// revision is -1 where it is not known: 0 is one.
func revision(root fs.FS, dir string) int {
	text := read(root, dir+"/revision")
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 8)
	if err != nil {
		return -1
	}
	return int(n)
}

func nvidiaName(root fs.FS, address string) string {
	for line := range strings.Lines(read(root, "/proc/driver/nvidia/gpus/"+address+"/information")) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "Model" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// hexNumber reads "0x10de"; anything else is 0, which is no vendor and no class
// we look for.
func hexNumber(s string) uint64 {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
	if err != nil {
		return 0
	}
	return n
}

func decimal(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
