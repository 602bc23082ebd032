package device

import (
	"strings"
	"testing"
)

func TestPowerHint(t *testing.T) {
	card := func(v Vendor, limit float64, r PowerRange) Device {
		return Device{Name: "a card", Vendor: v, PCI: "0000:03:00.0", PowerLimit: Is(limit), PowerRange: Is(r)}
	}
	whole := PowerRange{Min: 400, Max: 600, Default: 575}
	lost, untold, unranged := card(VendorNVIDIA, 575, whole), card(VendorNVIDIA, 575, whole), card(VendorAMD, 300, whole)
	lost.Lost, untold.PowerLimit, unranged.PowerRange = "gone", Unknown[float64]("no"), Unknown[PowerRange]("no")
	for name, c := range map[string]struct {
		d    Device
		want string // the command; "" is no hint
	}{
		"NVIDIA":            {card(VendorNVIDIA, 575, whole), "sudo nvidia-smi -i 0000:03:00.0 -pl 431"},
		"at its least":      {card(VendorNVIDIA, 575, PowerRange{500, 600, 575}), "-pl 500"},
		"AMD":               {card(VendorAMD, 300, PowerRange{210, 350, 300}), "echo 225000000 | sudo tee /sys/bus/pci/devices/0000:03:00.0/hwmon/hwmon*/power1_cap"},
		"lowered already":   {card(VendorNVIDIA, 430, whole), ""},
		"cannot be lowered": {card(VendorAMD, 300, PowerRange{300, 300, 300}), ""},
		"nonsense":          {card(VendorAMD, 300, PowerRange{}), ""},
		"another maker":     {card(VendorIntel, 150, PowerRange{50, 150, 150}), ""},
		"lost":              {lost, ""},
		"limit not told":    {untold, ""},
		"range not told":    {unranged, ""},
		"not on the bus":    {Device{Vendor: VendorNVIDIA, PowerLimit: Is(575.0), PowerRange: Is(whole)}, ""},
	} {
		what, command, ok := PowerHint(c.d)
		if ok != (c.want != "") || !strings.Contains(command, c.want) || ok && !strings.Contains(what, "can be set") {
			t.Errorf("%s: %q, %q, %v", name, what, command, ok)
		}
	}
}
