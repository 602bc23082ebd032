package fetch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

var ctx = context.Background()

func TestFetchWithNPM(t *testing.T) {
	archive := writeFile(t, filepath.Join(t.TempDir(), "a"), []byte("the archive"))
	tools(t, npmServes(archive))
	var last Progress
	home := t.TempDir()
	f := &Fetcher{Home: home, Progress: func(p Progress) { last = p }}
	path, err := f.Fetch(ctx, demo(archive))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "the archive" || filepath.Dir(path) != f.Downloads() {
		t.Errorf("%s holds %q", path, got)
	}
	if last.Done != last.Total || last.Total != int64(len("the archive")) {
		t.Errorf("last progress is %+v", last)
	}
	if left := leftovers(t, home, "tmp"); len(left) > 0 {
		t.Errorf("left in tmp: %v", left)
	}
	tools(t, nil) // the second time needs no client
	if again, err := f.Fetch(ctx, demo(archive)); err != nil || again != path {
		t.Errorf("second Fetch = %s, %v", again, err)
	}
	f.Forget(demo(archive))
	if f.Have(demo(archive)) {
		t.Error("still there after Forget")
	}
}

// pip is looked for as python3 -m pip, then pip3, then pip.
func TestFetchWithPip(t *testing.T) {
	const serve = `case "$*" in *--version) exit 0;; esac
while [ $# -gt 1 ]; do [ "$1" = --dest ] && dest=$2; shift; done
[ "$1" = demo==0.1 ] || exit 9
[ "$TMPDIR" = "$dest" ] || exit 8
printf wheel > "$dest/demo-0.1-py3-none-any.whl"`
	const broken = `echo "No module named pip" >&2; exit 1`
	a := Artifact{Client: PIP, Package: "demo", Version: "0.1", File: "demo-0.1-py3-none-any.whl", Bytes: 5, Hash: sha256Of([]byte("wheel"))}
	for name, scripts := range map[string]map[string]string{
		"python3":     {"python3": `[ "$1 $2" = "-m pip" ] || exit 7; shift 2; ` + serve},
		"pip3":        {"python3": broken, "pip3": serve},
		"pip":         {"python3": broken, "pip": serve},
		"pip, no py3": {"pip": serve},
	} {
		t.Run(name, func(t *testing.T) {
			tools(t, scripts)
			if _, err := (&Fetcher{Home: t.TempDir()}).Fetch(ctx, a); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		tools(t, map[string]string{"python3": broken})
		_, err := (&Fetcher{Home: "/nowhere/home"}).Fetch(ctx, a)
		if err == nil {
			t.Fatal("fetched into a folder that cannot exist")
		}
		home := t.TempDir()
		_, err = (&Fetcher{Home: home}).Fetch(ctx, a)
		e := as[*ToolError](t, err)
		if e.Tool != "pip" || !strings.Contains(e.Error(), "copy demo-0.1-py3-none-any.whl to "+home+"/downloads") {
			t.Errorf("error is %q", e)
		}
	})
}

func TestMissingNPM(t *testing.T) {
	archive := writeFile(t, filepath.Join(t.TempDir(), "a"), []byte("x"))
	tools(t, nil)
	home := t.TempDir()
	_, err := (&Fetcher{Home: home}).Fetch(ctx, demo(archive))
	e := as[*ToolError](t, err)
	if e.Tool != "npm" || !strings.Contains(e.Fix, "npm pack @demo/one@1.2.3") || !strings.Contains(e.Fix, home) {
		t.Errorf("error is %q", e)
	}
}

func TestClientFails(t *testing.T) {
	archive := writeFile(t, filepath.Join(t.TempDir(), "a"), []byte("x"))
	for _, c := range []struct {
		name, script string
		want         Failure
		says         string
	}{
		{"no network", `echo "npm error code EAI_AGAIN" >&2; exit 1`, FailureNetwork, "check the network"},
		{"refused", `echo "npm error connect ECONNREFUSED 127.0.0.1:9"; exit 1`, FailureNetwork, "proxy"},
		{"pip without network", `echo "NewConnectionError ... No matching distribution found for demo"; exit 1`, FailureNetwork, "offline?"},
		{"unknown version", `echo "npm error code ETARGET"; exit 1`, FailureNotFound, "does not have this package"},
		{"something else", `echo "npm error Cannot read properties of undefined"; exit 3`, FailureOther, "exit status 3"},
		{"silent", `exit 1`, FailureOther, "printed nothing"},
		{"killed", `kill -9 $$`, FailureOther, "signal: killed"},
		{"another file", `echo data > "$4/demo-one-9.9.9.tgz"`, FailureOther, "no file demo-one-1.2.3.tgz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools(t, map[string]string{"npm": c.script})
			home := t.TempDir()
			_, err := (&Fetcher{Home: home}).Fetch(ctx, demo(archive))
			e := as[*ClientError](t, err)
			if e.Failure != c.want {
				t.Errorf("failure is %s, want %s", e.Failure, c.want)
			}
			if msg := err.Error(); !strings.Contains(msg, c.says) || !strings.Contains(msg, "copy demo-one-1.2.3.tgz to "+home+"/downloads") {
				t.Errorf("error is %q, want %q in it", msg, c.says)
			}
			if left := slices.Concat(leftovers(t, home, "tmp"), leftovers(t, home, "downloads")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestLongOutputIsCutVisibly(t *testing.T) {
	archive := writeFile(t, filepath.Join(t.TempDir(), "a"), []byte("x"))
	tools(t, map[string]string{"npm": `yes line | head -n 100000; echo the end; exit 1`})
	_, err := (&Fetcher{Home: t.TempDir()}).Fetch(ctx, demo(archive))
	if msg := err.Error(); len(msg) > 3*tailBytes || !strings.Contains(msg, "the end") || !strings.Contains(msg, "[the last 8192 bytes]") {
		t.Errorf("error has %d bytes", len(msg))
	}
}

func TestClientDiskFull(t *testing.T) {
	archive := writeFile(t, filepath.Join(t.TempDir(), "a"), []byte("x"))
	for _, says := range []string{"npm error code ENOSPC", "OSError: [Errno 28] No space left on device"} {
		tools(t, map[string]string{"npm": "echo '" + says + "'; exit 1"})
		home := t.TempDir()
		_, err := (&Fetcher{Home: home}).Fetch(ctx, demo(archive))
		e := as[*DiskFullError](t, err)
		if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(e.Path, home) || e.Free == 0 || e.Need != 2 || !strings.Contains(err.Error(), says) {
			t.Errorf("error is %+v", e)
		}
	}
}

func TestNoRoomIsSeenBefore(t *testing.T) {
	archive := writeFile(t, filepath.Join(t.TempDir(), "a"), []byte("x"))
	tools(t, map[string]string{"npm": "echo must not run; exit 1"})
	a := demo(archive)
	a.Bytes = 1 << 60
	_, err := (&Fetcher{Home: t.TempDir()}).Fetch(ctx, a)
	e := as[*DiskFullError](t, err)
	if e.Need != 1<<61 || e.Err != nil || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error is %+v", e)
	}
}

func TestWrongBytes(t *testing.T) {
	dir := t.TempDir()
	right := writeFile(t, filepath.Join(dir, "right"), []byte("the right archive"))
	wrong := writeFile(t, filepath.Join(dir, "wrong"), []byte("the wrong archive"))
	tools(t, npmServes(wrong))
	home := t.TempDir()
	_, err := (&Fetcher{Home: home}).Fetch(ctx, demo(right))
	e := as[*HashError](t, err)
	if e.Want != demo(right).Hash.String() || e.Got != demo(wrong).Hash.String() {
		t.Errorf("error is %+v", e)
	}
	if left := slices.Concat(leftovers(t, home, "tmp"), leftovers(t, home, "downloads")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCorruptArchiveIsReplaced(t *testing.T) {
	archive := writeFile(t, filepath.Join(t.TempDir(), "a"), []byte("the archive"))
	for name, bad := range map[string]string{"cut": "the arch", "flipped": "the Archive", "empty": ""} {
		t.Run(name, func(t *testing.T) {
			tools(t, npmServes(archive))
			var log logs
			f := &Fetcher{Home: t.TempDir(), Log: log.logger()}
			path := writeFile(t, filepath.Join(f.Downloads(), demo(archive).File), []byte(bad))
			if _, err := f.Fetch(ctx, demo(archive)); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(path); string(got) != "the archive" {
				t.Errorf("archive is %q", got)
			}
			if !log.contains("discarding a corrupt archive") || !log.contains(path) {
				t.Error("nobody was told")
			}
		})
	}
}

// A hanging client dies with the context, and so does what it started.
func TestCancelKillsTheGroup(t *testing.T) {
	archive := writeFile(t, filepath.Join(t.TempDir(), "a"), []byte("x"))
	alive := fifo(t)
	tools(t, map[string]string{"npm": `exec 3> '` + alive + `'; echo up >&3; sleep 600 & wait`})
	home := t.TempDir()
	ctx, cancel := context.WithCancelCause(ctx)
	failed := make(chan error)
	go func() {
		_, err := (&Fetcher{Home: home}).Fetch(ctx, demo(archive))
		failed <- err
	}()
	pipe, err := os.Open(alive)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	in := bufio.NewReader(pipe)
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	if err := <-failed; !errors.Is(err, interrupted) {
		t.Errorf("Fetch failed with %v", err)
	}
	// The pipe ends when the last process that holds it is gone: the sleep too.
	if _, err := io.Copy(io.Discard, in); err != nil {
		t.Error(err)
	}
	if left := leftovers(t, home, "tmp"); len(left) > 0 {
		t.Errorf("left in tmp: %v", left)
	}
}
