package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dure/inference/bundle"
	"dure/inference/engine/enginetest"
	"dure/inference/front/fronttest"
)

// voiceHome is DURE_HOME with the speech engines, or a skip that says so.
func voiceHome(t *testing.T) string {
	t.Helper()
	home := enginetest.Home(t)
	for _, name := range defaultVoice {
		s, err := voiceSet(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Open(home); err != nil {
			if !errors.Is(err, bundle.ErrNotInstalled) {
				t.Fatal(err)
			}
			t.Skipf("SKIPPED: %v; `dure voice install` fetches the speech engines", err)
		}
	}
	return home
}

// The clients that people really use talk with the demo model, by speech that is made
// here, heard here and answered here.
func TestVoiceClients(t *testing.T) {
	home := voiceHome(t)
	serve := func(more ...string) *server {
		cmd := dureCommand(t, append([]string{"serve", "--addr", "127.0.0.1:0", "--threads", "1", "--context", "2048", "--sequences", "2", "--cache-disk", "0", "smollm2-135m"}, more...)...)
		cmd.Env = append(cmd.Env, envHome+"="+home)
		return startCommand(t, cmd)
	}
	s := serve()
	t.Run("npm agents-realtime", func(t *testing.T) {
		stockVoice.Run(t, home, "testdata/clients/realtime_agents.mjs", s.url)
	})
	t.Run("python openai", func(t *testing.T) {
		sdk{"python3", "realtime.py", "agents", "openai"}.run(t, s.url)
	})
	t.Run("python agents", func(t *testing.T) {
		sdk{"python3", "realtime_agents.py", "agents", "agents"}.run(t, s.url)
	})
	t.Run("dure talk", func(t *testing.T) {
		dir := t.TempDir()
		question, answer := filepath.Join(dir, "q.wav"), filepath.Join(dir, "a.wav")
		run := func(args ...string) string {
			cmd := dureCommand(t, args...)
			cmd.Env = append(cmd.Env, envHome+"="+home)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			return string(out)
		}
		run("voice", "say", "What is the capital of France?", "--out", question)
		out := run("talk", "--url", s.url, "--in", question, "--out", answer)
		if !strings.Contains(out, "you:  What is the capital of France") || !strings.Contains(out, "Paris") {
			t.Error(out)
		}
		if heard := run("voice", "hear", answer); !strings.Contains(heard, "Paris") {
			t.Error(heard)
		}
	})
}

// stockVoice is the stock client for voice agents. Beside it lie OpenAI's own client and ws.
var stockVoice = fronttest.Client{Kind: "npm", Package: "@openai/agents-realtime", Version: "0.20.0"}

// OpenAI's npm client speaks wss only.
func TestVoiceOverTLS(t *testing.T) {
	home := voiceHome(t)
	modules := filepath.Join(stockVoice.Fetch(t, home), "node_modules")
	cmd := dureCommand(t, "serve", "--addr", "127.0.0.1:0", "--tls", "--threads", "1", "--context", "2048", "--cache-disk", "0", "smollm2-135m")
	cmd.Env = append(cmd.Env, envHome+"="+home)
	s := startCommand(t, cmd)
	js := exec.CommandContext(t.Context(), "node", "testdata/clients/realtime_openai.mjs", s.url, filepath.Join(modules, "openai"))
	js.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+filepath.Join(home, "tls-1.crt"))
	if out, err := js.CombinedOutput(); err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "all good") {
		t.Errorf("%v\n%s", err, out)
	}
}
