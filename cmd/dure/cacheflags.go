package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"dure/inference/llm"
	"dure/inference/prefix"
)

// cacheOptions say how much of what was computed is kept outside of the context.
type cacheOptions struct {
	ram, disk string // amounts; "" is the usual
}

// usualCacheDisk is small beside a model, and large enough for a team's day.
const usualCacheDisk = "8GiB"

func (o *cacheOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.ram, "cache-ram", "", "memory for states of waiting conversations, 0 for none (a quarter of what is free, 8GiB at most)")
	f.StringVar(&o.disk, "cache-disk", usualCacheDisk, "disk for them, so that they outlive the server, 0 for none; they hold what was said")
}

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
	if err != nil {
		return err
	}
	cfg.CacheRAM = ram
	if disk > 0 && ram > 0 { // the way to disk leads through memory
		cfg.CacheDisk = prefix.Disk{Dir: filepath.Join(home, "cache"), Bytes: disk}
	}
	return nil
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
