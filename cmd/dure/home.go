package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"dure"
	"dure/inference/catalog"
	"dure/inference/library"
)

// The environment variables that dure reads, all of them here.
const (
	envHome      = "DURE_HOME"       // where everything is kept; ~/.dure if unset
	envEngine    = "ENGINE"          // engine variant to use
	envEngineDir = "DURE_ENGINE_DIR" // folder of the user's own engine libraries
	envKeys      = "DURE_API_KEYS"   // keys that clients must present, separated by commas
	envProcs     = "GOMAXPROCS"      // of the Go runtime; chosen by itself if unset
	envLoader    = "LD_LIBRARY_PATH" // also searched for libraries of the system
)

// homeDir is the absolute path of DURE_HOME.
func homeDir() (string, error) {
	dir := os.Getenv(envHome)
	if dir == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no home folder: %w; set %s to a folder that dure may use", err, envHome)
		}
		dir = filepath.Join(user, ".dure")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("%s: %w", envHome, err)
	}
	return dir, nil
}

// openCatalog reads the built-in catalogue and the user's additions.
func openCatalog(home string) (*catalog.Catalog, error) {
	return catalog.Open(home, dure.ModelsYAML)
}

// wish is what flag or environment say of the engine.
func wish(flag string) library.Wish {
	w := library.Wish{Engine: flag, Dir: os.Getenv(envEngineDir)}
	if w.Engine == "" {
		w.Engine = os.Getenv(envEngine)
	}
	if w.Engine != "" {
		w.Dir = "" // naming a variant outweighs the folder
	}
	return w
}

func libraryDirs() []string {
	var dirs []string
	for _, d := range filepath.SplitList(os.Getenv(envLoader)) {
		if filepath.IsAbs(d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

func apiKeys() []string {
	var keys []string
	for _, k := range strings.Split(os.Getenv(envKeys), ",") {
		if k = strings.TrimSpace(k); k != "" {
			keys = append(keys, k)
		}
	}
	return keys
}

// newLogger writes text lines from a level on; an unknown level means info.
func newLogger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l}))
}

// checkLevel refuses what newLogger would take for info.
func checkLevel(level string) error {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return fmt.Errorf("--log-level %q: must be debug, info, warn or error", level)
	}
	return nil
}
