package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dure/inference/device/nvml"
)

// reloadUVM brings CUDA back after a suspend that NVIDIA's driver did not survive.
const reloadUVM = "close the programs that use CUDA, then `sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm`"

// Unused says which devices are there and not used as they could be, or are
// lost, each with the command that helps. variant is the chosen engine ("cpu",
// "vulkan", "cuda", "source-hip" ...); where it is empty no engine was asked yet,
// and only what the driver says counts. What Report.Problems says already is not
// said again.
func Unused(s Sources, devices []Device, variant string) []Problem {
	all := driverTrouble(s)
	for _, d := range devices {
		switch {
		case d.Kind == Processor || d.Kind == Software:
		case d.Lost != "":
			all = append(all, lostProblem(d))
		default:
			all = append(all, cardProblems(s, devices, d, variant)...)
		}
	}
	return all
}

// driverTrouble is what NVIDIA's library says about the driver as a whole.
func driverTrouble(s Sources) []Problem {
	var all []Problem
	err := s.NVMLErr
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled) && !errors.Is(err, nvml.ErrNoAnswer): // nobody waited for the look
	case errors.Is(err, nvml.ErrAbsent):
		all = append(all, Problem{"NVIDIA's driver is loaded but libnvidia-ml.so.1 is not found, so the memory that other programs hold is not known",
			"install the driver's library of the same version (Debian: `sudo apt install libnvidia-ml1`; Ubuntu: the libnvidia-compute package); in a container start it with NVIDIA's runtime (`--gpus all`)"})
	case errors.Is(err, nvml.VersionMismatch):
		all = append(all, Problem{"NVIDIA's driver was updated but the old kernel module is still loaded: no program can start on the card", "`sudo reboot`"})
	case errors.Is(err, nvml.DriverNotLoaded):
		all = append(all, Problem{"NVIDIA's libraries are here but the kernel module does not answer",
			"`sudo modprobe nvidia`; where that fails, `sudo dmesg | grep NVRM` says why; in a container start it with NVIDIA's runtime (`--gpus all`)"})
	case errors.Is(err, nvml.NoPermission) || errors.Is(err, nvml.OperatingSystem):
		all = append(all, Problem{"NVIDIA's driver refuses this user: " + err.Error(),
			"check `ls -l /dev/nvidia*`; in a container start it with NVIDIA's runtime (`--gpus all`)"})
	case errors.Is(err, nvml.ErrNoAnswer):
		all = append(all, Problem{"NVIDIA's driver does not answer: a card or the driver hangs", "`sudo dmesg | grep -i xid` says which card; `sudo reboot`"})
	default:
		all = append(all, Problem{"NVIDIA's cards cannot be read: " + err.Error(), "`nvidia-smi` should say the same; reinstall the driver or reboot"})
	}
	// Where the kernel does not tell the version (WSL2) the library does.
	if s.Report.NVIDIA != nil && s.Report.NVIDIA.Version == "" && s.NVML.Driver.Known {
		r := Report{NVIDIA: &NVIDIA{Version: s.NVML.Driver.V, CUDA: "asked already"}}
		all = append(all, driverProblems(r)...)
	}
	return all
}

func (d Device) label() string {
	if d.PCI == "" {
		return d.Name
	}
	return d.Name + " at " + d.PCI
}

func lostProblem(d Device) Problem {
	fix := "`sudo reboot`; if it comes back, look at its power cables, its seat and `sudo dmesg | grep -iE 'xid|amdgpu'`"
	if strings.Contains(d.Lost, nvml.ResetRequired.Error()) {
		fix = "`sudo nvidia-smi --gpu-reset -i " + d.PCI + "` with no program on the card, else `sudo reboot`"
	}
	return Problem{d.label() + " is lost: " + d.Lost, fix}
}

func cardProblems(s Sources, devices []Device, d Device, variant string) []Problem {
	var all []Problem
	if d.MIG.Known && d.MIG.Value {
		all = append(all, Problem{d.label() + " is divided into instances (MIG), of which a program sees one, with a part of the memory",
			"to use the whole card: `sudo nvidia-smi -i " + d.PCI + " -mig 0`; to choose an instance: `nvidia-smi -L` and CUDA_VISIBLE_DEVICES=MIG-..."})
	}
	said := slices.ContainsFunc(s.Report.Problems, func(p Problem) bool {
		return d.PCI != "" && strings.Contains(p.What, d.PCI+" is not used")
	})
	if variant == "" || said {
		return all
	}
	switch d.Vendor {
	case VendorNVIDIA:
		return append(all, nvidiaUnused(s, d, variant)...)
	case VendorAMD, VendorIntel:
		// Graphics in the processor are rightly left alone beside a real card.
		if d.Kind == Integrated && slices.ContainsFunc(devices, func(o Device) bool { return o.Kind == Discrete && len(o.Seen) > 0 }) {
			return all
		}
		return append(all, otherUnused(d, variant)...)
	}
	return all
}

func (d Device) seenBy(backend string) bool {
	return slices.ContainsFunc(d.Seen, func(s Sight) bool { return s.Backend == backend })
}

func nvidiaUnused(s Sources, d Device, variant string) []Problem {
	const useCUDA = "`dure engine install cuda`, and unset ENGINE or set ENGINE=cuda"
	driver := s.Report.NVIDIA != nil
	listed := slices.ContainsFunc(s.NVML.Cards, func(c nvml.Card) bool { return c.PCI.Known && c.PCI.V == d.PCI })
	switch {
	case d.seenBy("CUDA") || !driver && len(d.Seen) > 0:
		return nil
	case driver && s.NVMLErr == nil && len(s.NVML.Cards) > 0 && !listed:
		return []Problem{{d.label() + " is on the bus but NVIDIA's driver does not list it: it is lost, or not given to this container",
			"`sudo dmesg | grep -i xid` and `sudo reboot`; in a container pass it (`--gpus all`)"}}
	case len(d.Seen) > 0:
		return []Problem{{fmt.Sprintf("%s is used through %s, which is slower on it than CUDA", d.label(), d.Seen[0].Backend), useCUDA}}
	case strings.Contains(variant, "cuda") && listed:
		return []Problem{{d.label() + " answers its driver but CUDA does not see it: CUDA is often lost after suspend, or CUDA_VISIBLE_DEVICES leaves the card out",
			reloadUVM + ", or `sudo reboot`; `echo $CUDA_VISIBLE_DEVICES` should be empty"}}
	case strings.Contains(variant, "cuda"):
		return []Problem{{d.label() + " is not used: CUDA does not see it", "`nvidia-smi` should list it; " + reloadUVM + ", or `sudo reboot`"}}
	}
	return []Problem{{fmt.Sprintf("%s is not used: the engine %s does not see it", d.label(), variant), useCUDA}}
}

func otherUnused(d Device, variant string) []Problem {
	switch {
	case len(d.Seen) > 0:
		return nil
	case strings.Contains(variant, "vulkan"):
		return []Problem{{d.label() + " is not used: Vulkan does not show it to the engine",
			"`vulkaninfo --summary` should list it; GGML_VK_VISIBLE_DEVICES and VK_DRIVER_FILES should not be set"}}
	case strings.Contains(variant, "hip"):
		return []Problem{{d.label() + " is not used: HIP does not see it",
			"build for its target (`dure engine build --backend hip --arch " + cmp.Or(d.Compute, "TARGET") + "`), or `dure engine install vulkan`; HIP_VISIBLE_DEVICES should not be set"}}
	}
	return []Problem{{fmt.Sprintf("%s is not used: the engine %s cannot drive it", d.label(), variant),
		"`dure engine install vulkan`, and unset ENGINE or set ENGINE=vulkan"}}
}
