package fronttest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Client is a client that people really use, as a registry has it.
type Client struct {
	Kind    string // "npm" or "python"
	Package string
	Version string
}

// fetchTime is how long a registry may take to deliver a client.
const fetchTime = 3 * time.Minute

// Run runs a script of testdata with the client, which lies below home (DURE_HOME) or
// is fetched. The script fails the test unless it ends with "all good". It is told url
// and, where it is JavaScript, the folder of the package.
//
// Without the client and a way to get it the test is skipped, and says so.
func (c Client) Run(t *testing.T, home, script, url string) {
	t.Helper()
	dir := c.Fetch(t, home)
	cmd := exec.CommandContext(t.Context(), "python3", script, url)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir)
	if c.Kind == "npm" {
		cmd = exec.CommandContext(t.Context(), "node", script, url, filepath.Join(dir, "node_modules", c.Package))
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "all good") {
		t.Errorf("%s %s: %v\n%s", c.Package, c.Version, err, out)
	}
}

// Dir is the folder of the client below home.
func (c Client) Dir(home string) string {
	name := strings.ReplaceAll(strings.TrimPrefix(c.Package, "@"), "/", "-")
	return filepath.Join(home, "clients", c.Kind+"-"+name+"-"+c.Version)
}

// Fetch returns the folder with the client, below home or fetched to there. It is whole
// or not there: it is made beside its place and renamed. Where it cannot be had, the
// test is skipped, and says so.
func (c Client) Fetch(t *testing.T, home string) string {
	t.Helper()
	dir := c.Dir(home)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), "part-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(part)
	ctx, cancel := context.WithTimeout(t.Context(), fetchTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "python3", "-m", "pip", "install", "-q", "--retries", "1", "--target", part, c.Package+"=="+c.Version)
	if c.Kind == "npm" {
		cmd = exec.CommandContext(ctx, "npm", "install", "--silent", "--no-save", "--fetch-retries=1", "--prefix", part, c.Package+"@"+c.Version)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: the client %s %s is not at %s and could not be fetched: %v\n%s", c.Package, c.Version, dir, err, out)
	}
	if err := os.Rename(part, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	return dir
}
