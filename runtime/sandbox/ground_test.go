package sandbox

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// ground is a machine with sandboxes for one test.
type ground struct {
	t    *testing.T
	host *Host
	dir  string
	log  *bytes.Buffer
}

// newGround opens a rung, or skips where this machine does not have it.
func newGround(t *testing.T, opt Options) *ground {
	t.Helper()
	// Boxes of another user must be able to pass: no folder above may be closed.
	dir, err := os.MkdirTemp("", "sandbox-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	g := &ground{t: t, dir: dir, log: new(bytes.Buffer)}
	opt.Dir, opt.Log = dir, slog.New(slog.NewTextHandler(g.log, nil))
	g.host, err = Open(context.Background(), opt)
	if errors.Is(err, ErrRefused) && opt.Only != None {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.host.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// box starts a box over a snapshot with one file, unless the spec has another.
func (g *ground) box(s Spec) *Box {
	g.t.Helper()
	if s.Dir == "" {
		s.Dir = filepath.Join(g.dir, s.Name)
	}
	if s.Lower == "" {
		s.Lower = g.snapshot(s.Name)
	}
	b, err := g.host.Start(context.Background(), s)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		if err := b.Close(); err != nil {
			g.t.Error(err)
		}
	})
	return b
}

// snapshot is a folder with a file, a program and a folder.
func (g *ground) snapshot(name string) string {
	g.t.Helper()
	dir := filepath.Join(g.dir, "snapshot-"+name)
	if err := os.MkdirAll(filepath.Join(dir, "folder"), 0o755); err != nil {
		g.t.Fatal(err)
	}
	g.write(filepath.Join(dir, "file.txt"), "as it was\n")
	g.write(filepath.Join(dir, "folder", "inner.txt"), "inner\n")
	return dir
}

func (g *ground) write(path, text string) {
	g.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

// sh runs a script in a box and gives back what it wrote to both streams.
func (g *ground) sh(b *Box, script string) (Result, string) {
	g.t.Helper()
	return g.run(b, Cmd{Args: []string{"sh", "-c", script}})
}

func (g *ground) run(b *Box, c Cmd) (Result, string) {
	g.t.Helper()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	r, err := b.Run(context.Background(), c)
	if err != nil {
		g.t.Fatalf("%v\n%s", err, out.String())
	}
	return r, out.String()
}
