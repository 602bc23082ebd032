package device

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// AMDCard is what the amdgpu driver tells of a card in sysfs, as the kernel's
// documentation of the driver describes it. Sizes are bytes.
type AMDCard struct {
	PCI      string
	UniqueID string          // 16 hex digits; not on every card
	Target   Reading[string] // "gfx1201"
	// Integrated is known by the target, else by the driver's own habit: it makes
	// no power limit and no fan for graphics in a processor.
	Integrated                             Reading[bool]
	VRAMTotal, VRAMUsed, GTTTotal, GTTUsed Reading[uint64]
	Temperature                            Reading[float64] // degrees Celsius at the edge of the die
	Power, PowerLimit                      Reading[float64] // watts
	PowerRange                             Reading[PowerRange]
	Busy                                   Reading[int] // percent
	Clock, MemoryClock                     Reading[int] // MHz
	Link, MaxLink                          Reading[Link]
}

// sleeping is said of sensors that are not read because that would wake the card.
const sleeping = "the card sleeps"

// notTold is said of what a driver has no answer for, on this card or at all.
const notTold = "not told by the driver"

// readAMD reads all cards that amdgpu drives.
func readAMD(root fs.FS, gpus []GPU) []AMDCard {
	targets := kfdTargets(root)
	var cards []AMDCard
	for _, g := range gpus {
		if g.Driver == "amdgpu" {
			card := readAMDCard(root, path.Join(pciBus, g.PCI), g)
			card.Target = amdTarget(g, targets)
			if inProcessor[card.Target.Value] {
				card.Integrated = Is(true)
			}
			cards = append(cards, card)
		}
	}
	return cards
}

func readAMDCard(root fs.FS, dir string, g GPU) AMDCard {
	c := AMDCard{
		PCI: g.PCI, UniqueID: read(root, dir+"/unique_id"),
		VRAMTotal: byteFile(root, dir+"/mem_info_vram_total"), VRAMUsed: byteFile(root, dir+"/mem_info_vram_used"),
		GTTTotal: byteFile(root, dir+"/mem_info_gtt_total"), GTTUsed: byteFile(root, dir+"/mem_info_gtt_used"),
		Link: linkFile(root, dir, "current"), MaxLink: linkFile(root, dir, "max"),
	}
	if read(root, dir+"/power/runtime_status") == "suspended" {
		c.Busy, c.Clock, c.MemoryClock = Unknown[int](sleeping), Unknown[int](sleeping), Unknown[int](sleeping)
		c.Temperature, c.Power, c.PowerLimit = Unknown[float64](sleeping), Unknown[float64](sleeping), Unknown[float64](sleeping)
		c.PowerRange = Unknown[PowerRange](sleeping)
		c.Integrated = Unknown[bool](sleeping)
		return c
	}
	c.Busy = numberFile(root, dir+"/gpu_busy_percent")
	c.Clock, c.MemoryClock = currentClock(root, dir+"/pp_dpm_sclk"), currentClock(root, dir+"/pp_dpm_mclk")
	for _, sensor := range names(root, dir+"/hwmon") {
		readSensors(root, path.Join(dir, "hwmon", sensor), &c)
	}
	return c
}

// readSensors reads a folder of hwmon: millidegrees and microwatts.
func readSensors(root fs.FS, dir string, c *AMDCard) {
	const milli, micro = 1e3, 1e6
	c.Temperature = scaledFile(root, dir+"/temp1_input", milli)
	for _, n := range []string{"1", "2", "3"} {
		if read(root, dir+"/temp"+n+"_label") == "edge" {
			c.Temperature = scaledFile(root, dir+"/temp"+n+"_input", milli)
		}
	}
	c.Power = scaledFile(root, dir+"/power1_average", micro)
	if !c.Power.Known { // older chips have the first, newer ones the second
		c.Power = scaledFile(root, dir+"/power1_input", micro)
	}
	c.PowerLimit = scaledFile(root, dir+"/power1_cap", micro)
	c.PowerRange = powerRange(scaledFile(root, dir+"/power1_cap_min", micro), scaledFile(root, dir+"/power1_cap_max", micro),
		scaledFile(root, dir+"/power1_cap_default", micro))
	c.Integrated = Is(!exists(root, dir+"/power1_cap") && !exists(root, dir+"/fan1_input"))
}

// powerRange is known where all of it is.
func powerRange(least, most, usual Reading[float64]) Reading[PowerRange] {
	for _, r := range []Reading[float64]{least, most, usual} {
		if !r.Known {
			return Unknown[PowerRange](r.Why)
		}
	}
	return Is(PowerRange{least.Value, most.Value, usual.Value})
}

// textFile keeps why a file cannot be read: the kernel makes only those that a
// card has, and refuses some while it is busy.
func textFile(root fs.FS, file string) Reading[string] {
	data, err := fs.ReadFile(root, strings.TrimPrefix(file, "/"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Unknown[string](notTold)
	case err != nil:
		return Unknown[string](err.Error())
	}
	return Is(strings.TrimSpace(string(data)))
}

func parseFile[T any](root fs.FS, file string, parse func(string) (T, error)) Reading[T] {
	text := textFile(root, file)
	if !text.Known {
		return Unknown[T](text.Why)
	}
	v, err := parse(text.Value)
	if err != nil {
		return Unknown[T]("read " + file + ": " + err.Error())
	}
	return Is(v)
}

func byteFile(root fs.FS, file string) Reading[uint64] {
	return parseFile(root, file, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })
}

func numberFile(root fs.FS, file string) Reading[int] { return parseFile(root, file, strconv.Atoi) }

func scaledFile(root fs.FS, file string, unit float64) Reading[float64] {
	return parseFile(root, file, func(s string) (float64, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		return float64(n) / unit, err
	})
}

// currentClock finds the level with the star: "1: 2350Mhz *".
func currentClock(root fs.FS, file string) Reading[int] {
	text := textFile(root, file)
	if !text.Known {
		return Unknown[int](text.Why)
	}
	for line := range strings.Lines(text.Value) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[2] == "*" {
			if mhz, err := strconv.Atoi(strings.TrimSuffix(strings.ToLower(fields[1]), "mhz")); err == nil {
				return Is(mhz)
			}
		}
	}
	return Unknown[int]("no level of " + file + " is marked")
}

// linkSpeeds are the generations by their rate, as the kernel writes it.
var linkSpeeds = map[string]int{"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}

func linkFile(root fs.FS, dir, which string) Reading[Link] {
	speed, lanes := textFile(root, dir+"/"+which+"_link_speed"), numberFile(root, dir+"/"+which+"_link_width")
	if !speed.Known || !lanes.Known {
		return Unknown[Link](cmp.Or(speed.Why, lanes.Why))
	}
	rate, _, _ := strings.Cut(speed.Value, " ")
	generation, ok := linkSpeeds[rate]
	if !ok {
		return Unknown[Link]("link speed " + strconv.Quote(speed.Value))
	}
	return Is(Link{generation, lanes.Value})
}
