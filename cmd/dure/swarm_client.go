package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// client is the path of what agents' boxes have of dure (cmd/client), made from what is
// built into this program; empty, with a warning, where nothing is.
func (t *swarmTeam) client() (string, error) {
	if file := os.Getenv("DURE_CLIENT"); file != "" {
		return filepath.Abs(file)
	}
	program, err := builtClient.ReadFile(builtClientPath)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		t.logger.Warn("agents' shells have no sql and no git remote; their tools have", "problem", "dure was built without its client", "fix", "build dure with make build")
		return "", nil
	}
	if err != nil {
		return "", err
	}
	file := filepath.Join(t.o.folder, "client")
	if there, err := os.ReadFile(file); err == nil && bytes.Equal(there, program) {
		return file, nil
	}
	if err := errors.Join(os.WriteFile(file+".new", program, 0o755), os.Rename(file+".new", file)); err != nil {
		return "", fmt.Errorf("the agents' client: %w", err)
	}
	return file, nil
}
