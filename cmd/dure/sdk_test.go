package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dure/inference/engine/enginetest"
)

// sdk is a script and the stock client that it is about, in the folder that
// `make clients` makes.
type sdk struct {
	program, script string
	folder, module  string
}

var (
	sdkPython = sdk{"python3", "responses.py", "python", "openai"}
	sdkNpm    = sdk{"node", "responses.mjs", "npm", "node_modules/openai/index.mjs"}
	sdkAgents = sdk{"python3", "agents.py", "agents", "agents"}
)

// run runs the script against a server. The client is where the script looks for it.
func (c sdk) run(t *testing.T, url string, more ...string) {
	t.Helper()
	folder := filepath.Join(enginetest.Home(t), "clients", c.folder)
	module := filepath.Join(folder, c.module)
	if _, err := os.Stat(module); err != nil {
		t.Skipf("SKIPPED: the client is not at %s; `make clients` fetches it", module)
	}
	args := []string{filepath.Join("testdata", "clients", c.script), url}
	if c.program == "node" {
		args = append(args, module)
	}
	cmd := exec.CommandContext(t.Context(), c.program, append(args, more...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+folder)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "all good") {
		t.Errorf("%s: %v\n%s", c.script, err, out)
	}
}

// The stock clients use all of the Responses API with a real model, and go on with a
// conversation after the server was started anew.
func TestStockResponses(t *testing.T) {
	home, room := cardHome(t), t.TempDir()
	serve := func() *server {
		cmd := dureCommand(t, "serve", "--addr", "127.0.0.1:0", "--threads", "1", "--context", "2048", "--sequences", "2", "smollm2-135m")
		cmd.Env = append(cmd.Env, envHome+"="+home)
		return startCommand(t, cmd)
	}
	clients := map[string]sdk{"python": sdkPython, "npm": sdkNpm}
	first := serve()
	for name, c := range clients {
		t.Run(name, func(t *testing.T) { c.run(t, first.url, filepath.Join(room, name)) })
	}
	t.Run("agents", func(t *testing.T) { sdkAgents.run(t, first.url) })
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	second := serve()
	for name, c := range clients {
		t.Run(name+" after a restart", func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(room, name)); err != nil {
				t.Skip("SKIPPED: there is no conversation to go on with")
			}
			c.run(t, second.url, filepath.Join(room, name))
		})
	}
}
