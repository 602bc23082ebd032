package library

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"dure/inference/fetch"

	"golang.org/x/sys/unix"
)

// workshop is a fake tool chain that makes the files of a build.
func workshop(t *testing.T, shelf string) map[string]string {
	t.Helper()
	all := shop(t, shelf)
	all["git"] = `[ "$1" = clone ] || exit 9; echo call >> '` + shelf + `/clones'; for d; do :; done; mkdir "$d"; echo code > "$d/CMakeLists.txt"
mkdir -p "$d/ggml/src/ggml-cpu/amx"; printf 'tc.rows[0] = 8;\n    _tile_loadconfig(&tc);\n' > "$d/ggml/src/ggml-cpu/amx/mmq.cpp"`
	all["cmake"] = `[ -f "$2/CMakeLists.txt" ] && grep -q '__asm__.*tc' "$2/ggml/src/ggml-cpu/amx/mmq.cpp" || exit 9; echo "-- Configuring done"`
	all["ninja"] = `cd "$2"; mkdir -p bin; cd bin; echo "[1/2] Building llama.cpp.o"
for f in libllama.so.0.5.0 libggml.so.0.25.1 libggml-base.so.0.25.1 libllama-common.so.0.5.0 libggml-cpu.so libllama-bench-impl.so llama-bench llama-server notes.txt; do printf $f > $f; done
chmod +x llama-bench
for l in llama.so.0.5.0 ggml.so.0.25.1 ggml-base.so.0.25.1 llama-common.so.0.5.0; do n=lib${l%%.so*}.so; ln -sf lib$l $n.0; ln -sf $n.0 $n; done
echo "[2/2] Linking $NINJA_STATUS"`
	for _, name := range []string{"cc", "c++"} {
		all[name] = "exit 1"
	}
	return all
}

func TestBuild(t *testing.T) {
	shelf := shelf(t)
	tools(t, workshop(t, shelf))
	home := t.TempDir()
	var out, log bytes.Buffer
	var steps []string
	o := BuildOptions{Home: home, Backend: BackendCPU, Output: &out, Log: logger(&log), Progress: func(p fetch.Progress) {
		if p.Step == "build" {
			steps = append(steps, p.Name)
			if p.Total != 2 || p.Done != int64(len(steps)) {
				t.Errorf("progress %+v", p)
			}
		}
	}}
	s, err := Build(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"lib/libllama.so": "libllama.so.0.5.0", "lib/libllama.so.0": "libllama.so.0.5.0", "lib/libggml-base.so": "libggml-base.so.0.25.1",
		"lib/libggml-cpu.so": "libggml-cpu.so", "bin/libllama-bench-impl.so": "libllama-bench-impl.so", "bin/llama-bench": "llama-bench"} {
		if got, err := os.ReadFile(filepath.Join(s.Root, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(s.Root, "lib", "notes.txt")); err == nil {
		t.Error("took what does not belong to a set")
	}
	if info, err := os.Stat(filepath.Join(s.Root, "bin/llama-bench")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("llama-bench cannot be run: %v, %v", info.Mode(), err)
	}
	if s.Variant != SourceCPU || s.Verify(ctx) != nil || len(steps) != 2 {
		t.Errorf("set is %+v, progress %v", s, steps)
	}
	kept, err := os.ReadFile(filepath.Join(s.Root, logName))
	if err != nil || !bytes.Equal(kept, out.Bytes()) || !strings.Contains(out.String(), "-- Configuring done") || !strings.Contains(out.String(), "$ ninja -C") {
		t.Errorf("the log holds %q, the output was %q", kept, out.String())
	}
	if _, err := os.Stat(filepath.Join(home, "build", "source-cpu-0.5.0")); err == nil {
		t.Error("the objects were kept")
	}
	tools(t, nil) // the second time needs nothing
	if again, err := Build(ctx, o); err != nil || again.Root != s.Root {
		t.Errorf("second Build = %v", err)
	}
	// Other chips are another build, from the source that is there.
	tools(t, workshop(t, shelf))
	steps, o.Architectures = nil, []string{"gfx1201"}
	if again, err := Build(ctx, o); err != nil || !slices.Equal(again.Architectures, o.Architectures) || len(steps) != 2 || !strings.Contains(log.String(), "building the engine libraries again") {
		t.Errorf("Build for other chips: %v", err)
	}
	if clones, _ := os.ReadFile(filepath.Join(shelf, "clones")); string(clones) != "call\n" {
		t.Errorf("cloned %q", clones)
	}
}

func TestBuildMissingTools(t *testing.T) {
	shelf := shelf(t)
	for backend, want := range map[Backend][]string{BackendCPU: {"cmake", "c++"}, BackendVulkan: {"cmake", "c++", "glslc"}, BackendHIP: {"cmake", "c++", "hipcc"}, BackendCUDA: {"cmake", "c++", "nvcc"}} {
		all := workshop(t, shelf)
		delete(all, "cmake")
		delete(all, "c++")
		tools(t, all)
		_, err := Build(ctx, BuildOptions{Home: t.TempDir(), Backend: backend})
		var e *MissingToolsError
		if !errors.As(err, &e) || !slices.Equal(e.Missing, want) || !strings.Contains(err.Error(), "apt install") {
			t.Errorf("%s: %v", backend, err)
		}
	}
	if got := sold(t, shelf); len(got) > 0 {
		t.Errorf("fetched %v before the tools were looked for", got)
	}
	if _, err := Build(ctx, BuildOptions{Home: t.TempDir(), Backend: "metal"}); err == nil || !strings.Contains(err.Error(), "use one of [cpu hip cuda vulkan]") {
		t.Errorf("unknown backend: %v", err)
	}
}

func TestBuildFails(t *testing.T) {
	shelf := shelf(t)
	for _, c := range []struct{ name, tool, script, says string }{
		{"configure", "cmake", `echo "CMake Error: no hipblas"; exit 1`, "no hipblas"},
		{"compile", "ninja", `yes filler | head -n 1000; echo "[7/9] Building x.o"; echo "error: expected ;"; exit 1`, "error: expected ;"},
		{"clone", "git", `echo "fatal: bad bundle"; exit 128`, "bad bundle"},
		{"another source", "git", `for d; do :; done; mkdir -p "$d/ggml/src/ggml-cpu/amx"; echo nothing > "$d/ggml/src/ggml-cpu/amx/mmq.cpp"`, "want it once"},
		{"nothing made", "ninja", `exit 0`, "no such file"},
		{"disk full", "ninja", `echo "fatal error: error writing to x.o: No space left on device"; exit 1`, "disk full at "},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := workshop(t, shelf)
			all[c.tool] = c.script
			tools(t, all)
			home := t.TempDir()
			_, err := Build(ctx, BuildOptions{Home: home, Backend: BackendCPU})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("error is %v", err)
			}
			var failed *BuildError
			if errors.As(err, &failed) {
				if log, err := os.ReadFile(failed.Log); err != nil || !strings.Contains(string(log), failed.Output[len(failed.Output)-10:]) || strings.Count(failed.Output, "\n") > lastLines {
					t.Errorf("log %s: %v", failed.Log, err)
				}
			}
			if c.name == "disk full" && !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("error is %v", err)
			}
			if _, err := Open(home, SourceCPU); !errors.Is(err, ErrNotInstalled) {
				t.Errorf("afterwards: %v", err)
			}
			// With the fault gone, the next attempt succeeds.
			tools(t, workshop(t, shelf))
			if _, err := Build(ctx, BuildOptions{Home: home, Backend: BackendCPU}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A cancelled build leaves its objects for the next one.
func TestBuildCancelled(t *testing.T) {
	shelf := shelf(t)
	alive := filepath.Join(t.TempDir(), "alive")
	if err := unix.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	all := workshop(t, shelf)
	all["ninja"] = `echo done > "$2/first.o"; echo up > '` + alive + `'; exec sleep 600`
	tools(t, all)
	home := t.TempDir()
	ctx, cancel := context.WithCancel(ctx)
	failed := make(chan error)
	go func() {
		_, err := Build(ctx, BuildOptions{Home: home, Backend: BackendCPU})
		failed <- err
	}()
	if _, err := os.ReadFile(alive); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("Build = %v", err)
	}
	if _, err := os.Stat(filepath.Join(home, "build", "source-cpu-0.5.0", "first.o")); err != nil {
		t.Error(err)
	}
}

func TestCMakeFlags(t *testing.T) {
	const info = "processor\t: 0\nflags\t\t: fpu sse4_2 avx f16c fma avx2 bmi2 avx512f avx512cd avx512vl avx512dq avx512bw avx512_vnni amx_tile amx_int8\n"
	has := func(flags []string, want ...string) bool {
		return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(flags, w) })
	}
	cpu := cmakeFlags(BuildOptions{Backend: BackendCPU}, "amd64", info)
	if !has(cpu, "-DGGML_NATIVE=OFF", "-DGGML_BACKEND_DL=ON", "-DBUILD_SHARED_LIBS=ON", "-DGGML_CPU_ALL_VARIANTS=OFF", "-DGGML_AVX2=ON", "-DGGML_AVX512=ON", "-DGGML_AVX512_VNNI=ON",
		"-DGGML_AVX512_VBMI=OFF", "-DGGML_AVX_VNNI=OFF", "-DGGML_AMX_TILE=ON", "-DGGML_AMX_INT8=ON", "-DGGML_AMX_BF16=OFF") {
		t.Errorf("cpu: %v", cpu)
	}
	// avx512f alone is not what ggml means by AVX512; no flags at all is the oldest processor.
	if f := cpuFlags("flags : sse4_2 avx512f\n"); !has(f, "-DGGML_SSE42=ON", "-DGGML_AVX=OFF", "-DGGML_AVX512=OFF") {
		t.Errorf("half of AVX512: %v", f)
	}
	if f := cpuFlags(""); len(f) != 1+len(instructionSets) || slices.ContainsFunc(f, func(s string) bool { return strings.HasSuffix(s, "=ON") }) {
		t.Errorf("no flags: %v", f)
	}
	arm := cmakeFlags(BuildOptions{Backend: BackendCPU}, "arm64", "")
	if !has(arm, "-DGGML_CPU_ALL_VARIANTS=ON") || has(arm, "-DGGML_AVX2=OFF") {
		t.Errorf("arm64: %v", arm)
	}
	if f := cmakeFlags(BuildOptions{Backend: BackendHIP, Architectures: []string{"gfx1200", "gfx1201"}}, "amd64", info); !has(f, "-DGGML_HIP=ON", "-DGPU_TARGETS=gfx1200;gfx1201") {
		t.Errorf("hip: %v", f)
	}
	if f := cmakeFlags(BuildOptions{Backend: BackendCUDA, Architectures: []string{"90"}}, "amd64", info); !has(f, "-DGGML_CUDA=ON", "-DCMAKE_CUDA_ARCHITECTURES=90") {
		t.Errorf("cuda: %v", f)
	}
	if f := cmakeFlags(BuildOptions{Backend: BackendVulkan}, "amd64", info); !has(f, "-DGGML_VULKAN=ON") || has(f, "-DGGML_CUDA=ON") {
		t.Errorf("vulkan: %v", f)
	}
}

func TestPeer(t *testing.T) {
	shelf := shelf(t)
	tools(t, workshop(t, shelf))
	home := t.TempDir()
	source, err := Build(ctx, BuildOptions{Home: home, Backend: BackendCPU})
	if err != nil {
		t.Fatal(err)
	}
	npm, err := Install(ctx, Options{Home: home, Variant: CPU})
	if err != nil {
		t.Fatal(err)
	}
	p, err := source.Peer("llama-bench", source)
	if err != nil || p.Path != filepath.Join(source.Root, "bin", "llama-bench") || p.Dir != source.Lib() || !slices.Equal(p.Env, []string{"LD_LIBRARY_PATH=" + source.Lib()}) {
		t.Errorf("Peer = %+v, %v", p, err)
	}
	// The small npm package has no libllama-common.so: the tool would take its own.
	if p, err := source.Peer("llama-bench", npm); err == nil || !strings.Contains(err.Error(), "libllama-common.so.0") {
		t.Errorf("Peer on a set with a gap = %+v, %v", p, err)
	}
	for _, tool := range []string{"llama-run", "../lib/libllama.so", "llama-quantize"} {
		if p, err := source.Peer(tool, source); err == nil {
			t.Errorf("Peer(%q) = %+v", tool, p)
		}
	}
	if p, err := npm.Peer("llama-bench", source); err == nil || !strings.Contains(err.Error(), "make engine-source") {
		t.Errorf("Peer of a set without tools = %+v, %v", p, err)
	}
}
