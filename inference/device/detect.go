package device

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Options is what Detect looks at besides the running kernel's answers.
type Options struct {
	// Root is the root of the file system, with /proc and /sys below it.
	Root fs.FS
	// CPUs are the numbers of the logical CPUs this process may run on.
	CPUs []int
	// LibraryDirs are absolute folders searched before the loader's own
	// (LD_LIBRARY_PATH).
	LibraryDirs []string
	// Access says whether this user may read and write a device file; nil says
	// yes to all.
	Access func(path string) error
}

// Here looks at this machine. libraryDirs are absolute folders searched for
// libraries before the loader's own (LD_LIBRARY_PATH).
func Here(libraryDirs []string) Report {
	return Detect(here(libraryDirs))
}

func here(libraryDirs []string) Options {
	return Options{Root: os.DirFS("/"), CPUs: affinity(), LibraryDirs: libraryDirs, Access: mayUse}
}

func mayUse(file string) error {
	if err := unix.Access(file, unix.R_OK|unix.W_OK); err != nil {
		return fmt.Errorf("use %s: %w", file, err)
	}
	return nil
}

// Detect looks at the machine that o describes.
func Detect(o Options) Report {
	libs := NewLibraries(o.Root, o.LibraryDirs)
	access := o.Access
	if access == nil {
		access = func(string) error { return nil }
	}
	r := Report{
		CPU:    detectCPU(o.Root, o.CPUs),
		Memory: detectMemory(o.Root),
		GPUs:   detectGPUs(o.Root, access),
		NVIDIA: detectNVIDIA(o.Root, libs),
		Vulkan: detectVulkan(o.Root, libs),
	}
	r.Problems = append(findProblems(o.Root, r), computeProblems(o.Root, r, access)...)
	return r
}

// affinity is the set of CPUs the scheduler lets this process run on. Where the
// kernel does not answer it is empty, and all CPUs count.
func affinity() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	var cpus []int
	for i := range len(set) * strconv.IntSize {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus
}

// read returns a small file's text without the white space around it, or "".
func read(root fs.FS, path string) string {
	data, err := fs.ReadFile(root, strings.TrimPrefix(path, "/"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func exists(root fs.FS, path string) bool {
	_, err := fs.Stat(root, strings.TrimPrefix(path, "/"))
	return err == nil
}

// names lists a folder; one that is not there is empty.
func names(root fs.FS, path string) []string {
	entries, err := fs.ReadDir(root, strings.TrimPrefix(path, "/"))
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
