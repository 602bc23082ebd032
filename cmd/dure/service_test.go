package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// unitWords reads a line as systemd does: words, quotes, C escapes, specifiers.
// It is written from systemd.syntax(7), not from what unitQuote does.
func unitWords(t interface{ Fatalf(string, ...any) }, line string) []string {
	var words []string
	for i := 0; i < len(line); {
		if line[i] == ' ' {
			i++
			continue
		}
		if line[i] != '"' {
			end := i + strings.IndexByte(line[i:]+" ", ' ')
			words = append(words, line[i:end])
			i = end
			continue
		}
		var word []byte
		for i++; line[i] != '"'; i++ {
			switch c := line[i]; {
			case c == '\\':
				i++
				if line[i] != '\\' && line[i] != '"' {
					t.Fatalf("escape \\%c in %s", line[i], line)
				}
			case c == '%':
				i++
				if line[i] != '%' {
					t.Fatalf("specifier %%%c in %s", line[i], line)
				}
			}
			word = append(word, line[i])
		}
		words = append(words, string(word))
		i++
	}
	return words
}

func lineOf(t interface{ Fatalf(string, ...any) }, unit, key string) string {
	_, after, ok := strings.Cut(unit, "\n"+key+"=")
	if !ok {
		t.Fatalf("no %s in\n%s", key, unit)
	}
	line, _, _ := strings.Cut(after, "\n")
	return line
}

func TestServiceUnitQuoting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOf(rapid.RuneFrom([]rune(` a%"\$'hé두#;{}`)))
		u := unit{
			Program: "/p" + strings.NewReplacer(`"`, "", `\`, "", `'`, "").Replace(word.Draw(t, "program")),
			Args:    rapid.SliceOfN(word, 0, 4).Draw(t, "args"), Home: word.Draw(t, "home"), Settings: "/e" + word.Draw(t, "settings") + "x",
		}
		text, err := u.text()
		if err != nil {
			t.Fatalf("%+v: %v", u, err)
		}
		got := unitWords(t, lineOf(t, text, "ExecStart"))
		for i := range got {
			if i > 1 { // after the program and "serve"
				got[i] = strings.ReplaceAll(got[i], "$$", "$")
			}
		}
		want := append([]string{u.Program, "serve"}, u.Args...)
		if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Fatalf("%q is read as %q", want, got)
		}
		env := unitWords(t, lineOf(t, text, "Environment"))
		if len(env) != 1 || env[0] != envHome+"="+u.Home {
			t.Fatalf("%q is read as %q", u.Home, env)
		}
		if file := lineOf(t, text, "EnvironmentFile"); strings.ReplaceAll(file, "%%", "%") != "-"+u.Settings {
			t.Fatalf("%q is read as %q", u.Settings, file)
		}
	})
}

func TestServiceRefusesWhatAUnitCannotSay(t *testing.T) {
	good := unit{Program: "/bin/dure", Home: "/home/a", Settings: "/home/a/env"}
	if _, err := good.text(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*unit){
		"line break in the program":  func(u *unit) { u.Program = "/a\nExecStartPre=/b" },
		"line break in an argument":  func(u *unit) { u.Args = []string{"a\nb"} },
		"line break in the home":     func(u *unit) { u.Home = "/a\n[Install]" },
		"line break in the settings": func(u *unit) { u.Settings = "/a\n[Install]" },
		"no UTF-8":                   func(u *unit) { u.Args = []string{"\xff"} },
		"quote in the program":       func(u *unit) { u.Program = `/a"b/dure` },
		"backslash in the program":   func(u *unit) { u.Program = `/a\b/dure` },
		"backslash at a line's end":  func(u *unit) { u.Settings = `/a\` },
		"blank at a line's end":      func(u *unit) { u.Settings = "/a " },
	} {
		u := good
		change(&u)
		if text, err := u.text(); err == nil {
			t.Errorf("%s: taken:\n%s", name, text)
		}
	}
}

// systemd itself reads the unit: it finds the program at a path that needs every
// kind of quoting, and nothing else to say than what an older one does not know.
func TestServiceUnitIsWhatSystemdReads(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here: the unit is only parsed by the other tests")
	}
	dir := filepath.Join(t.TempDir(), "a b%h $HOME 100%")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "dure")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	u := unit{Program: program, Args: []string{`a "b" $c %d \e`, "--context", "8k"}, Home: dir, Settings: filepath.Join(dir, "env")}
	for _, u.Hardened = range []bool{false, true} {
		if said := verifyUnit(t, analyze, u); said != "" {
			t.Errorf("hardened %v: %s", u.Hardened, said)
		}
	}
	u.Program += "-not"
	if said := verifyUnit(t, analyze, u); !strings.Contains(said, u.Program+" is not executable") {
		t.Errorf("of a program that is not there it is said: %q", said)
	}
}

// verifyUnit returns what systemd-analyze finds wrong.
func verifyUnit(t *testing.T, analyze string, u unit) string {
	t.Helper()
	text, err := u.text()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, unitName)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(analyze, "--user", "--man=no", "verify", file)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
	out, err := cmd.CombinedOutput()
	var wrong []string
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "Unknown key 'Restart") {
			wrong = append(wrong, line)
		}
	}
	if err != nil && len(wrong) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Join(wrong, "")
}

// machine is a home folder with a systemctl that notes how it is called. A user
// manager does not answer where tests run.
type machine struct {
	t    *testing.T
	home string
	bin  string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, home: filepath.Join(t.TempDir(), "a home"), bin: t.TempDir()}
	if err := os.Mkdir(m.home, 0o755); err != nil {
		t.Fatal(err)
	}
	m.tool("systemctl", `echo "$@" >> "$HOME/calls"`)
	m.tool("loginctl", `echo no`)
	m.tool("journalctl", `echo "the log: $@"`)
	return m
}

func (m *machine) tool(name, script string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// dure runs a command in the machine's home.
func (m *machine) dure(args ...string) (out string, err error) {
	m.t.Helper()
	self, err := os.Executable()
	if err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = m.home
	cmd.Env = []string{envBeDure + "=1", "HOME=" + m.home, "PATH=" + m.bin, "ENGINE=cpu", "DURE_API_KEYS=secret"}
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err = cmd.Run()
	return both.String(), err
}

// calls since the last look, without the question whether anybody answers.
func (m *machine) calls() []string {
	m.t.Helper()
	file := filepath.Join(m.home, "calls")
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	os.Remove(file)
	var calls []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimPrefix(strings.TrimSpace(line), "--user "); line != "show-environment" {
			calls = append(calls, line)
		}
	}
	return calls
}

func (m *machine) want(calls ...string) {
	m.t.Helper()
	if got := m.calls(); strings.Join(got, "; ") != strings.Join(calls, "; ") {
		m.t.Errorf("systemctl was asked for %q, want %q", got, calls)
	}
}

func (m *machine) read(path string) string {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.home, path))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(data)
}

const (
	unitFile     = ".config/systemd/user/" + unitName
	settingsFile = ".config/dure/service.env"
)

func TestServiceInstallTwiceAndUninstall(t *testing.T) {
	m := newMachine(t)
	out, err := m.dure("service", "install", "--", "./m.gguf", "--context", "8k")
	if err != nil || !strings.Contains(out, "loginctl enable-linger") {
		t.Fatalf("%v: %s", err, out)
	}
	m.want("daemon-reload", "enable dure.service", "restart dure.service")
	unit := m.read(unitFile)
	words := unitWords(t, lineOf(t, unit, "ExecStart"))
	if got := strings.Join(words[1:], " "); got != "serve "+m.home+"/m.gguf --context 8k" || !filepath.IsAbs(words[0]) {
		t.Errorf("%q", words)
	}
	if env := unitWords(t, lineOf(t, unit, "Environment")); len(env) != 1 || env[0] != envHome+"="+m.home+"/.dure" {
		t.Errorf("%q", env)
	}
	if strings.Contains(unit, "secret") || !strings.Contains(out, "DURE_API_KEYS is set here") || !strings.Contains(out, "ENGINE is set here") {
		t.Errorf("what is not taken over is not said, or a key is in the unit: %s\n%s", out, unit)
	}
	if info, err := os.Stat(filepath.Join(m.home, settingsFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("environment file: %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(filepath.Join(m.home, settingsFile), []byte("DURE_API_KEYS=mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	out, err = m.dure("service", "install", "--", "./m.gguf", "--context", "8k")
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	m.want("daemon-reload", "enable dure.service", "start dure.service") // a running one goes on running
	if again := m.read(unitFile); again != unit {
		t.Errorf("the second install changed the unit:\n%s", again)
	}

	if out, err := m.dure("service", "install"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	m.want("daemon-reload", "enable dure.service", "restart dure.service")
	if m.read(unitFile) == unit || m.read(settingsFile) != "DURE_API_KEYS=mine\n" {
		t.Error("the unit was not replaced, or the user's file was")
	}

	if out, err := m.dure("service", "uninstall"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	m.want("disable --now dure.service", "daemon-reload")
	if _, err := os.Stat(filepath.Join(m.home, unitFile)); !os.IsNotExist(err) {
		t.Errorf("the unit is still there: %v", err)
	}
	if out, err = m.dure("service", "uninstall"); err != nil || !strings.Contains(out, "not installed") {
		t.Errorf("a second uninstall: %v: %s", err, out)
	}
	m.want()
	if m.read(settingsFile) != "DURE_API_KEYS=mine\n" {
		t.Error("the user's environment file is gone")
	}
}

func TestServiceWithoutUserManager(t *testing.T) {
	m := newMachine(t)
	m.tool("systemctl", `echo "Failed to connect to bus" >&2; exit 1`)
	out, err := m.dure("service", "install")
	if err == nil || !strings.Contains(out, "Failed to connect to bus") || !strings.Contains(out, "dure serve") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = m.dure("service", "status")
	if err == nil || !strings.Contains(out, "not installed") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = m.dure("service", "install", "--dry-run")
	if err != nil || !strings.Contains(out, "would refuse: there is no systemd") || !strings.Contains(out, "[Unit]") {
		t.Errorf("%v: %s", err, out)
	}
	if err := os.RemoveAll(m.bin); err != nil { // no systemctl at all
		t.Fatal(err)
	}
	if out, err = m.dure("service", "install"); err == nil || !strings.Contains(out, "there is no systemd") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err = m.dure("service", "install", "--print"); err != nil || !strings.HasPrefix(out, unitMark) {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(m.home, ".config")); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}

func TestServiceLeavesOthersUnitsAlone(t *testing.T) {
	for theirs, why := range map[string]string{"[Service]\nExecStart=/bin/true\n": "move it away", unitMark + "2. More\n[Unit]\n": "a later dure"} {
		m := newMachine(t)
		file := filepath.Join(m.home, unitFile)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(theirs), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"install", "uninstall"} {
			if out, err := m.dure("service", what); err == nil || !strings.Contains(out, why) {
				t.Errorf("%s: %v: %s", what, err, out)
			}
		}
		m.want()
		if m.read(unitFile) != theirs {
			t.Errorf("%q was changed", theirs)
		}
	}
}

func TestServiceRefusesWhatServeWould(t *testing.T) {
	m := newMachine(t)
	for _, args := range [][]string{{"--contxt", "8k"}, {"a", "b"}, {"--help"}, {"--threads", "x"}} {
		if out, err := m.dure(append([]string{"service", "install", "--"}, args...)...); err == nil {
			t.Errorf("%q: taken: %s", args, out)
		}
	}
	m.want()
	out, err := m.dure("service", "logs", "-n", "7", "-f")
	if err != nil || !strings.Contains(out, "--user-unit dure.service --no-pager --lines 7 --follow") {
		t.Errorf("%v: %s", err, out)
	}
}

// A flag's value may be the same word as the model, before or after it.
func TestServiceFindsTheModelAmongItsFlags(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(here, "m.gguf")
	for _, c := range []struct{ args, want []string }{
		{[]string{"--host", "m.gguf", "m.gguf"}, []string{"--host", "m.gguf", model}},
		{[]string{"m.gguf", "--host", "m.gguf"}, []string{model, "--host", "m.gguf"}},
		{[]string{"--host=m.gguf", "--", "m.gguf"}, []string{"--host=m.gguf", "--", model}},
		{[]string{model}, []string{model}},
		{[]string{"smollm2-135m", "--queue", "3"}, []string{"smollm2-135m", "--queue", "3"}},
	} {
		if got, err := serveArguments(c.args); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q (%v), want %q", c.args, got, err, c.want)
		}
	}
}
