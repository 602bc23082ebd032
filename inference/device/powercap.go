package device

import (
	"fmt"
	"math"
)

// capPart is the part of a card's usual limit that is named as a lower one.
const capPart = 0.75

// PowerHint says what a card may draw and how its owner lowers that, for the noise, the
// heat or the bill; ok is false where the driver does not tell, or the limit is as low
// already. Nothing here sets it: that takes the administrator's rights, and is theirs to
// decide.
func PowerHint(d Device) (what, command string, ok bool) {
	if d.Lost != "" || !d.PowerLimit.Known || !d.PowerRange.Known || d.PCI == "" {
		return "", "", false
	}
	r := d.PowerRange.Value
	lower := math.Round(max(r.Min, capPart*r.Default))
	if lower <= 0 || lower >= d.PowerLimit.Value {
		return "", "", false
	}
	switch d.Vendor {
	case VendorNVIDIA:
		command = fmt.Sprintf("sudo nvidia-smi -i %s -pl %.0f", d.PCI, lower)
	case VendorAMD:
		command = fmt.Sprintf("echo %.0f | sudo tee /sys/bus/pci/devices/%s/hwmon/hwmon*/power1_cap", lower*1e6, d.PCI)
	default:
		return "", "", false
	}
	what = fmt.Sprintf("%s may draw %.0f W (%.0f to %.0f W can be set, %.0f W is usual); less is quieter, and writing answers mostly waits for memory (`dure bench card` measures it); until the next start:",
		d.Name, d.PowerLimit.Value, r.Min, r.Max, r.Default)
	return what, command, true
}
