package library

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dure/inference/fetch"
)

// peerLinks are the names under which the tools of a build ask for libraries.
var peerLinks = []string{"libggml-base.so.0", "libggml.so.0", "libllama.so.0", "libllama-common.so.0"}

// Peer is how a tool of this set, which was built from source, is run on the
// very library files of another: with its loader path and with its folder as
// working folder, since the backends are looked for beside the program and
// there. File names among the arguments must be absolute.
func (s Set) Peer(tool string, on Set) (fetch.Process, error) {
	if !slices.Contains(Tools, tool) {
		return fetch.Process{}, fmt.Errorf("peer tool %q is not one of %v", tool, Tools)
	}
	path := filepath.Join(s.Root, toolFolder, tool)
	if _, err := os.Stat(path); err != nil {
		return fetch.Process{}, fmt.Errorf("peer tool %s: %w; run `make engine-source`", tool, err)
	}
	// Without one of these names the loader would quietly take the file that
	// was built with the tool, and the comparison would be of two libraries.
	for _, name := range peerLinks {
		if _, err := os.Stat(filepath.Join(on.Lib(), name)); err != nil {
			return fetch.Process{}, fmt.Errorf("peer tool %s cannot run on %s: %w", tool, on.Lib(), err)
		}
	}
	if strings.Contains(on.Lib(), ":") {
		return fetch.Process{}, fmt.Errorf("peer tool %s cannot run on %s: the loader path cannot hold a colon", tool, on.Lib())
	}
	return fetch.Process{Path: path, Dir: on.Lib(), Env: []string{"LD_LIBRARY_PATH=" + on.Lib()}}, nil
}
