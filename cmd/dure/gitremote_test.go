package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dure/runtime/vcs"
	"dure/runtime/vcs/bench"
	"dure/runtime/vcs/bridge"
	"dure/runtime/vcs/git"
	"dure/runtime/vcs/transport"
)

// Under its other name the program is what git runs for dure::/git.
func TestGitRemote(t *testing.T) {
	dir, err := os.MkdirTemp("", "dure") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	repo, base, err := bench.Seed(t.Context(), filepath.Join(dir, "r.git"), 3, vcs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := repo.Close(); err != nil {
			t.Error(err)
		}
	})
	program, err := git.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.StripPrefix("/git", transport.New(repo, program, transport.Options{}).Handler(vcs.Actor{}))}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, bridge.Name)); err != nil {
		t.Fatal(err)
	}
	list := func(socket string) string {
		cmd := exec.Command("git", "ls-remote", "dure::/git")
		cmd.Env = append(os.Environ(), envBeDure+"=1", "PATH="+dir+":"+os.Getenv("PATH"), "DURE_SOCKET="+socket)
		out, _ := cmd.CombinedOutput() // what it says tells whether it worked
		return string(out)
	}
	if got := list(socket); !strings.Contains(got, base.String()+"\trefs/heads/main\n") {
		t.Errorf("git ls-remote: %s", got)
	}
	if got := list(""); !strings.Contains(got, bridge.Name+": DURE_SOCKET is not set") {
		t.Errorf("without a socket: %s", got)
	}
}
