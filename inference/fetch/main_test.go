package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// The test binary runs itself again where a test needs a second process: one
// to compete with, to kill, or to put on a small disk.
const (
	roleVar    = "FETCH_TEST_ROLE"
	homeVar    = "FETCH_TEST_HOME"
	archiveVar = "FETCH_TEST_ARCHIVE"
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := childMain(role, os.Getenv(homeVar), os.Getenv(archiveVar)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func childMain(role, home, archive string) error {
	f := &Fetcher{Home: home}
	switch role {
	case "fetch":
		_, err := f.Fetch(context.Background(), demo(archive))
		return err
	case "download":
		var l Link
		if err := json.Unmarshal([]byte(archive), &l); err != nil {
			return err
		}
		l.Hash = MustParseHash("sha256:" + l.Token)
		l.Token = ""
		f.Web = Web{Segment: 64 << 10, Connections: 2}
		_, err := pull(f, l)
		return err
	case "small-download":
		return onSmallDiskDownload(f)
	case "small-disk":
		return onSmallDisk(f, archive)
	}
	return fmt.Errorf("no role %q", role)
}

// child is this test binary in another role.
func child(t *testing.T, role, home, archive string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleVar+"="+role, homeVar+"="+home, archiveVar+"="+archive)
	return cmd
}

// demo is the artifact that a fake npm serves: whatever lies at archive.
func demo(archive string) Artifact {
	data, err := os.ReadFile(archive)
	if err != nil {
		panic(err)
	}
	return Artifact{Client: NPM, Package: "@demo/one", Version: "1.2.3", File: "demo-one-1.2.3.tgz",
		Bytes: int64(len(data)), Hash: sha512Of(data)}
}

// tools makes a folder of shell scripts the only PATH there is.
func tools(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, body := range scripts {
		script := "#!/bin/sh\nPATH=/usr/bin:/bin\n" + body + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

// npmServes is a fake npm that delivers the file at archive.
func npmServes(archive string) map[string]string {
	return map[string]string{"npm": `[ "$1 $2 $3" = "pack @demo/one@1.2.3 --pack-destination" ] || { echo "bad call: $*"; exit 9; }
cp '` + archive + `' "$4/demo-one-1.2.3.tgz"`}
}

func writeFile(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// fifo makes a named pipe. A script that opens it for writing and stays alive
// can be waited for: first until it runs, then until it is gone.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// logs is a logger and what it logged.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logs) contains(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), s)
}

// as is errors.As for one line in a test.
func as[T error](t *testing.T, err error) T {
	t.Helper()
	var want T
	if !errors.As(err, &want) {
		t.Fatalf("error is %T (%v), want %T in it", err, err, want)
	}
	return want
}

// leftovers are the names in a folder of home.
func leftovers(t *testing.T, home, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(home, folder))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
