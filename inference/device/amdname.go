package device

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// amdIDs is where libdrm, which comes with Mesa, keeps the names of AMD's cards.
const amdIDs = "/usr/share/libdrm/amdgpu.ids"

// amdChip is a card or the graphics of a processor. The revision of the device
// tells the products with one chip apart; anyRevision stands for all.
type amdChip struct {
	device   uint16
	revision int
	name     string
	target   string
}

const anyRevision = -1

// amdChips names the cards that most people run models on, for machines without
// libdrm's list or the compute driver's topology. Figures: libdrm's amdgpu.ids
// and LLVM's table of AMDGPU targets.
var amdChips = []amdChip{
	{0x7551, 0xc0, "AMD Radeon AI PRO R9700", "gfx1201"},
	{0x7551, anyRevision, "", "gfx1201"},
	{0x7550, 0xc0, "AMD Radeon RX 9070 XT", "gfx1201"},
	{0x7550, 0xc2, "AMD Radeon RX 9070 GRE", "gfx1201"},
	{0x7550, 0xc3, "AMD Radeon RX 9070", "gfx1201"},
	{0x7590, 0xc0, "AMD Radeon RX 9060 XT", "gfx1200"},
	{0x744c, 0xc8, "AMD Radeon RX 7900 XTX", "gfx1100"},
	{0x744c, 0xcc, "AMD Radeon RX 7900 XT", "gfx1100"},
	{0x744c, 0xce, "AMD Radeon RX 7900 GRE", "gfx1100"},
	{0x744c, anyRevision, "", "gfx1100"},
	{0x7448, anyRevision, "AMD Radeon Pro W7900", "gfx1100"},
	{0x73bf, 0xc0, "AMD Radeon RX 6900 XT", "gfx1030"},
	{0x73bf, 0xc1, "AMD Radeon RX 6800 XT", "gfx1030"},
	{0x73bf, 0xc3, "AMD Radeon RX 6800", "gfx1030"},
	{0x1586, 0xc1, "AMD Radeon 8060S Graphics", "gfx1151"},
	{0x1586, 0xc2, "AMD Radeon 8050S Graphics", "gfx1151"},
	{0x1586, anyRevision, "", "gfx1151"},
	{0x150e, anyRevision, "", "gfx1150"},
	{0x15bf, anyRevision, "", "gfx1103"},
	{0x1638, anyRevision, "", "gfx90c"},
	{0x13c0, anyRevision, "", "gfx1036"},
	{0x164e, anyRevision, "", "gfx1036"},
}

// amdName is what the card is sold as: by libdrm's list, else by the table.
func amdName(root fs.FS, device uint16, revision int) string {
	if revision < 0 {
		return ""
	}
	if name := parseAMDIDs(read(root, amdIDs), device, revision); name != "" {
		return name
	}
	for _, c := range amdChips {
		if c.device == device && (c.revision == revision || c.revision == anyRevision) && c.name != "" {
			return c.name
		}
	}
	return ""
}

// parseAMDIDs looks for a line "744C, C8, AMD Radeon RX 7900 XTX".
func parseAMDIDs(list string, device uint16, revision int) string {
	for line := range strings.Lines(list) {
		fields := strings.SplitN(line, ",", 3)
		if strings.HasPrefix(line, "#") || len(fields) != 3 {
			continue
		}
		d, errD := strconv.ParseUint(strings.TrimSpace(fields[0]), 16, 16)
		r, errR := strconv.ParseUint(strings.TrimSpace(fields[1]), 16, 8)
		if errD == nil && errR == nil && uint16(d) == device && int(r) == revision {
			return strings.TrimSpace(fields[2])
		}
	}
	return ""
}

// amdTarget is what the compute driver says, else what the table knows.
func amdTarget(g GPU, targets map[string]string) Reading[string] {
	if target, ok := targets[g.PCI]; ok {
		return Is(target)
	}
	for _, c := range amdChips {
		if c.device == g.DeviceID {
			return Is(c.target)
		}
	}
	return Unknown[string](fmt.Sprintf("the compute driver (amdkfd) does not list the card, and %04x is not a chip we know", g.DeviceID))
}

// inProcessor are the targets that exist only as a part of a processor.
var inProcessor = map[string]bool{
	"gfx902": true, "gfx909": true, "gfx90c": true, "gfx1033": true, "gfx1035": true, "gfx1036": true,
	"gfx1103": true, "gfx1150": true, "gfx1151": true, "gfx1152": true, "gfx1153": true,
}

const kfdRoot = "/sys/class/kfd/kfd"

// kfdTargets reads the compute driver's topology: PCI address to target.
func kfdTargets(root fs.FS) map[string]string {
	targets := map[string]string{}
	for _, node := range names(root, kfdRoot+"/topology/nodes") {
		values := kfdProperties(read(root, path.Join(kfdRoot, "topology/nodes", node, "properties")))
		if target := gfxTarget(values["gfx_target_version"]); target != "" {
			targets[kfdAddress(values)] = target
		}
	}
	return targets
}

func kfdProperties(text string) map[string]uint64 {
	values := map[string]uint64{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			if n, err := strconv.ParseUint(value, 10, 64); err == nil {
				values[key] = n
			}
		}
	}
	return values
}

// kfdAddress takes the place on the bus apart: bus, device and function in 16 bits.
func kfdAddress(values map[string]uint64) string {
	at := values["location_id"]
	return pciAddress(values["domain"], at>>8&0xff, at>>3&0x1f, at&7)
}

// pciAddress writes an address as the kernel names the card's folder in sysfs.
func pciAddress(domain, bus, slot, function uint64) string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", domain, bus, slot, function)
}

// gfxTarget writes the version 120001 as gfx1201: the last two parts are
// hexadecimal digits (90010 is gfx90a). 0 is a processor.
func gfxTarget(version uint64) string {
	major, minor, step := version/10000, version/100%100, version%100
	if major == 0 || minor > 15 || step > 15 {
		return ""
	}
	return fmt.Sprintf("gfx%d%x%x", major, minor, step)
}
