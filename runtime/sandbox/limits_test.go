package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const mib = 1 << 20

// bombs are what runaway or hostile commands do; each must be ended or refused, and
// the box must work afterwards.
var bombs = []struct {
	name, script string
	timeout      time.Duration // 0 is long enough
	both         bool          // tried with control groups and without
	limits       Limits
	ended        []Ended // empty: it ends by itself, refused
	says         string
}{
	{name: "memory", both: true, script: `python3 -c 'x=[bytearray(1<<20) for _ in range(600)]'`, limits: Limits{Memory: 100 * mib}, ended: []Ended{EndedMemory, EndedItself}, says: "?"},
	{name: "memory_of_many", both: true, script: `for i in 1 2 3 4 5 6 7 8; do python3 -c 'x=bytearray(40<<20); import time; time.sleep(1)' & done; wait; echo survived`,
		limits: Limits{Memory: 100 * mib}, ended: []Ended{EndedMemory, EndedItself, EndedTimeout}, says: "?"},
	{name: "memory_in_files", script: `head -c 500M /dev/zero > /tmp/x || echo refused`, limits: Limits{Memory: 200 * mib, Scratch: 20 * mib}, says: "refused"},
	{name: "memory_in_shm", script: `head -c 500M /dev/zero > /dev/shm/x || echo refused`, limits: Limits{Memory: 200 * mib, Scratch: 20 * mib}, says: "refused"},
	{name: "files_in_memory", script: `cd /tmp; python3 -c '
try:
    for i in range(70000): open(str(i), "w").close()
except OSError as e: print("refused", e)'`, says: "refused"},
	{name: "fork", both: true, script: `f() { f | f & }; f; sleep 0.2; echo still`, limits: Limits{Processes: 60}, says: "?"},
	{name: "fork_and_flee", both: true, script: `python3 -c '
import os
for i in range(500):
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                while True: pass
            os._exit(0)
    except OSError: print("refused"); break'`, limits: Limits{Processes: 60}, says: "refused"},
	{name: "threads", script: `python3 -c '
import threading, time
try:
    for i in range(500): threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
except RuntimeError: print("refused")'`, limits: Limits{Processes: 60}, says: "refused"},
	{name: "descriptors", script: `python3 -c '
import os
try:
    while True: os.dup(0)
except OSError: print("refused")'`, says: "refused"},
	{name: "big_file", script: `head -c 400M /dev/zero > big`, limits: Limits{Disk: 20 * mib}, ended: []Ended{EndedDisk, EndedItself}, says: "?"},
	{name: "disk", both: true, script: `i=0; while true; do head -c 4M /dev/zero > f$i; i=$((i+1)); [ $i -gt 100 ] && sleep 9; done`, limits: Limits{Disk: 20 * mib}, ended: []Ended{EndedDisk}},
	{name: "disk_in_home", script: `cd; i=0; while true; do head -c 4M /dev/zero > f$i; i=$((i+1)); [ $i -gt 100 ] && sleep 9; done`, limits: Limits{Disk: 20 * mib}, ended: []Ended{EndedDisk}},
	{name: "inodes", script: `python3 -c '
import itertools
for i in itertools.count(): open(str(i), "w").close()'`, limits: Limits{Files: 2000}, ended: []Ended{EndedDisk}},
	{name: "output", script: `yes`, timeout: 100 * time.Millisecond, ended: []Ended{EndedTimeout}},
	{name: "spin", script: `while :; do :; done`, timeout: 100 * time.Millisecond, ended: []Ended{EndedTimeout}},
	{name: "stop_everything", script: `kill -STOP -1; sleep 20`, timeout: 100 * time.Millisecond, ended: []Ended{EndedTimeout}},
}

func TestBombs(t *testing.T) {
	for _, groups := range []bool{true, false} {
		name := "control_groups"
		if !groups {
			name = "watchdog"
		}
		t.Run(name, func(t *testing.T) {
			g := newGround(t, Options{Only: Full, NoControlGroups: !groups})
			if groups && g.host.fence == nil {
				t.Skip("SKIPPED: no control groups here")
			}
			for _, bomb := range bombs {
				if !groups && !bomb.both {
					continue
				}
				t.Run(bomb.name, func(t *testing.T) {
					g := *g
					g.t = t
					b := g.box(Spec{Name: "bomb_" + bomb.name, Limits: bomb.limits})
					r, out := g.run(b, Cmd{Args: []string{"sh", "-c", bomb.script}, Timeout: cmp.Or(bomb.timeout, 10*time.Second), OutputCap: 10_000})
					if len(bomb.ended) > 0 && !contains(bomb.ended, r.Ended) {
						t.Errorf("ended by %s, want %v: %+v\n%s", r.Ended, bomb.ended, r, out)
					}
					if bomb.says != "" && bomb.says != "?" && !strings.Contains(out, bomb.says) {
						t.Errorf("%+v\n%s", r, out)
					}
					if strings.Contains(out, "survived") && r.OutOfMemory == 0 {
						t.Errorf("more memory than allowed was used: %+v", r)
					}
					if _, out := g.sh(b, "echo works"); out != "works\n" {
						t.Errorf("afterwards: %q", out)
					}
				})
			}
		})
	}
}

func contains(all []Ended, e Ended) bool {
	for _, a := range all {
		if a == e {
			return true
		}
	}
	return false
}

// A volatile workspace has an exact bound.
func TestVolatile(t *testing.T) {
	g := newGround(t, Options{Only: Full})
	b := g.box(Spec{Name: "volatile", Volatile: 8 * mib})
	r, out := g.sh(b, "cat file.txt; echo x > file.txt; head -c 20M /dev/zero > big || wc -c < big")
	if !strings.HasPrefix(out, "as it was\n") || strings.Contains(out, "20971520") {
		t.Errorf("%+v %q", r, out)
	}
	if dir, _ := b.Changes(); dir != "" {
		t.Errorf("changes in %s", dir)
	}
}

// A folder that its owner has closed could hold anything. Root counts it.
func TestClosedFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: to root no folder is closed")
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "upper", "closed"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "upper", "closed"), 0); err != nil {
		t.Fatal(err)
	}
	if u, err := measure(context.Background(), dir); err != nil || u.bytes < closedFolder {
		t.Errorf("%+v %v", u, err)
	}
}

// An agent that went over can remove files, but not go on adding.
func TestAllowance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := usage{rapid.Int64Range(0, 100).Draw(t, "bytes"), rapid.Int64Range(0, 100).Draw(t, "files")}
		a := newAllowance(bound)
		last := bound
		for range rapid.IntRange(0, 20).Draw(t, "counts") {
			u := usage{rapid.Int64Range(0, 300).Draw(t, "b"), rapid.Int64Range(0, 300).Draw(t, "f")}
			wrong := a.judge(u)
			within := u.bytes <= bound.bytes && u.files <= bound.files
			grew := u.bytes > max(last.bytes, bound.bytes) || u.files > max(last.files, bound.files)
			if within && wrong != "" {
				t.Fatalf("%v is within %v: %s", u, bound, wrong)
			}
			if grew != (wrong != "") {
				t.Fatalf("%v after %v with %v: %q", u, last, bound, wrong)
			}
			last = u
		}
		if a.judge(usage{bytes: closedFolder}) == "" {
			t.Fatal("a closed folder passes")
		}
	})
}

// While it is counted, an agent swaps a folder for a link to the machine's.
func TestMeasureFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	outside := t.TempDir()
	for i := range 50 {
		if err := os.WriteFile(filepath.Join(outside, itoa(i)), make([]byte, 1<<16), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	swap, link := filepath.Join(dir, "upper", "swap"), filepath.Join(dir, "link")
	if err := os.MkdirAll(swap, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Rename(swap, filepath.Join(dir, "away"))
				_ = os.Rename(link, swap)
				_ = os.Rename(swap, link)
				_ = os.Rename(filepath.Join(dir, "away"), swap)
			}
		}
	}()
	for range 500 {
		u, err := measure(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if u.bytes > 1<<16 {
			t.Fatalf("%d bytes were counted: the link was followed", u.bytes)
		}
	}
	close(stop)
	<-stopped
}

// A Makefile that writes to the person's home and sends something off.
func TestMakefile(t *testing.T) {
	g := newGround(t, Options{})
	home, address := filepath.Join(g.dir, "home-of-person"), g.listen("tcp", "127.0.0.1:0")
	if err := os.Mkdir(home, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o777); err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	lower := g.snapshot("makefile")
	g.write(filepath.Join(lower, "Makefile"), fmt.Sprintf(`all:
	@-echo planted > $(HOME)/planted
	@-mkdir -p %[1]s && echo planted > %[1]s/planted
	@-python3 -c 'import socket; socket.create_connection(("%[2]s", %[3]s), 2); print("SENT")'
	@echo built
`, home, host, port))
	b := g.box(Spec{Name: "makefile", Lower: lower})
	r, out := g.run(b, Cmd{Args: []string{"make"}})
	if r.Code != 0 || !strings.HasSuffix(out, "built\n") || strings.Contains(out, "SENT") {
		t.Errorf("%+v\n%s", r, out)
	}
	if all, err := os.ReadDir(home); err != nil || len(all) > 0 {
		t.Errorf("the home of the person holds %v %v", all, err)
	}
}

// The agent's own socket is the one thing that answers.
func TestOwnSocket(t *testing.T) {
	g := newGround(t, Options{})
	path := filepath.Join(g.dir, "own.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("you are agent 7\n"))
			_ = c.Close()
		}
	}()
	b := g.box(Spec{Name: "socket", Socket: path})
	_, out := g.run(b, Cmd{Args: []string{"python3", "-c", `
import os, socket
if "DURE_SOCKET" in os.environ:
    s = socket.socket(socket.AF_UNIX); s.connect(os.environ["DURE_SOCKET"])
    print(s.recv(100).decode(), end="")
else:
    print(os.read(int(os.environ["DURE_SOCKET_FD"]), 100).decode(), end="")
`}})
	if out != "you are agent 7\n" {
		t.Errorf("%q", out)
	}
}
