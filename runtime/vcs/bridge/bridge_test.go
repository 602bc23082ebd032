package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/runtime/board"
	"dure/runtime/board/door"
	"dure/runtime/sandbox"
	"dure/runtime/vcs"
	"dure/runtime/vcs/git"
	"dure/runtime/vcs/object"
	"dure/runtime/vcs/transport"
)

const mainRef = "refs/heads/main"

// house is a repository that 500 writers commit to, and the socket of agent kim.
type house struct {
	repo    *vcs.Repository
	base    object.ID
	dir     string // short, for sockets; others may pass it
	socket  string
	mu      sync.Mutex
	refused []vcs.Refusal
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := new(house)
	var err error
	if h.dir, err = os.MkdirTemp("", "bridge-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(h.dir) })
	if err := os.Chmod(h.dir, 0o711); err != nil {
		t.Fatal(err)
	}
	h.repo, err = vcs.Init(t.Context(), filepath.Join(h.dir, "r.git"), mainRef, vcs.Options{Audit: func(x vcs.Refusal) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.refused = append(h.refused, x)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.repo.Close(); err != nil {
			t.Error(err)
		}
		if out, err := exec.Command("git", "-C", h.repo.Dir(), "fsck", "--strict", "--full", "--no-dangling").CombinedOutput(); err != nil {
			t.Errorf("git fsck: %v\n%s", err, out)
		}
	})
	d, who := h.repo.Draft(), h.repo.Signature(vcs.Owner())
	tree, err := d.Splice(t.Context(), object.Zero, []vcs.Change{{Path: "words", Mode: object.ModeFile, Data: []byte("one\n")}})
	if err != nil {
		t.Fatal(err)
	}
	if h.base, err = d.PutCommit(t.Context(), object.Commit{Tree: tree, Author: who, Committer: who, Message: "begin"}); err != nil {
		t.Fatal(err)
	}
	if err := h.repo.Apply(t.Context(), vcs.Owner(), d, vcs.Move{Ref: mainRef, New: h.base}); err != nil {
		t.Fatal(err)
	}
	h.listen(t)
	return h
}

// listen answers kim, whoever connects.
func (h *house) listen(t *testing.T) {
	t.Helper()
	program, err := git.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	kim, err := vcs.Agent("kim")
	if err != nil {
		t.Fatal(err)
	}
	h.socket = filepath.Join(h.dir, "s")
	d, err := door.Open(gateway{}, door.Config{Path: h.socket, Mode: 0o666, Limits: board.DefaultLimits(),
		Git: transport.New(h.repo, program, transport.Options{}).Handler(kim)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// gateway is kim's way to a board that nobody asks for anything.
type gateway struct{ board.Gateway }

func (gateway) Agent() board.Agent { return board.Agent{Name: "kim"} }

// write has 500 agents commit until the test ends.
func (h *house) write(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() { stop(); all.Wait() })
	for w := range 500 {
		a, err := vcs.Agent(fmt.Sprintf("w%d", w))
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			q := vcs.CommitRequest{Base: h.base, Message: "m"}
			for i := 0; ctx.Err() == nil; i++ {
				q.Changes = []vcs.Change{{Path: fmt.Sprintf("d%d/f%d", w%20, i%10), Mode: object.ModeFile, Data: fmt.Appendf(nil, "%d %d", w, i)}}
				c, err := h.repo.CommitChanges(context.Background(), a, q)
				if err != nil {
					t.Error(err)
					return
				}
				q.Old, q.Base = c.Commit, object.Zero
				select { // at full speed the clones would be of hundreds of thousands of commits
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
		})
	}
}

// session is what an agent types. It ends with a line that says which push was refused.
const session = `set -e
export GIT_AUTHOR_NAME=kim GIT_AUTHOR_EMAIL=kim@agents.invalid GIT_COMMITTER_NAME=kim GIT_COMMITTER_EMAIL=kim@agents.invalid
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null http_proxy=http://127.0.0.1:1
git clone -q dure::/git clone
cd clone
git log --format='log: %an %s' origin/main
git switch -q -c work
for i in 1 2 3; do
	echo "$i" >> words
	git commit -q -a -m "line $i"
	git push -q origin work:agent/kim
	git fetch -q
	test "$(git rev-parse work)" = "$(git rev-parse origin/agent/kim)"
done
git push -f origin work:agent/w7 && echo ANOTHERS BRANCH
git push origin work:main && echo MAIN
echo done: $(git rev-parse work)
`

// check looks at what a session said and left.
func (h *house) check(t *testing.T, out string) {
	t.Helper()
	for _, want := range []string{"log: owner begin\n", "\ndone: "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if n := strings.Count(out, "an agent moves its own branch only"); n != 2 || strings.Contains(out, "ANOTHERS") || strings.Contains(out, "MAIN") {
		t.Errorf("%d pushes were refused, want 2:\n%s", n, out)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.refused) != 2 || h.refused[0].Ref != vcs.BranchOf("w7") || h.refused[1].Ref != mainRef {
		t.Errorf("the record has %v", h.refused)
	}
	if at, _ := h.repo.Ref(mainRef); at != h.base {
		t.Errorf("main is at %v", at)
	}
	at, _ := h.repo.Ref(vcs.BranchOf("kim"))
	if !strings.Contains(out, "\ndone: "+at.String()+"\n") { // what git says in between comes by another pipe
		t.Errorf("the branch is at %v:\n%s", at, out)
	}
	c, err := h.repo.Commit(t.Context(), at)
	if err != nil || c.Message != "line 3\n" || c.Author.Name != "kim" {
		t.Errorf("pushed %+v %v", c, err)
	}
}

// Plain git clones, logs and pushes through an agent's socket while 500 writers run.
func TestSessionOverTheSocket(t *testing.T) {
	h := newHouse(t)
	h.write(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(exe, filepath.Join(bin, Name)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", session)
	cmd.Dir = t.TempDir()
	cmd.Env = append(cmd.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "DURE_SOCKET="+h.socket)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	h.check(t, string(out))
}

// The same from within a box, which has no other way out.
func TestPushFromABox(t *testing.T) {
	h := newHouse(t)
	h.write(t)
	host, err := sandbox.Open(t.Context(), sandbox.Options{Dir: h.dir, Only: sandbox.Full, Log: slog.New(slog.DiscardHandler)})
	if errors.Is(err, sandbox.ErrRefused) {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	box, err := host.Start(t.Context(), sandbox.Spec{Name: "kim", Dir: filepath.Join(h.dir, "kim"), Socket: h.socket,
		Mounts: []sandbox.Mount{{From: exe, Inside: "/opt/dure/" + Name}}, Env: []string{"PATH=/opt/dure:/usr/local/bin:/usr/bin:/bin", "GORACE=" + os.Getenv("GORACE")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	var out bytes.Buffer
	r, err := box.Run(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", session}, Stdout: &out, Stderr: &out})
	if err != nil || r.Code != 0 {
		t.Errorf("%+v %v", r, err)
	}
	h.check(t, out.String())
}

// What cannot work is said so that one knows what to do.
func TestWrongCalls(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "s")
	for _, x := range []struct {
		args   []string
		socket string
		want   string
	}{
		{nil, missing, "is called by git"},
		{[]string{"origin", "git"}, missing, "as in dure::/git"},
		{[]string{"origin", "/git/../v1"}, missing, "as in dure::/git"},
		{[]string{"origin", "//host/git"}, missing, "as in dure::/git"},
		{[]string{"origin", "/git"}, "", "DURE_SOCKET is not set"},
		{[]string{"origin", "/git"}, missing, missing},
	} {
		var out bytes.Buffer
		err := Run(t.Context(), Call{Args: x.args, Socket: x.socket, Stdin: strings.NewReader("list\n\n"), Stdout: &out, Stderr: &out})
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q over %q: %v\n%s", x.args, x.socket, err, out.String())
		}
	}
}
