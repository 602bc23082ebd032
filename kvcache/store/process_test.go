package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"dure/kvcache"
)

// child runs one of the children below in a process of its own.
func child(t *testing.T, name, dir string, attr *syscall.SysProcAttr) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestChild$", "-test.v", "-child="+name, "-dir="+dir)
	cmd.SysProcAttr = attr
	return cmd
}

// TestChild is no test but the other process of the tests below.
func TestChild(t *testing.T) {
	switch *childName {
	case "":
	case "writer":
		writer(t, *childDir)
	case "holder":
		begin(t, testConfig(*childDir))
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "limited":
		// The limit is the process's alone.
		limit := syscall.Rlimit{Cur: 50_000, Max: 50_000}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		full(t, *childDir)
	case "small":
		if err := syscall.Mount("tmpfs", *childDir, "tmpfs", 0, "size=256k"); err != nil {
			fmt.Println("cannot mount:", err)
			return
		}
		full(t, *childDir)
		fmt.Println("was full")
	default:
		t.Fatalf("no child %q", *childName)
	}
}

// object is what the writer makes of a number.
func object(n int) (path []kvcache.Token, from int, data []byte) {
	if n%4 == 0 {
		return tokens(20, n), 0, noise(100_000, uint64(n))
	}
	return append(tokens(20, n/4*4), tokens(n%4*3, n)...), 20, noise(30_000+n, uint64(n))
}

// writer writes and drops until it is killed, and says what was acknowledged.
// A number is said before it is dropped.
func writer(t *testing.T, dir string) {
	s, found := begin(t, testConfig(dir))
	next := 4 * (len(found) + 1000)
	for i := 0; ; i++ {
		n := next + i
		path, from, data := object(n)
		c := do(t, s, Job{Kind: Write, Object: kvcache.ObjectID(1e6 + n), Path: path, From: from, Data: data})
		if c.Err != nil {
			t.Fatal(c.Err)
		}
		fmt.Println("wrote", n)
		if n%8 == 7 {
			fmt.Println("drops", n)
			if c := do(t, s, Job{Kind: Drop, Object: kvcache.ObjectID(1e6 + n)}); c.Err != nil {
				t.Fatal(c.Err)
			}
		}
	}
}

// Killed at any moment: what was acknowledged is there, whole, and nothing else.
func TestKilledWriters(t *testing.T) {
	acknowledged := 0
	for i := range *crashes {
		dir := t.TempDir()
		cmd := child(t, "writer", dir, nil)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wrote := map[int]bool{}
		after, lines := rand.IntN(12), 0
		for scan := bufio.NewScanner(out); scan.Scan(); {
			var n int
			if _, err := fmt.Sscanf(scan.Text(), "wrote %d", &n); err == nil {
				wrote[n] = true
			} else if _, err := fmt.Sscanf(scan.Text(), "drops %d", &n); err == nil {
				delete(wrote, n) // may be there or not
			}
			if lines++; lines == after+2 {
				// Somewhere within what follows; that the moment is any is the point.
				time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait()
		if !cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
			t.Fatalf("the writer ended by itself: %v", cmd.ProcessState)
		}
		acknowledged += len(wrote)
		checkKilled(t, i, dir, wrote)
	}
	if acknowledged == 0 && *crashes > 0 {
		t.Error("no writer lived long enough to write anything")
	}
}

func checkKilled(t *testing.T, round int, dir string, wrote map[int]bool) {
	t.Helper()
	s, found := begin(t, testConfig(dir))
	if st := s.Stats(); st.Refused != [reasons]int{} {
		t.Errorf("round %d: refused %v", round, st.Refused)
	}
	for i, f := range found {
		n := int(f.Path[len(f.Path)-1]) / 1000
		path, from, data := object(n)
		if f.From != from || len(path) != len(f.Path) {
			t.Fatalf("round %d: found [%d, %d) of %d", round, f.From, len(f.Path), n)
		}
		wantRead(t, s, kvcache.ObjectID(i+1), data)
		delete(wrote, n)
	}
	if len(wrote) > 0 {
		t.Errorf("round %d: lost %v, found %d", round, wrote, len(found))
	}
	if left := files(t, dir, tmpSuffix); len(left) > 0 {
		t.Errorf("round %d: left %v", round, left)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	cmd := child(t, "holder", dir, nil)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for scan := bufio.NewScanner(out); scan.Scan() && scan.Text() != "ready"; {
	}
	_, _, err = Open(testConfig(dir))
	wantErr(t, err, ErrLocked)
	if !strings.Contains(err.Error(), fmt.Sprint(cmd.Process.Pid)) {
		t.Errorf("the error does not say who has it: %v", err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	begin(t, testConfig(dir))
}

// A process that was told to end may still be writing when the next one starts.
func TestOpenWaitsForTheFolder(t *testing.T) {
	cfg := testConfig(t.TempDir())
	first, _ := begin(t, cfg)
	ended := make(chan error, 1)
	time.AfterFunc(50*time.Millisecond, func() { ended <- first.Close() })
	cfg.Wait = time.Minute
	begin(t, cfg)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// full writes until the disk is, and proves that nothing half is left and that
// what was there before is.
func full(t *testing.T, dir string) {
	s, _ := begin(t, testConfig(dir))
	small := noise(20_000, 1)
	write(t, s, 1, tokens(3, 1), 0, small)
	c := do(t, s, Job{Kind: Write, Object: 2, Path: tokens(3, 2), Data: noise(600_000, 2)})
	wantErr(t, c.Err, ErrNoSpace)
	if left := files(t, dir, tmpSuffix); len(left) > 0 || len(files(t, dir, fileSuffix)) != 1 {
		t.Errorf("left %v", left)
	}
	if st := s.Stats(); st.Used != sizes(t, files(t, dir, fileSuffix)) || st.Objects != 1 {
		t.Errorf("%+v", st)
	}
	wantRead(t, s, 1, small)
	write(t, s, 2, tokens(3, 2), 0, small)
}

func TestFileSizeLimit(t *testing.T) {
	if out, err := child(t, "limited", t.TempDir(), nil).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestDiskFull(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: a small disk of our own needs mount namespaces")
	}
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := child(t, "small", dir, &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}).CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || bytes.Contains(out, []byte("cannot mount")) {
		t.Skipf("SKIPPED: no mount namespace here: %v %s", err, out)
	}
	if err != nil || !bytes.Contains(out, []byte("was full")) {
		t.Fatalf("%v\n%s", err, out)
	}
}
