package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dure/inference/engine/enginetest"
	"dure/inference/library"
)

const (
	testRelease = "0.0.0-test"
	testEpoch   = "1700000000"
)

// dist makes the archive for this machine, with this environment beside the
// version.
func dist(t *testing.T, env ...string) (archive string) {
	t.Helper()
	script, err := filepath.Abs("../../.ci/dist")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	cmd := exec.Command("bash", "-c", `umask "$1"; exec "$2" "$3" "$4"`, "-", "077", script, out, runtime.GOARCH)
	cmd.Env = append(os.Environ(), "VERSION="+testRelease, "SOURCE_DATE_EPOCH="+testEpoch)
	cmd.Env = append(cmd.Env, env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	check := exec.Command("sha256sum", "-c", "--strict", "SHA256SUMS")
	check.Dir = out
	if said, err := check.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return filepath.Join(out, "dure-"+testRelease+"-linux-"+runtime.GOARCH+".tar.gz")
}

// The release archive is the same twice, and serves a model where there is
// nothing but it and what was downloaded: an empty home, no PATH, no checkout.
func TestReleaseArchive(t *testing.T) {
	archive := dist(t)
	one, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	two, err := os.ReadFile(dist(t, "TZ=Asia/Seoul", "LC_ALL=C.UTF-8", "USER=somebody"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, two) {
		t.Error("two archives of the same source differ")
	}

	bare := t.TempDir()
	if said, err := exec.Command("tar", "-xzf", archive, "-C", bare).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	root := filepath.Join(bare, "dure-"+testRelease+"-linux-"+runtime.GOARCH)
	check := exec.Command("sha256sum", "-c", "--strict", "SHA256SUMS")
	check.Dir = root
	said, err := check.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, file := range []string{"dure", "models.yaml", "LICENSE", "THIRD_PARTY_LICENSES", "README.md", "docs/install.md"} {
		if !strings.Contains(string(said), file+": OK\n") {
			t.Errorf("%s is not in the archive: %s", file, said)
		}
	}
	serveFromArchive(t, root)
}

// serveFromArchive starts the unpacked program with downloaded files alone.
func serveFromArchive(t *testing.T, root string) {
	t.Helper()
	user := filepath.Join(t.TempDir(), "somebody")
	home := filepath.Join(user, ".dure")
	for _, part := range []string{"engine/cpu-" + library.LlamaVersion, "models/smollm2-135m"} {
		at := filepath.Join(home, part)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(enginetest.Home(t), part), at); err != nil {
			t.Fatal(err)
		}
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(root, "dure"), args...)
		cmd.Dir, cmd.Env = user, []string{"HOME=" + user, "PATH="}
		return cmd
	}
	out, err := command("version", "--json").Output()
	var version map[string]string
	if err := json.Unmarshal(out, &version); err != nil || version["dure"] != testRelease || version["yzma"] == "" || version["yzma"] == "unknown" {
		t.Errorf("%v: %s", err, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := startCommand(t, command("serve", "--addr", "127.0.0.1:0", "--threads", "1", "--context", "1024"))
	resp := s.post(t.Context(), chatBody("Hello!", `,"max_tokens":8`))
	if c := decode(t, resp); resp.StatusCode != http.StatusOK || len(c.Choices) != 1 || c.Choices[0].Message.Content == "" || c.Usage.Completion == 0 {
		t.Errorf("%s: %+v", resp.Status, c)
	}
	if err := s.stop(); err != nil && !strings.Contains(err.Error(), "130") {
		t.Errorf("%v: %s", err, s.errs)
	}
	if left := unlisted(t, home); len(left) != 0 {
		t.Errorf("files that no table of formats knows: %q", left)
	}
	entries, err := os.ReadDir(user)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside .dure there is %v (%v)", entries, err)
	}
}
