package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/runtime/sandbox/cell"
)

// Without user namespaces: Landlock, seccomp and an own user.
func TestReduced(t *testing.T) {
	g := newGround(t, Options{Only: Reduced})
	secret := filepath.Join(g.dir, "secret")
	g.write(secret, "secret")
	tcp, path := g.listen("tcp", "127.0.0.1:0"), filepath.Join(g.dir, "path.sock")
	g.listen("unix", path)
	host, port, err := net.SplitHostPort(tcp)
	if err != nil {
		t.Fatal(err)
	}
	lower := g.snapshot("reduced")
	b, other := g.box(Spec{Name: "reduced", Lower: lower}), g.box(Spec{Name: "neighbour", Lower: lower})
	if _, out := g.sh(other, "echo theirs > theirs.txt; cat theirs.txt"); out != "theirs\n" {
		t.Fatalf("%q", out)
	}
	neighbour := filepath.Join(other.Workspace(), "theirs.txt")
	p, err := other.Begin(context.Background(), Cmd{Args: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = p.Wait() }()
	defer p.Signal(9)
	if r, out := g.sh(b, "cat file.txt; echo x > new.txt; cat new.txt; cd ~ && echo y > z && cat z; echo t > $TMPDIR/t"); out != "as it was\nx\ny\n" {
		t.Fatalf("it cannot work: %+v %q", r, out)
	}
	for name, script := range map[string]string{
		"secret":    "cat " + secret,
		"shadow":    "cat /etc/shadow",
		"proc":      "cat /proc/self/status /proc/1/status",
		"neighbour": "cat " + neighbour,
		"write":     "echo x > " + filepath.Join(g.dir, "planted"),
		"tmp":       "echo x > /tmp/dure-planted",
		"tcp":       `python3 -c 'import socket; socket.create_connection(("` + host + `", ` + port + `), 2)'`,
		"udp":       `python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)'`,
		"unix":      `python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("` + path + `")'`,
		"mount":     "mount -t tmpfs none .",
		"unshare":   "unshare -U true",
		"setuid":    "su root -c true",
		"kill":      "kill -0 " + itoa(os.Getpid()),
	} {
		t.Run(name, func(t *testing.T) {
			if r, out := g.sh(b, script); r.Ended == EndedItself && r.Code == 0 {
				t.Errorf("it came through: %q", out)
			}
			if strings.HasPrefix(script, "cat ") || name == "tmp" || name == "write" {
				if os.Geteuid() != 0 && name == "shadow" {
					return
				}
				outsideShell(t, script)
			}
		})
	}
	if r, out := g.sh(b, "setsid sleep 1000 & echo left"); out != "left\n" {
		t.Errorf("%+v %q", r, out)
	}
	if !strings.Contains(g.log.String(), "without user namespaces") {
		t.Errorf("no warning: %s", g.log)
	}
}

// outsideShell shows that a script succeeds without a sandbox.
func outsideShell(t *testing.T, script string) {
	t.Helper()
	g := newGround(t, Options{Only: None, Unsafe: true})
	b := g.box(Spec{Name: "open"})
	if r, out := g.sh(b, script); r.Code != 0 {
		t.Errorf("it does not succeed outside either: %+v %q", r, out)
	}
	_ = os.Remove("/tmp/dure-planted")
}

// A command that ends the process that watches it does not outlive it.
func TestReducedHelperKilled(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root gives a box a user of its own")
	}
	g := newGround(t, Options{Only: Reduced})
	b, err := g.host.Start(context.Background(), Spec{Name: "killer", Dir: filepath.Join(g.dir, "killer"), Lower: g.snapshot("killer")})
	if err != nil {
		t.Fatal(err)
	}
	mark := "1000.0" + strings.TrimLeft(filepath.Base(g.dir), "sandbox-te")
	_, err = b.Run(context.Background(), Cmd{Args: []string{"sh", "-c", "setsid sleep " + mark + " & for i in $(seq 0 9); do kill -9 $(($PPID+$i)) 2>/dev/null; done; sleep " + mark},
		Timeout: 5 * time.Second})
	if err == nil {
		t.Log("the helper was not hit") // then its end is as any other
	} else if !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := seesMark(mark); err == nil {
		t.Error("a command lives on")
	}
}

func TestNoneIsRefused(t *testing.T) {
	dir := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	if _, err := Open(context.Background(), Options{Dir: dir, Log: log, Only: None}); !errors.Is(err, ErrRefused) {
		t.Errorf("rung none without Unsafe: %v", err)
	}
	g := newGround(t, Options{Only: None, Unsafe: true})
	if !strings.Contains(g.log.String(), "NO sandbox") {
		t.Errorf("no warning: %s", g.log)
	}
	b := g.box(Spec{Name: "open"})
	if _, out := g.sh(b, "cat file.txt"); out != "as it was\n" {
		t.Errorf("%q", out)
	}
}

// A helper that does not build its walls is no sandbox.
func TestBrokenHelper(t *testing.T) {
	_, err := Open(context.Background(), Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Helper: []string{"/bin/true"}})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "full: ") || !strings.Contains(err.Error(), "reduced: ") {
		t.Errorf("%v", err)
	}
}

func TestCopiesWhereThereIsNoOverlay(t *testing.T) {
	g := newGround(t, Options{Only: Full, NoOverlay: true})
	lower := g.snapshot("copied")
	if err := os.Symlink("file.txt", filepath.Join(lower, "link")); err != nil {
		t.Fatal(err)
	}
	b := g.box(Spec{Name: "copied", Lower: lower})
	if r, out := g.sh(b, "echo more >> link; cat file.txt"); out != "as it was\nmore\n" {
		t.Errorf("%+v %q", r, out)
	}
	if data, err := os.ReadFile(filepath.Join(lower, "file.txt")); err != nil || string(data) != "as it was\n" {
		t.Errorf("%q %v", data, err)
	}
	dir, whole := b.Changes()
	if data, err := os.ReadFile(filepath.Join(dir, "file.txt")); !whole || err != nil || string(data) != "as it was\nmore\n" {
		t.Errorf("%v %q %v", whole, data, err)
	}
}

func TestReport(t *testing.T) {
	g := newGround(t, Options{})
	r := g.host.Report()
	if r.Rung == "" || r.Limits == "" || len(r.Facts) < 10 {
		t.Errorf("%+v", r)
	}
	if cell.LandlockVersion() != r.Landlock {
		t.Errorf("Landlock %d, reported %d", cell.LandlockVersion(), r.Landlock)
	}
}

func TestFindGroups(t *testing.T) {
	for name, c := range map[string]struct {
		mounts, groups string
		want           groupsAt
	}{
		"version 2": {
			"30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n", "0::/user.slice/x.scope\n",
			groupsAt{"": "/sys/fs/cgroup/user.slice/x.scope"}},
		"container": {
			"30 24 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/docker/abc/sub\n", groupsAt{"": "/sys/fs/cgroup/sub"}},
		"elsewhere": {"30 24 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/other\n", groupsAt{}},
		"version 1": {
			"31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
			"3:cpu,cpuacct:/\n2:memory:/a/b\n0::/\n", groupsAt{"cpu": "/sys/fs/cgroup/cpu,cpuacct", "cpuacct": "/sys/fs/cgroup/cpu,cpuacct", "memory": "/sys/fs/cgroup/memory/a/b"}},
		"nonsense": {"x\n - \n", ":\na:b\n", groupsAt{}},
	} {
		got := findGroups(c.mounts, c.groups)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for k, v := range c.want {
			if got[k] != v {
				t.Errorf("%s: %q: %s, want %s", name, k, got[k], v)
			}
		}
	}
}
