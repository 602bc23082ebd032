package library

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"dure/inference/fetch"
)

// BuildError says that cmake or ninja failed.
type BuildError struct {
	Step   string // the command
	Status string
	Output string // the end of what it printed
	Log    string // the file with all of it
}

func (e *BuildError) Error() string {
	return fmt.Sprintf("%s: %s; the end of its output:\n  %s\nall of it is in %s", e.Step, e.Status,
		strings.ReplaceAll(strings.TrimSpace(e.Output), "\n", "\n  "), e.Log)
}

// MissingToolsError lists what a build needs and this machine does not have.
type MissingToolsError struct {
	Backend Backend
	Missing []string
	Fix     string
}

func (e *MissingToolsError) Error() string {
	return fmt.Sprintf("not found: %s; %s", strings.Join(e.Missing, ", "), e.Fix)
}

// buildTools are the programs of each backend, alternatives of one separated by "|".
var buildTools = map[Backend][]string{
	BackendCPU:    {},
	BackendHIP:    {"hipcc|/opt/rocm/bin/hipcc"},
	BackendCUDA:   {"nvcc|/usr/local/cuda/bin/nvcc|/opt/cuda/bin/nvcc"},
	BackendVulkan: {"glslc"},
}

var toolFixes = map[Backend]string{
	BackendCPU:    "",
	BackendHIP:    "; and AMD's ROCm 6.4 or newer with hipBLAS and rocBLAS (package rocm-hip-sdk of AMD's repository)",
	BackendCUDA:   "; and NVIDIA's CUDA toolkit 12.8 or newer (package cuda-toolkit of NVIDIA's repository)",
	BackendVulkan: "; and the Vulkan headers and shader compiler: `sudo apt install libvulkan-dev glslc spirv-headers` (Debian, Ubuntu), `sudo dnf install vulkan-headers vulkan-loader-devel glslc spirv-headers-devel` (Fedora)",
}

func checkTools(b Backend) error {
	var missing []string
	for _, tool := range append([]string{"git", "cmake", "ninja", "cc|gcc|clang", "c++|g++|clang++"}, buildTools[b]...) {
		names := strings.Split(tool, "|")
		if !slices.ContainsFunc(names, func(n string) bool { _, err := exec.LookPath(n); return err == nil }) {
			missing = append(missing, names[0])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &MissingToolsError{Backend: b, Missing: missing, Fix: "install `sudo apt install git cmake ninja-build g++` (Debian, Ubuntu), " +
		"`sudo dnf install git cmake ninja-build gcc-c++` (Fedora), `sudo pacman -S git cmake ninja gcc` (Arch)" + toolFixes[b]}
}

// compile configures and builds in work. Both steps only do what is not done yet.
func compile(ctx context.Context, o BuildOptions, source, work string) error {
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	logPath := filepath.Join(work, logName)
	logFile, err := os.Create(logPath)
	if err != nil {
		return err
	}
	defer logFile.Close()
	out := &buildOutput{to: []io.Writer{logFile}, report: o.Progress, name: string(o.Backend)}
	if o.Output != nil {
		out.to = append(out.to, o.Output)
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return err
	}
	configure := append([]string{"-S", source, "-B", work, "-G", "Ninja"}, cmakeFlags(o, runtime.GOARCH, string(info))...)
	steps := []fetch.Process{
		{Path: "cmake", Args: configure, Output: out},
		{Path: "ninja", Args: append([]string{"-C", work, "-j", strconv.Itoa(o.jobs()), "llama", "ggml", "mtmd", "llama-common"}, Tools...),
			Env: []string{"NINJA_STATUS=[%f/%t] "}, Output: out},
	}
	for _, p := range steps {
		fmt.Fprintf(out, "$ %s\n", p)
		err := fetch.Run(ctx, p)
		if ctx.Err() != nil {
			return err
		}
		if err != nil || out.err != nil {
			return buildError(p, err, out, logPath)
		}
	}
	return logFile.Close()
}

func buildError(p fetch.Process, err error, out *buildOutput, logPath string) error {
	failed := &BuildError{Step: p.Path, Status: fmt.Sprint(err), Output: out.tail(), Log: logPath}
	if strings.Contains(failed.Output, "No space left on device") {
		return errors.Join(syscall.ENOSPC, failed) // the compiler's words for it
	}
	return errors.Join(out.err, failed)
}

// cmakeFlags are the settings of a build. No native flags: the instruction sets
// are named one by one, so the log says what a set needs. No OpenMP, as in the
// prebuilt libraries: threads then behave alike in both. Nothing that would
// reach for the network.
func cmakeFlags(o BuildOptions, arch, cpuinfo string) []string {
	flags := []string{
		"-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DGGML_BACKEND_DL=ON", "-DGGML_NATIVE=OFF",
		"-DGGML_OPENMP=OFF", "-DGGML_CCACHE=OFF",
		"-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_UI=OFF", "-DLLAMA_USE_PREBUILT_UI=OFF", "-DLLAMA_OPENSSL=OFF",
		// The set moves after the build, so every file looks beside itself;
		// LD_LIBRARY_PATH goes before that, which is how the tools run on
		// other libraries.
		"-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON", "-DCMAKE_INSTALL_RPATH=$ORIGIN;$ORIGIN/../" + libFolder,
		"-DCMAKE_SHARED_LINKER_FLAGS=-Wl,--enable-new-dtags", "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--enable-new-dtags",
	}
	targets := strings.Join(o.Architectures, ";")
	switch o.Backend {
	case BackendHIP:
		flags = append(flags, "-DGGML_HIP=ON")
		if targets != "" {
			flags = append(flags, "-DGPU_TARGETS="+targets)
		}
	case BackendCUDA:
		flags = append(flags, "-DGGML_CUDA=ON", "-DGGML_CUDA_NCCL=OFF")
		if targets != "" {
			flags = append(flags, "-DCMAKE_CUDA_ARCHITECTURES="+targets)
		}
	case BackendVulkan:
		flags = append(flags, "-DGGML_VULKAN=ON")
	}
	if arch == "amd64" {
		return append(flags, cpuFlags(cpuinfo)...)
	}
	return append(flags, "-DGGML_CPU_ALL_VARIANTS=ON")
}

// instructionSets maps a setting of ggml to what the kernel must list for it.
// All variants at once, as the prebuilt libraries have them, take as long as
// the rest of the build together.
var instructionSets = []struct {
	setting string
	needs   []string
}{
	{"GGML_SSE42", []string{"sse4_2"}},
	{"GGML_AVX", []string{"avx"}},
	{"GGML_F16C", []string{"f16c"}},
	{"GGML_AVX2", []string{"avx2"}},
	{"GGML_BMI2", []string{"bmi2"}},
	{"GGML_FMA", []string{"fma"}},
	{"GGML_AVX_VNNI", []string{"avx_vnni"}},
	{"GGML_AVX512", []string{"avx512f", "avx512cd", "avx512vl", "avx512dq", "avx512bw"}},
	{"GGML_AVX512_VBMI", []string{"avx512vbmi"}},
	{"GGML_AVX512_VNNI", []string{"avx512_vnni"}},
	{"GGML_AVX512_BF16", []string{"avx512_bf16"}},
	{"GGML_AMX_TILE", []string{"amx_tile"}},
	{"GGML_AMX_INT8", []string{"amx_int8"}},
	{"GGML_AMX_BF16", []string{"amx_bf16"}},
}

func cpuFlags(cpuinfo string) []string {
	var has []string
	for line := range strings.Lines(cpuinfo) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "flags" {
			has = strings.Fields(value)
			break
		}
	}
	flags := []string{"-DGGML_CPU_ALL_VARIANTS=OFF"}
	for _, set := range instructionSets {
		value := "ON"
		for _, need := range set.needs {
			if !slices.Contains(has, need) {
				value = "OFF"
			}
		}
		flags = append(flags, "-D"+set.setting+"="+value)
	}
	return flags
}

// buildOutput passes lines on, reports ninja's progress and keeps the end.
type buildOutput struct {
	to     []io.Writer
	report fetch.ProgressFunc
	name   string
	line   []byte
	last   []string
	err    error // the first failed write
}

// lastLines is how much of the output an error shows.
const lastLines = 30

var ninjaRE = regexp.MustCompile(`^\[(\d+)/(\d+)\] `)

func (b *buildOutput) Write(p []byte) (int, error) {
	for _, w := range b.to {
		if _, err := w.Write(p); err != nil && b.err == nil {
			b.err = err // the build goes on; its caller learns of it at the end
		}
	}
	b.line = append(b.line, p...)
	for {
		line, rest, ok := bytes.Cut(b.line, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		b.take(string(line))
		b.line = append(b.line[:0], rest...)
	}
}

func (b *buildOutput) take(line string) {
	if b.last = append(b.last, line); len(b.last) > lastLines {
		b.last = b.last[1:]
	}
	m := ninjaRE.FindStringSubmatch(line)
	if m == nil || b.report == nil {
		return
	}
	done, errDone := strconv.ParseInt(m[1], 10, 64)
	total, errTotal := strconv.ParseInt(m[2], 10, 64)
	if errDone == nil && errTotal == nil {
		b.report(fetch.Progress{Step: "build", Name: b.name, Done: done, Total: total})
	}
}

func (b *buildOutput) tail() string { return strings.Join(append(b.last, string(b.line)), "\n") }
