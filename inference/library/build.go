package library

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"dure/inference/fetch"
)

// Backend is what libraries are built for.
type Backend string

// The backends that can be built here; each has its Source variant.
const (
	BackendCPU    Backend = "cpu"
	BackendHIP    Backend = "hip"
	BackendCUDA   Backend = "cuda"
	BackendVulkan Backend = "vulkan"
)

// Backends are all of them.
var Backends = []Backend{BackendCPU, BackendHIP, BackendCUDA, BackendVulkan}

// Variant is the set that a build for b makes.
func (b Backend) Variant() Variant { return "source-" + Variant(b) }

// backendOf is the backend to build for the same purpose as a prebuilt variant.
func backendOf(v Variant) Backend {
	if v == CUDA12 {
		return BackendCUDA
	}
	return Backend(strings.TrimPrefix(string(v), "source-"))
}

// Tools are the programs of llama.cpp that a build makes besides the libraries:
// the peers of our benchmarks.
var Tools = []string{"llama-server", "llama-bench", "llama-batched-bench", "llama-perplexity", "llama-quantize", "llama-cli"}

// BuildOptions says what to build and where.
type BuildOptions struct {
	Home    string // absolute path of the home folder (DURE_HOME)
	Backend Backend
	// Architectures are the chips to build for, in the words of the backend:
	// gfx1201 for HIP, 90 or 120a for CUDA. Empty builds for those in this
	// machine (HIP) or the common ones (CUDA).
	Architectures []string
	Jobs          int                // compilers at a time; 0 is one per logical CPU
	Output        io.Writer          // receives what cmake and ninja print; may be nil
	Progress      fetch.ProgressFunc // may be nil; step "build" counts files
	Log           *slog.Logger       // may be nil
}

// buildRoom is what source, objects and result of one build take, roughly.
var buildRoom = map[Backend]uint64{BackendCPU: 700e6, BackendHIP: 4e9, BackendCUDA: 4e9, BackendVulkan: 2e9}

// logName is the file with all that cmake and ninja printed: in the set's folder
// after a success, in the build's folder after a failure.
const logName = "build.log"

// Build makes a set of libraries and the peer tools from the pinned source and
// returns it. What a cancelled or killed build finished is kept and used by the
// next one; a set that is there and whole is returned as it is. Errors are
// those of fetch, *MissingToolsError and *BuildError.
func Build(ctx context.Context, o BuildOptions) (Set, error) {
	if !slices.Contains(Backends, o.Backend) {
		return Set{}, fmt.Errorf("build engine libraries: backend %q is not known: use one of %v", o.Backend, Backends)
	}
	s, err := build(ctx, o)
	if err != nil {
		return Set{}, fmt.Errorf("build engine libraries for %s: %w", o.Backend, err)
	}
	return s, nil
}

func build(ctx context.Context, o BuildOptions) (Set, error) {
	f := &fetch.Fetcher{Home: o.Home, Log: o.Log, Progress: o.Progress}
	name := "engine-" + string(o.Backend.Variant())
	unlock, err := f.Lock(ctx, name)
	if err != nil {
		return Set{}, err
	}
	defer unlock()
	s, err := Open(o.Home, o.Backend.Variant())
	if err == nil && len(o.Architectures) > 0 && !slices.Equal(o.Architectures, s.Architectures) {
		err = &BrokenError{Root: s.Root, Err: fmt.Errorf("built for %v, wanted for %v", s.Architectures, o.Architectures)}
	}
	if err == nil {
		return s, nil
	}
	if err := mayReplace(err); err != nil {
		return Set{}, err
	}
	if !errors.Is(err, ErrNotInstalled) && o.Log != nil {
		o.Log.Warn("building the engine libraries again", "backend", string(o.Backend), "error", err)
	}
	if err := checkTools(o.Backend); err != nil {
		return Set{}, err
	}
	if err := fetch.CheckSpace(o.Home, buildRoom[o.Backend]); err != nil {
		return Set{}, err
	}
	source, err := fetchSource(ctx, f)
	if err != nil {
		return Set{}, err
	}
	work := filepath.Join(o.Home, "build", o.Backend.Variant().folder())
	if err := compile(ctx, o, source, work); err != nil {
		return Set{}, fetch.DiskFull(err, o.Home, buildRoom[o.Backend])
	}
	stage, err := f.Stage(name)
	if err != nil {
		return Set{}, err
	}
	defer stage.Discard() // what stays after a failure here, the next Stage removes
	m := Manifest{Variant: o.Backend.Variant(), Llama: LlamaVersion, Architectures: o.Architectures,
		Packages: []Package{packageOf(sourceArchive)}, Made: time.Now().UTC().Truncate(time.Second)}
	if err := collect(ctx, filepath.Join(work, "bin"), stage.Dir, m); err != nil {
		return Set{}, fetch.DiskFull(err, o.Home, buildRoom[o.Backend])
	}
	if err := os.Rename(filepath.Join(work, logName), filepath.Join(stage.Dir, logName)); err != nil {
		return Set{}, err
	}
	if err := stage.Publish(".", filepath.Join(o.Home, "engine", o.Backend.Variant().folder())); err != nil {
		return Set{}, err
	}
	if err := os.RemoveAll(work); err != nil { // the set is there; this is only room
		return Set{}, err
	}
	return Open(o.Home, o.Backend.Variant())
}

// jobs is the number of compilers to run at a time.
func (o BuildOptions) jobs() int {
	if o.Jobs > 0 {
		return o.Jobs
	}
	return runtime.NumCPU()
}
