package device

import (
	"regexp"
	"slices"
	"strings"
)

// softwareNames are the Vulkan drivers that compute on the CPU. The engine calls
// what they offer a GPU.
var softwareNames = []string{"llvmpipe", "lavapipe", "swiftshader"}

func softwareName(description string) string {
	lower := strings.ToLower(description)
	for _, name := range softwareNames {
		if strings.Contains(lower, name) {
			return name
		}
	}
	return ""
}

// backendVendors are the backends that serve one maker's cards alone.
var backendVendors = map[string]Vendor{"CUDA": VendorNVIDIA, "ROCm": VendorAMD, "HIP": VendorAMD, "SYCL": VendorIntel}

// makersWords tell the maker in a product's name.
var makersWords = []struct {
	word   string
	vendor Vendor
}{
	{"nvidia", VendorNVIDIA}, {"geforce", VendorNVIDIA}, {"quadro", VendorNVIDIA}, {"tesla", VendorNVIDIA},
	{"amd", VendorAMD}, {"radeon", VendorAMD}, {"intel", VendorIntel},
}

// vendorOf is the maker of an engine's device; VendorOther where neither its
// backend nor its description tells.
func vendorOf(e EngineDevice) Vendor {
	if v, ok := backendVendors[e.Backend]; ok {
		return v
	}
	words := strings.FieldsFunc(strings.ToLower(e.Description), func(r rune) bool { return r == ' ' || r == '(' || r == ')' })
	for _, m := range makersWords {
		for _, w := range words {
			if w == m.word {
				return m.vendor
			}
		}
	}
	return VendorOther
}

var bracketsRE = regexp.MustCompile(`\([^()]*\)`)

// plainName is a product's name without what drivers add to it in different
// ways: the maker, a remark in brackets, "Graphics".
func plainName(name string) string {
	var kept []string
	for _, w := range strings.Fields(strings.ToLower(bracketsRE.ReplaceAllString(name, " "))) {
		switch w {
		case "nvidia", "amd", "ati", "intel", "corporation", "graphics", "gpu":
		default:
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// generic names are what a driver says of a chip that it does not know.
func generic(plain string) bool { return plain == "" || plain == "radeon" || plain == "device" }

// codeNames are the chips as Mesa's driver names them in brackets; newer ones it
// names by their target.
var codeNames = map[string]string{
	"navi21": "gfx1030", "navi22": "gfx1031", "navi23": "gfx1032", "navi31": "gfx1100", "navi32": "gfx1101", "navi33": "gfx1102",
	"renoir": "gfx90c", "raphael_mendocino": "gfx1036", "rembrandt": "gfx1035", "phoenix": "gfx1103",
}

var targetRE = regexp.MustCompile(`\bgfx[0-9a-f]{3,4}\b`)

// chipOf is AMD's target that a description gives away, or "".
func chipOf(description string) string {
	lower := strings.ToLower(description)
	if target := targetRE.FindString(lower); target != "" {
		return target
	}
	for _, bracket := range bracketsRE.FindAllString(lower, -1) {
		for _, w := range strings.Fields(strings.Trim(bracket, "()")) {
			if target, ok := codeNames[w]; ok {
				return target
			}
		}
	}
	return ""
}

// sameSize allows for what drivers keep from a card's memory: a tenth.
func sameSize(a, b uint64) bool {
	small, large := min(a, b), max(a, b)
	return small > 0 && large-small <= large/10
}

// match finds the card that an engine's device is; -1 is none. Merge's comment has
// the rule.
func match(e EngineDevice, cards []*card) (int, Match) {
	if pci := normalPCI(e.PCI); pci != "" {
		for i, c := range cards {
			if c.PCI == pci {
				return i, ByPCI
			}
		}
		return -1, NoMatch
	}
	name, chip, vendor := plainName(e.Description), chipOf(e.Description), vendorOf(e)
	var byName, byChip, byVendor []int
	for i, c := range cards {
		if vendor != VendorOther && c.Vendor != vendor {
			continue
		}
		its := plainName(c.Name)
		if !generic(name) && its == name {
			byName = append(byName, i)
		}
		if chip != "" && chip == c.Compute {
			byChip = append(byChip, i)
		}
		if vendor != VendorOther && (generic(name) || generic(its)) {
			byVendor = append(byVendor, i)
		}
	}
	if i, by := narrow(e, cards, byName, ByName); i >= 0 {
		return i, by
	}
	if i, by := narrow(e, cards, byChip, ByChip); i >= 0 {
		return i, by
	}
	if open := unseen(e, cards, ofKind(e, cards, byVendor)); len(open) == 1 {
		return open[0], ByVendor
	}
	return -1, NoMatch
}

// unseen leaves out the cards that the backend was matched with already.
func unseen(e EngineDevice, cards []*card, found []int) []int {
	return slices.DeleteFunc(slices.Clone(found), func(i int) bool { return cards[i].seenBy(e.Backend) })
}

// ofKind leaves out cards of another kind than the engine says, if any remain.
// Some backends call all graphics a GPU.
func ofKind(e EngineDevice, cards []*card, found []int) []int {
	other := Integrated
	if e.Kind == "igpu" {
		other = Discrete
	}
	fit := slices.DeleteFunc(slices.Clone(found), func(i int) bool { return cards[i].Kind == other })
	if len(fit) == 0 {
		return found
	}
	return fit
}

// narrow chooses among cards that are alike for what was compared; -1 is none.
func narrow(e EngineDevice, cards []*card, alike []int, by Match) (int, Match) {
	sized := slices.DeleteFunc(slices.Clone(alike), func(i int) bool {
		total := cards[i].memory().total
		return !total.Known || !sameSize(total.Value, e.TotalBytes)
	})
	if len(alike) > 1 && len(sized) > 0 {
		if alike = sized; len(sized) == 1 {
			by = ByMemory
		}
	}
	if len(alike) > 1 {
		by = ByOrder
	}
	open := unseen(e, cards, alike)
	if len(open) == 0 {
		return -1, NoMatch
	}
	return open[0], by
}
