package plan

import (
	"fmt"
	"slices"
	"strings"
)

// engine is the variant of the engine that drives a device.
func (d Device) engine() string {
	if d.Backend == "HIP" {
		return "ROCm" // two names of one
	}
	return d.Backend
}

// couldBeVulkan says that the engine's Vulkan variant would drive the card too.
func (d Device) couldBeVulkan() bool {
	return d.engine() == "Vulkan" || d.Assumed && slices.Contains([]string{"CUDA", "ROCm"}, d.engine())
}

// oneBackend sees to it that one variant of the engine can hold all GPUs. Cards
// that are only assumed become Vulkan devices where that brings them together.
func (p *planner) oneBackend() error {
	differs := func(d Device) bool { return d.engine() != p.gpus[0].engine() }
	if !slices.ContainsFunc(p.gpus, differs) {
		return nil
	}
	var names []string
	for _, d := range p.gpus {
		names = append(names, fmt.Sprintf("%s (%s)", d.Name, d.engine()))
	}
	if slices.ContainsFunc(p.gpus, func(d Device) bool { return !d.couldBeVulkan() }) {
		return fmt.Errorf("%s: no variant of the engine drives all of them; plan them apart, or use the Vulkan engine for all", strings.Join(names, ", "))
	}
	renamed := map[string]string{}
	for i := range p.gpus {
		d := &p.gpus[i]
		renamed[d.Name] = fmt.Sprintf("Vulkan%d", i)
		d.Name, d.Backend = renamed[d.Name], "Vulkan"
	}
	p.Wish.Beside = slices.Clone(p.Wish.Beside)
	for i, c := range p.Wish.Beside {
		if name, ok := renamed[c.Device]; ok {
			p.Wish.Beside[i].Device = name
		}
	}
	p.notes = append(p.notes, fmt.Sprintf("%s are planned as Vulkan devices: no other variant of the engine drives all of them", strings.Join(names, ", ")))
	return nil
}
