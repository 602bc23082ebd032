package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A probe tries one thing that a command must not be able to do. It is run twice: in
// a box, where it must be refused, and outside, where it must succeed; otherwise it
// would prove nothing. Outside it runs as root in mounts and names of its own, so that
// it harms nobody; probes that would, end right behind the check for permission.

const probeArg = "__probe"

// lair is what a probe is after.
type lair struct {
	Secret   string `json:"secret"`   // a file of the machine
	Content  string `json:"content"`  // what is in it
	TCP      string `json:"tcp"`      // a listener of the machine
	TCP6     string `json:"tcp6"`     // "" where there is no IPv6
	UDP      string `json:"udp"`      // echoes
	Abstract string `json:"abstract"` // a socket without a path
	Path     string `json:"path"`     // a socket with one
	Harness  string `json:"harness"`  // the harness's program
	PID      int    `json:"pid"`      // the harness
	Mark     string `json:"mark"`     // in the command line of another agent's process
	Other    string `json:"other"`    // a file of another agent
	Setuid   string `json:"setuid"`   // a program that makes whoever runs it root
	Filecap  string `json:"filecap"`  // a program that gives a capability
	Scratch  string `json:"scratch"`  // where files can be made
}

const probeEnv = "SANDBOX_PROBE"

// runProbe is the process that tries.
func runProbe(name string) {
	var l lair
	if err := json.Unmarshal([]byte(os.Getenv(probeEnv)), &l); err != nil {
		fmt.Println("BROKEN:", err)
		os.Exit(1)
	}
	for _, p := range probes {
		if p.name == name {
			if err := p.try(&l); err != nil {
				fmt.Println("REFUSED:", err)
				os.Exit(3)
			}
			fmt.Println("REACHED")
			os.Exit(0)
		}
	}
	fmt.Println("BROKEN: no probe", name)
	os.Exit(1)
}

// reached is the error of a probe of a system call: nil if the call came past the
// check for permission, however it ended then.
func reached(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS) {
		return err
	}
	return nil
}

func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}

func TestProbes(t *testing.T) {
	g := newGround(t, Options{Only: Full})
	l := buildLair(g)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tools := filepath.Dir(l.Setuid)
	b := g.box(Spec{Name: "probed", Mounts: []Mount{{self, "/probe/probe"}, {tools, "/probe/tools"}}})
	for _, p := range probes {
		if p.answers {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			inside := l
			inside.Scratch = "/work"
			inside.Setuid, inside.Filecap = "/probe/tools/setuid", "/probe/tools/filecap"
			r, out := g.run(b, Cmd{Args: []string{"/probe/probe", probeArg, p.name}, Env: []string{probeEnv + "=" + asJSON(inside)}})
			switch {
			case strings.HasPrefix(out, "REACHED"):
				t.Errorf("a command in the sandbox came through: %s", out)
			case !strings.HasPrefix(out, "REFUSED"):
				t.Errorf("the probe itself failed: %+v\n%s", r, out)
			}
			t.Run("outside", func(t *testing.T) { outside(t, p, l) })
		})
	}
}

// outside proves that a probe can succeed.
func outside(t *testing.T, p probe, l lair) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can show that this would succeed without a sandbox")
	}
	cmd := exec.Command("/proc/self/exe", probeArg, p.name) // whoever it runs as may not come to the path
	cmd.Env = []string{probeEnv + "=" + asJSON(l), "PATH=" + os.Getenv("PATH")}
	cmd.Dir = l.Scratch
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS | unix.CLONE_NEWUTS}
	if p.asUser {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 12345, Gid: 12345}
	}
	if p.handed {
		f, err := os.Open(l.Secret)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd.ExtraFiles = []*os.File{f}
	}
	out, err := cmd.CombinedOutput()
	if strings.HasPrefix(string(out), "REACHED") {
		return
	}
	if p.rare {
		t.Skipf("SKIPPED: this machine does not have it: %s", strings.TrimSpace(string(out)))
	}
	t.Errorf("the probe does not succeed outside either (%v): it proves nothing\n%s", err, out)
}

func asJSON(l lair) string {
	data, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// buildLair makes the things that probes are after.
func buildLair(g *ground) lair {
	t := g.t
	t.Helper()
	l := lair{Content: "the harness's secret", Secret: filepath.Join(g.dir, "secret"), PID: os.Getpid(), Abstract: "@dure-probe-" + filepath.Base(g.dir),
		Path: filepath.Join(g.dir, "path.sock"), Mark: "mark-" + filepath.Base(g.dir)}
	g.write(l.Secret, l.Content)
	var err error
	if l.Harness, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	l.Scratch = filepath.Join(g.dir, "outside")
	if err := os.Mkdir(l.Scratch, 0o777); err != nil {
		t.Fatal(err)
	}
	l.TCP = g.listen("tcp", "127.0.0.1:0")
	g.listen("unix", l.Abstract)
	g.listen("unix", l.Path)
	if probe, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		_ = probe.Close()
		l.TCP6 = g.listen("tcp6", "[::1]:0")
	}
	l.UDP = g.echo()
	l.Setuid, l.Filecap = g.privileged(l.Harness)
	// Another agent at work: a file and a process of its own.
	other := g.box(Spec{Name: "other"})
	g.sh(other, "echo theirs > theirs.txt")
	dir, _ := other.Changes()
	l.Other = filepath.Join(dir, "theirs.txt")
	p, err := other.Begin(context.Background(), Cmd{Args: []string{"sh", "-c", "read x; # " + l.Mark}, Stdin: neverEnds{make(chan struct{})}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Signal(syscall.SIGKILL); _, _ = p.Wait() })
	return l
}

// neverEnds is an input from which nothing comes.
type neverEnds struct{ c chan struct{} }

func (n neverEnds) Read([]byte) (int, error) { <-n.c; return 0, nil }

func (g *ground) listen(network, address string) string {
	g.t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	if network == "unix" && !strings.HasPrefix(address, "@") {
		if err := os.Chmod(address, 0o777); err != nil {
			g.t.Fatal(err)
		}
	}
	return ln.Addr().String()
}

func (g *ground) echo() string {
	g.t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = c.Close() })
	go func() {
		buf := make([]byte, 100)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(buf[:n], from)
		}
	}()
	return c.LocalAddr().String()
}

// privileged copies the test binary to programs that give rights to whoever executes
// them, if this is root.
func (g *ground) privileged(program string) (setuid, filecap string) {
	g.t.Helper()
	dir := filepath.Join(g.dir, "tools")
	if err := os.Mkdir(dir, 0o755); err != nil {
		g.t.Fatal(err)
	}
	setuid, filecap = filepath.Join(dir, "setuid"), filepath.Join(dir, "filecap")
	for _, path := range []string{setuid, filecap} {
		if err := copyFile(program, path, 0o755); err != nil {
			g.t.Fatal(err)
		}
	}
	if os.Geteuid() != 0 {
		return setuid, filecap
	}
	if err := os.Chmod(setuid, 0o755|os.ModeSetuid); err != nil {
		g.t.Fatal(err)
	}
	// Version 2, effective, permitted CAP_NET_RAW.
	capability := []byte{1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if err := unix.Setxattr(filecap, "security.capability", capability, 0); err != nil {
		g.t.Fatal(err)
	}
	return setuid, filecap
}
