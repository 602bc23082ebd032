package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	temp := t.TempDir()
	serve := func(more ...string) *server {
		cmd := dureCommand(t, append([]string{"serve", "--addr", "127.0.0.1:0", "--threads", "1", "--context", "2048", "--sequences", "2", "--cache-disk", "0", "smollm2-135m"}, more...)...)
		cmd.Env = append(cmd.Env, envHome+"="+home, "TMPDIR="+temp)
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
		dir, began := t.TempDir(), time.Now()
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
		if found := soundFiles(t, began, dir); len(found) != 2 {
			t.Errorf("of the two recordings that this test made, %d are found: %v", len(found), found)
		}
		if found := soundFiles(t, began, home, temp); len(found) > 0 {
			t.Errorf("the conversation left what may be sound: %v", found)
		}
	})
}

// soundFiles are the files of folders that were written since began and may hold a tenth of a
// second of sound or more: they are no text.
func soundFiles(t *testing.T, began time.Time, folders ...string) (found []string) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if err != nil || info.ModTime().Before(began) || info.Size() < 1600 {
				return err
			}
			b, err := os.ReadFile(path)
			if err == nil && bytes.IndexByte(b, 0) >= 0 {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
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
