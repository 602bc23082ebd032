package main

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dure/inference/llm"
	"dure/inference/prefix"
	"dure/kvcache"
	"dure/kvcache/codec"
)

// cacheOptions say how much of what was computed is kept outside of the context.
type cacheOptions struct {
	ram, disk string // amounts; "" is the usual
	class     string // quality class of what lies on disk; "" is the usual
	smaller   string // classes that it may be coded in anew when the disk is short; "" none
}

// cacheFolder of the home folder holds the states on disk.
const cacheFolder = "cache"

// usualCacheDisk is small beside a model, and large enough for a team's day.
const usualCacheDisk = "8GiB"

func (o *cacheOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.ram, "cache-ram", "", "memory of each model for the states of conversations that wait, 0 for none, and then none on disk (a quarter of what is free, 8GiB at most)")
	f.StringVar(&o.disk, "cache-disk", usualCacheDisk, "disk of each model for the states of conversations, which then outlive the server, 0 for none; they hold what was said and lie in DURE_HOME/cache")
	f.StringVar(&o.class, "cache-class", codec.Exact.String(), "how states are stored on disk: exact, or smaller with a loss that dure bench kv has measured for the model: near, near-small, small, or calibrated, which dure bench kv MODEL --calibrate prepares")
	f.StringVar(&o.smaller, "cache-smaller", "", "classes in which states on disk may be stored anew when --cache-disk is full, the longest unused first, before any is dropped, and those of background requests at once: a list as for --cache-class, or auto: those that dure bench kv found good enough (none)")
}

// smallerAuto stands for every class that was found good enough for the model.
const smallerAuto = "auto"

// mostCacheRAM is taken without being asked for.
const mostCacheRAM = 8 << 30

// apply puts the choices into a model's configuration. free is the memory, in
// bytes, that is left beside the model.
func (o *cacheOptions) apply(cfg *llm.Config, home string, free uint64) error {
	ram, err := cacheAmount("--cache-ram", o.ram, int64(min(free/4, mostCacheRAM)))
	if err != nil {
		return err
	}
	disk, err := cacheAmount("--cache-disk", o.disk, 0)
	class, wrong := codec.ParseClass(cmp.Or(o.class, codec.Exact.String()))
	switch {
	case err != nil:
		return err
	case wrong != nil:
		return fmt.Errorf("--cache-class: %w", wrong)
	case ram > int64(free):
		return fmt.Errorf("--cache-ram %s: %s are free beside the model", o.ram, size(int64(free)))
	case ram == 0 && o.disk != "0" && o.disk != usualCacheDisk:
		return fmt.Errorf("--cache-disk %s: the way to disk leads through memory; give --cache-ram some", o.disk)
	}
	cfg.CacheRAM = ram
	if disk > 0 && ram > 0 {
		cfg.CacheDisk = prefix.Disk{Dir: filepath.Join(home, cacheFolder), Bytes: disk, Class: class}
		cfg.CacheDisk.Smaller, cfg.CacheDisk.Auto, err = smallerClasses(o.smaller, class)
	}
	return err
}

// cacheNote says what a model may take for states beside its plan.
func cacheNote(cfg llm.Config) string {
	switch {
	case cfg.CacheRAM == 0:
		return "states of conversations that wait are not kept"
	case cfg.CacheDisk.Bytes == 0:
		return fmt.Sprintf("states of conversations that wait take up to %s of memory", size(cfg.CacheRAM))
	}
	return fmt.Sprintf("states of conversations that wait take up to %s of memory, and %s of disk in %s, class %v", size(cfg.CacheRAM),
		size(cfg.CacheDisk.Bytes), cfg.CacheDisk.Dir, cfg.CacheDisk.Class)
}

// usualParts are the parts of a state's bytes that are left in each class, as far as
// nothing was measured.
var usualParts = map[codec.Class]float64{codec.Near: 0.34, codec.NearSmall: 0.29, codec.Small: 0.18, codec.Calibrated: 0.12}

// smallerClasses are those beyond a class that a list names, the least loss first; auto
// has all there are.
func smallerClasses(list string, beyond codec.Class) (out []kvcache.Coding, auto bool, err error) {
	if list == "" {
		return nil, false, nil
	}
	wanted := map[codec.Class]bool{}
	if auto = list == smallerAuto; !auto {
		for _, name := range strings.Split(list, ",") {
			c, err := codec.ParseClass(strings.TrimSpace(name))
			if err != nil {
				return nil, false, fmt.Errorf("--cache-smaller: %w", err)
			}
			if c <= beyond {
				return nil, false, fmt.Errorf("--cache-smaller %v: --cache-class %v takes no more room", c, beyond)
			}
			wanted[c] = true
		}
	}
	for _, c := range slices.Sorted(maps.Keys(usualParts)) {
		if c > beyond && (auto || wanted[c]) {
			out = append(out, kvcache.Coding{Class: uint8(c), Part: usualParts[c]})
		}
	}
	return out, auto, nil
}

func cacheAmount(flag, text string, usual int64) (int64, error) {
	switch text {
	case "":
		return usual, nil
	case "0":
		return 0, nil
	}
	n, err := memoryBytes(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", flag, err)
	}
	return int64(n), nil
}
