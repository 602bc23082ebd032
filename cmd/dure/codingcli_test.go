package main

import (
	"cmp"
	"context"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"dure/inference/anthropic"
	"dure/inference/engine/enginetest"
	"dure/inference/front"
	"dure/inference/front/fronttest"
	"dure/inference/ollama"
	"dure/inference/openai"
	"dure/inference/openai/memory"
)

var allCLIs = flag.Bool("all-clis", false, "run programs for coding over each API that they speak, and fetch them: 1.5 GB")

// What is asked of a program for coding, and what it takes.
const (
	codingAsk    = "check.sh fails. Repair greet.sh, so that it passes."
	codingFile   = "greet.sh"
	codingBefore = "echo \"Hello, $1\"\n"
	codingAfter  = "echo \"Hello, $1!\"\n"
	codingCheck  = "test \"$(sh greet.sh Ann)\" = 'Hello, Ann!' && echo well >>log || { echo wrong >>log; exit 1; }\n"
	codingLog    = "wrong\nwell\n"
)

// codingTime is how long a program may take at most.
const codingTime = 2 * time.Minute

// codingCLI is a program for coding as npm has it, and what a person sets up to have it
// use this server. In all texts %s stands for the server's address.
type codingCLI struct {
	client  fronttest.Client
	small   bool     // it is fetched where it is not there
	more    bool     // it is run with -all-clis only
	node    bool     // it needs a newer Node.js than many machines have
	command []string // the first is a file of the client
	env     []string
	config  map[string]string // files in its home
	tools   string            // that the model calls, in order
}

func qwen(kind string, env ...string) codingCLI {
	return codingCLI{
		client: fronttest.Client{Kind: "npm", Package: "@qwen-code/qwen-code", Version: "0.24.4"},
		small:  true, node: true,
		command: []string{"node_modules/.bin/qwen", "--yolo", "--auth-type", kind, "--model", "small", codingAsk},
		env:     env,
		config: map[string]string{".qwen/settings.json": `{"telemetry": {"enabled": false}, "privacy": {"usageStatisticsEnabled": false},
			"general": {"enableAutoUpdate": false}}`},
		tools: "read_file run_shell_command edit run_shell_command",
	}
}

func opencode(library string, more bool) codingCLI {
	return codingCLI{
		more:    more,
		client:  fronttest.Client{Kind: "npm", Package: "opencode-ai", Version: "1.18.33"},
		command: []string{"node_modules/.bin/opencode", "run", "--auto", "--model", "dure/small", codingAsk},
		env:     []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"},
		config: map[string]string{".config/opencode/opencode.json": `{"share": "disabled", "autoupdate": false, "provider": {"dure": {
			"npm": "` + library + `", "options": {"baseURL": "%s/v1", "apiKey": "none"}, "models": {"small": {"name": "small"}}}}}`},
		tools: "read bash edit bash",
	}
}

var codingCLIs = map[string]codingCLI{
	"qwen-code over chat completions": qwen("openai", "OPENAI_BASE_URL=%s/v1", "OPENAI_API_KEY=none"),
	"qwen-code over responses":        qwen("openai-responses", "OPENAI_BASE_URL=%s/v1", "OPENAI_API_KEY=none"),
	"qwen-code over messages":         qwen("anthropic", "ANTHROPIC_BASE_URL=%s", "ANTHROPIC_API_KEY=none"),
	"opencode over chat completions":  opencode("@ai-sdk/openai-compatible", false),
	"opencode over responses":         opencode("@ai-sdk/openai", true),
	"opencode over messages":          opencode("@ai-sdk/anthropic", true),
	"codex over responses": {
		client:  fronttest.Client{Kind: "npm", Package: "@openai/codex", Version: "0.171.0"},
		command: []string{"node_modules/.bin/codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", codingAsk},
		config: map[string]string{".codex/config.toml": `
			model = "small"
			model_provider = "dure"
			check_for_update_on_startup = false
			analytics.enabled = false
			[model_providers.dure]
			name = "dure"
			base_url = "%s/v1"
			wire_api = "responses"
			`},
		tools: "exec_command exec_command exec_command exec_command",
	},
	"claude-code over messages": {
		client:  fronttest.Client{Kind: "npm", Package: "@anthropic-ai/claude-code", Version: "2.1.332"},
		command: []string{"node_modules/.bin/claude", "--print", "--model", "small", "--allowed-tools", "Bash,Read,Edit", "--", codingAsk},
		env:     []string{"ANTHROPIC_BASE_URL=%s", "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
		tools:   "Read Bash Edit Bash",
	},
}

// Programs for coding repair a file: their requests are understood, and the calls of
// their tools by a scripted model are carried out. They reach nothing but the server.
func TestCodingCLIs(t *testing.T) {
	alone := alone()
	t.Run("nothing else is reached", func(t *testing.T) {
		if !alone {
			t.Skip("SKIPPED: no namespaces for networks may be made here: the programs are only told of a proxy that is not there")
		}
	})
	for name, cli := range codingCLIs {
		if cli.more && !*allCLIs {
			continue
		}
		t.Run(name, func(t *testing.T) { cli.repair(t, alone) })
	}
}

// ownNetwork is for a process that has no network but a loopback device.
func ownNetwork() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setpgid: true, Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

// alone reports whether there can be such processes.
func alone() bool {
	cmd := exec.Command("true")
	cmd.SysProcAttr = ownNetwork()
	return cmd.Run() == nil
}

func (cli codingCLI) repair(t *testing.T, alone bool) {
	room := t.TempDir()
	home, work, socket := filepath.Join(room, "home"), filepath.Join(room, "work"), filepath.Join(room, "s")
	write(t, filepath.Join(work, codingFile), codingBefore)
	write(t, filepath.Join(work, "check.sh"), codingCheck)
	coder := &fronttest.Coder{File: filepath.Join(work, codingFile), Old: "$1", New: "$1!", Check: "sh check.sh"}
	w := serveCoder(t, coder, socket)
	cmd := cli.prepare(t, home, socket, alone)
	cmd.Dir = work
	out, err := cmd.CombinedOutput()
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it may have left behind
	names, _ := os.ReadFile(filepath.Join(home, "asked"))
	t.Logf("%s\nhosts that it asked for: %s", out, strings.Fields(string(names)))
	if after, _ := os.ReadFile(coder.File); err != nil || string(after) != codingAfter || !strings.Contains(string(out), "It is repaired.") {
		t.Errorf("%v; the file is now %q", err, after)
	}
	if called := strings.Join(coder.Called(), " "); called != cli.tools {
		t.Errorf("called were %s", called)
	}
	if log, _ := os.ReadFile(filepath.Join(work, "log")); string(log) != codingLog {
		t.Errorf("the check said %q", log)
	}
	if results := coder.Results(); len(results) != 4 || !strings.Contains(results[0], "Hello") {
		t.Errorf("the tools returned %q", results)
	}
	for _, line := range w.Lines() {
		if status, ok := line["status"].(float64); ok && status >= 400 {
			t.Errorf("refused: %v", line)
		}
	}
}

// prepare is the command that runs the program in a home of its own, with the server
// that listens on the socket at the usual address.
func (cli codingCLI) prepare(t *testing.T, home, socket string, alone bool) *exec.Cmd {
	dir, path := cli.fetch(t), os.Getenv("PATH")
	if cli.node {
		path = newerNode(t) + ":" + path
	}
	port, asked := "8484", filepath.Join(home, "asked")
	if !alone {
		port, asked = unusedPort(t), ""
	}
	told := strings.NewReplacer("%s", "http://127.0.0.1:"+port)
	for name, text := range cli.config {
		write(t, filepath.Join(home, name), told.Replace(text))
	}
	script, err := filepath.Abs("testdata/clients/alone.py")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{script, socket, port, asked, filepath.Join(dir, cli.command[0])}
	ctx, cancel := context.WithTimeout(t.Context(), codingTime)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "python3", append(args, cli.command[1:]...)...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + path, "LANG=C.UTF-8", "TMPDIR=" + filepath.Dir(home), "DO_NOT_TRACK=1", "NO_COLOR=1"}
	for _, e := range cli.env {
		cmd.Env = append(cmd.Env, told.Replace(e))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if alone {
		cmd.SysProcAttr = ownNetwork()
	} else {
		cmd.Env = append(cmd.Env, "HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1")
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// fetch returns the folder with the program. Large ones are fetched on demand only.
func (cli codingCLI) fetch(t *testing.T) string {
	home := enginetest.Home(t)
	if dir := cli.client.Dir(home); !cli.small && !*allCLIs {
		if _, err := os.Stat(dir); err != nil {
			t.Skipf("SKIPPED: the client %s %s is not at %s; `make test-long` fetches it", cli.client.Package, cli.client.Version, dir)
		}
	}
	return cli.client.Fetch(t, home)
}

// newerNode is a folder with a Node.js that runs all of the programs.
func newerNode(t *testing.T) string {
	name := "node-linux-" + cmp.Or(map[string]string{"amd64": "x64"}[runtime.GOARCH], runtime.GOARCH)
	node := fronttest.Client{Kind: "npm", Package: name, Version: "22.23.5"}
	return filepath.Join(node.Fetch(t, enginetest.Home(t)), "node_modules", name, "bin")
}

// serveCoder serves the model on a unix socket.
func serveCoder(t *testing.T, coder *fronttest.Coder, socket string) *fronttest.World {
	kept, err := memory.Open(t.TempDir(), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	responses := openai.NewResponses(kept, slog.New(slog.DiscardHandler))
	t.Cleanup(responses.Close)
	w := fronttest.NewHandler(t, []front.Surface{openai.Surface(responses), anthropic.Surface(), ollama.Surface(ollama.Options{})}, coder.Generate)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: w.Handler}}
	server.Start()
	t.Cleanup(server.Close)
	return w
}

func unusedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
