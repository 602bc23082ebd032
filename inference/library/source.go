package library

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dure/inference/fetch"
)

// sourceFolder is the source's folder under build. Its last number goes up with
// every change of patches.
const sourceFolder = "llama.cpp-" + LlamaVersion + "-1"

// patch replaces text that is there exactly once.
type patch struct{ file, old, new string }

// patches are what the pinned source needs to be built right.
var patches = []patch{{
	// GCC 12 takes _tile_loadconfig for reading 8 of the 64 bytes and drops the
	// stores of the others; the first AMX instruction then kills the process.
	// The empty statement makes all of them count.
	file: "ggml/src/ggml-cpu/amx/mmq.cpp",
	old:  "    _tile_loadconfig(&tc);\n",
	new:  "    __asm__ volatile(\"\" : : \"r\"(&tc) : \"memory\");\n    _tile_loadconfig(&tc);\n",
}}

func applyPatches(source string) error {
	for _, p := range patches {
		path := filepath.Join(source, p.file)
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("patch the source: %w", err)
		}
		if n := bytes.Count(data, []byte(p.old)); n != 1 {
			return fmt.Errorf("patch the source: %s holds %q %d times, want it once", p.file, p.old, n)
		}
		data = bytes.Replace(data, []byte(p.old), []byte(p.new), 1)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return fmt.Errorf("patch the source: %w", err)
		}
	}
	return nil
}

// fetchSource returns the folder of the source, the same for all backends.
func fetchSource(ctx context.Context, f *fetch.Fetcher) (string, error) {
	const name = "source"
	unlock, err := f.Lock(ctx, name)
	if err != nil {
		return "", err
	}
	defer unlock()
	dst := filepath.Join(f.Home, "build", sourceFolder)
	if _, err := os.Stat(dst); err == nil {
		return dst, nil // published as a whole
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	archive, err := f.Fetch(ctx, sourceArchive)
	if err != nil {
		return "", err
	}
	stage, err := f.Stage(name)
	if err != nil {
		return "", err
	}
	defer stage.Discard() // what stays after a failure here, the next Stage removes
	take := func(member string) string {
		if member == sourceBundle {
			return "bundle"
		}
		return ""
	}
	if _, err := fetch.Unpack(ctx, archive, stage.Dir, fetch.Unpacking{Select: take, Limit: sourceBundleBytes, Progress: f.Progress}); err != nil {
		return "", err
	}
	var out strings.Builder
	err = fetch.Run(ctx, fetch.Process{Path: "git", Args: []string{"clone", "--quiet", "-c", "advice.detachedHead=false", "bundle", "source"}, Dir: stage.Dir, Output: &out})
	if ctx.Err() != nil {
		return "", err
	}
	if err != nil {
		return "", fmt.Errorf("git clone of the source: %w: %s", err, strings.TrimSpace(out.String()))
	}
	if err := applyPatches(filepath.Join(stage.Dir, "source")); err != nil {
		return "", err
	}
	if err := stage.Publish("source", dst); err != nil {
		return "", err
	}
	f.Forget(sourceArchive)
	return dst, nil
}
