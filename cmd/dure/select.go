package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"dure/inference/device"
	"dure/inference/engine"
	"dure/inference/library"
)

// probeReport is what `dure engine probe` prints.
type probeReport struct {
	Version string          `json:"version"`
	Devices []engine.Device `json:"devices"`
}

// startedEngine is a set of libraries that was seen to start on this machine.
type startedEngine struct {
	library.Choice
	Set library.Set
	probeReport
	// Passed over before it, and why.
	Skipped []string
}

// getSet brings the libraries of a choice: from the disk, or by an install.
type getSet func(ctx context.Context, home string, c library.Choice) (library.Set, error)

// key tells engines and cards apart that take different amounts of memory.
func (e startedEngine) key() string {
	key := string(e.Variant) + " " + e.Version
	for _, d := range e.Devices {
		if d.Kind == "gpu" || d.Kind == "igpu" {
			key += ", " + d.Name + " " + d.Description
		}
	}
	return key
}

// installCommand is what brings the engine that the user wishes for.
func installCommand(w library.Wish) string {
	switch {
	case w.Dir != "":
		return "unset " + envEngineDir
	case w.Engine == "source" || library.Variant(w.Engine).FromSource():
		return "dure engine build"
	case w.Engine == "" || w.Engine == "auto":
		return "dure engine install"
	}
	return "dure engine install " + w.Engine
}

// openSet takes what is installed.
func openSet(_ context.Context, home string, c library.Choice) (library.Set, error) {
	if c.Variant == library.Custom {
		return library.OpenDir(c.Dir)
	}
	return library.Open(home, c.Variant)
}

// selectEngine takes the first choice whose libraries can be had and start.
// Every one it passes over is a warning: falling back is never silent.
func selectEngine(ctx context.Context, home string, w library.Wish, report device.Report, get getSet, log *slog.Logger) (startedEngine, error) {
	built, err := builtVariants(home)
	if err != nil {
		log.Warn("engine libraries on disk cannot be used", "error", err)
	}
	choices, err := library.Choose(report, w, runtime.GOARCH, built)
	if err != nil {
		return startedEngine{}, err
	}
	var failures []error
	var skipped []string
	for i, c := range choices {
		set, err := get(ctx, home, c)
		var p probeReport
		if err == nil {
			p, err = probe(ctx, set.Lib())
		}
		if err == nil {
			err = usesCard(c.Variant, p)
		}
		if err == nil {
			return startedEngine{Choice: c, Set: set, probeReport: p, Skipped: skipped}, nil
		}
		if ctx.Err() != nil {
			return startedEngine{}, ctx.Err()
		}
		failures = append(failures, fmt.Errorf("engine %s: %w", c.Variant, err))
		skipped = append(skipped, fmt.Sprintf("%s (%v)", c.Variant, err))
		if i+1 < len(choices) {
			log.Warn("engine does not start, trying the next", "engine", c.Variant, "next", choices[i+1].Variant, "error", err)
		}
	}
	return startedEngine{}, errors.Join(failures...)
}

func builtVariants(home string) ([]library.Variant, error) {
	sets, err := library.Installed(home)
	var built []library.Variant
	for _, s := range sets {
		if s.Variant.FromSource() {
			built = append(built, s.Variant)
		}
	}
	return built, err
}

// probe opens the libraries in a process of its own: a driver that crashes
// takes only that with it.
func probe(ctx context.Context, dir string) (probeReport, error) {
	var report probeReport
	self, err := os.Executable()
	if err != nil {
		return report, err
	}
	cmd := exec.CommandContext(ctx, self, "engine", "probe", dir)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(problems.String()), "\n")
		return report, fmt.Errorf("it does not start: %s (%w)", strings.TrimPrefix(lines[len(lines)-1], "dure: "), err)
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		return report, fmt.Errorf("probe said %.80q: %w", out.String(), err)
	}
	return report, nil
}

// usesCard refuses a variant that was made for graphics cards and sees none: it
// would start and compute on the CPU without a word.
func usesCard(v library.Variant, p probeReport) error {
	forCPU := v == library.CPU || v == library.SourceCPU || v == library.Custom
	if forCPU || p.gpu() != nil {
		return nil
	}
	return errors.New("it starts but sees no graphics card; check the card's driver (`dure doctor`)")
}

// gpu is the first graphics card the engine can use; nil if there is none.
func (p probeReport) gpu() *engine.Device {
	for i, d := range p.Devices {
		if d.Kind == "gpu" || d.Kind == "igpu" {
			return &p.Devices[i]
		}
	}
	return nil
}

// roughly says how a model of that size is loaded whose memory cannot be planned: how many layers go to the card
// and how many bytes its KV cache may take. A card whose memory does not hold
// the weights is left alone: the CPU then does the work, which is said.
func (e startedEngine) roughly(modelBytes int64, memory device.Memory) (gpuLayers int, kvBytes uint64, note string) {
	const reserve = 1 << 30 // compute buffers, driver context, other programs
	if g := e.gpu(); g != nil {
		if need := uint64(modelBytes) + reserve; g.FreeBytes > need {
			return -1, g.FreeBytes - need, ""
		}
		note = fmt.Sprintf("%s has %s free, the model needs %s and %s to work in: it runs on the CPU",
			g.Name, size(int64(g.FreeBytes)), size(modelBytes), size(reserve))
	}
	free, need := memory.Usable(), uint64(modelBytes)+reserve
	if free <= need {
		return 0, 0, note
	}
	return 0, (free - need) / 2, note // the other half stays the user's
}
