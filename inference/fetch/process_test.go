package fetch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dure/inference/fetch/fetchtest"

	"golang.org/x/sys/unix"
)

// kill -9 in the middle: the client dies with its parent, the work in tmp stays
// behind, and the next attempt removes it and succeeds.
func TestKilledInTheMiddle(t *testing.T) {
	archive := writeFile(t, filepath.Join(t.TempDir(), "a"), []byte("the archive"))
	alive, home := fifo(t), t.TempDir()
	tools(t, map[string]string{"npm": `exec 3> '` + alive + `'; echo half > "$4/half"; echo up >&3; exec sleep 600`})
	cmd := child(t, "fetch", home, archive)
	fetchtest.KillAt(t, cmd, alive)
	if left := leftovers(t, home, "tmp"); len(left) != 1 {
		t.Fatalf("tmp holds %v, want what was left", left)
	}
	tools(t, npmServes(archive))
	var log logs
	if _, err := (&Fetcher{Home: home, Log: log.logger()}).Fetch(ctx, demo(archive)); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, home, "tmp"); len(left) > 0 || !log.contains("removing unfinished work") {
		t.Errorf("left in tmp: %v", left)
	}
}

// Two processes want the same archive: one fetches, the other waits and uses it.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	archive := writeFile(t, filepath.Join(dir, "a"), []byte("the archive"))
	calls := filepath.Join(dir, "calls")
	scripts := npmServes(archive)
	scripts["npm"] = "echo call >> '" + calls + "'\n" + scripts["npm"]
	tools(t, scripts)
	home := t.TempDir()
	var cmds []*exec.Cmd
	for range 4 {
		cmd := child(t, "fetch", home, archive)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if got, _ := os.ReadFile(calls); string(got) != "call\n" {
		t.Errorf("npm was called %d times, want 1", strings.Count(string(got), "call"))
	}
}

// Real ENOSPC: a child with its own file system of 256 KiB.
func TestSmallDisk(t *testing.T) {
	data := make([]byte, 512<<10)
	archive := packTgz(t, member{name: "big", data: data})
	runOnSmallDisk(t, child(t, "small-disk", t.TempDir(), archive))
}

// The same for a download.
func TestSmallDiskDownload(t *testing.T) {
	runOnSmallDisk(t, child(t, "small-download", t.TempDir(), ""))
}

func runOnSmallDisk(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || strings.Contains(string(out), noMount) {
		t.Skipf("SKIPPED: no small file system can be mounted here: %v %s", err, out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

const noMount = "mount not permitted"

func onSmallDisk(f *Fetcher, archive string) error {
	if err := unix.Mount("tmpfs", f.Home, "tmpfs", 0, "size=256k"); err != nil {
		return fmt.Errorf("%s: %w", noMount, err)
	}
	stage, err := f.Stage("demo")
	if err != nil {
		return err
	}
	_, err = Unpack(ctx, archive, stage.Dir, Unpacking{Select: func(n string) string { return n }, Limit: 1 << 20})
	var full *DiskFullError
	if !errors.As(err, &full) || full.Free > 256<<10 || full.Need != 1<<20 || !strings.HasPrefix(full.Path, f.Home) {
		return fmt.Errorf("Unpack on a full disk: %w", err)
	}
	if err := stage.Discard(); err != nil {
		return err
	}
	// With the room back, work goes on.
	stage, err = f.Stage("demo")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(stage.Dir, "f"), make([]byte, 128<<10), 0o644); err != nil {
		return err
	}
	if err := stage.Publish("f", filepath.Join(f.Home, "f")); err != nil {
		return err
	}
	err = CheckSpace(f.Home, 200<<10)
	if !errors.As(err, &full) {
		return fmt.Errorf("CheckSpace on a nearly full disk: %w", err)
	}
	return nil
}

// onSmallDiskDownload: what cannot fit is refused before the first byte; the room
// of what fits is taken at once, so that a disk that fills up meanwhile does not
// matter; and a disk that is full from the start is said.
func onSmallDiskDownload(f *Fetcher) error {
	if err := unix.Mount("tmpfs", f.Home, "tmpfs", 0, "size=256k"); err != nil {
		return fmt.Errorf("%s: %w", noMount, err)
	}
	large := &hub{data: randomBytes(512 << 10), etag: `"one"`}
	large.Server = httptest.NewServer(large)
	defer large.Close()
	f.Web = Web{Segment: 16 << 10, Connections: 2}
	var full *DiskFullError
	if _, err := pull(f, large.link()); !errors.As(err, &full) || full.Need != 512<<10 || len(large.asked) != 1 {
		return fmt.Errorf("too large: %w after %v", err, large.asked)
	}
	h := &hub{data: randomBytes(100 << 10), etag: `"one"`}
	filler := filepath.Join(f.Home, "filler")
	h.over = func(n int, _ http.ResponseWriter, _ *http.Request) bool {
		if n == 2 { // ends with an error, which is what it is for
			_ = os.WriteFile(filler, make([]byte, 256<<10), 0o644)
		}
		return false
	}
	h.Server = httptest.NewServer(h)
	defer h.Close()
	l := h.link()
	_, err := pull(f, l) // only the small notes beside it can fail to be written
	if err != nil && !errors.As(err, &full) {
		return fmt.Errorf("filled up meanwhile: %w", err)
	}
	if err := os.Remove(filler); err != nil {
		return err
	}
	path, err := pull(f, l)
	if err != nil {
		return fmt.Errorf("with the room back: %w", err)
	}
	return l.Hash.Verify(ctx, path)
}

// kill -9 in the middle of a download: what was noted is not fetched again.
func TestKilledDownload(t *testing.T) {
	data := randomBytes(1 << 20)
	h := newHub(t, data)
	h.mu.Lock() // another process asks: nothing else orders this before its requests
	h.over = func(n int, _ http.ResponseWriter, r *http.Request) bool {
		if n > 10 {
			<-r.Context().Done() // the process hangs here until it is killed
		}
		return n > 10
	}
	h.mu.Unlock()
	home := t.TempDir()
	cmd := downloadChild(t, home, h.link())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(home, "downloads", "m.gguf.part.json")
	var noted part
	for deadline := time.Now().Add(time.Minute); noted.done() < 8*64<<10; {
		if time.Now().After(deadline) {
			t.Fatalf("only %d bytes were noted", noted.done())
		}
		noted, _ = readPart(state, strings.TrimSuffix(state, ".json"))
		time.Sleep(5 * time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	h.mu.Lock()
	h.over, h.served = nil, 0
	h.mu.Unlock()
	f := &Fetcher{Home: home, Web: Web{Segment: 10 << 10}} // the file's segments count, not ours
	if got := f.Missing(h.link(), 1<<20); got >= 1<<20 {
		t.Errorf("room is %d", got)
	}
	path, err := pull(f, h.link())
	if err != nil {
		t.Fatal(err)
	}
	if wantFile(t, path, data); h.bytes() != int64(len(data))-noted.done()+1 {
		t.Errorf("served %d bytes after %d of %d were there", h.bytes(), noted.done(), len(data))
	}
}

func downloadChild(t *testing.T, home string, l Link) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(Link{File: l.File, URL: l.URL, Bytes: l.Bytes, Token: strings.TrimPrefix(l.Hash.String(), "sha256:")})
	if err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "download", home, string(text))
	cmd.Stderr = os.Stderr
	return cmd
}

// Processes that want the same file: one fetches, the others use it.
func TestDownloadProcesses(t *testing.T) {
	h := newHub(t, randomBytes(500<<10))
	home := t.TempDir()
	var cmds []*exec.Cmd
	for range 3 {
		cmd := downloadChild(t, home, h.link())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if h.bytes() != 500<<10+3 { // each asks for the first byte
		t.Errorf("served %d bytes", h.bytes())
	}
}
