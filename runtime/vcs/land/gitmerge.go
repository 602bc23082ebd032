package land

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"dure/runtime/vcs/object"
)

// ErrGit: git's own merge failed, or its answer cannot be right.
var ErrGit = errors.New("git's merge failed")

// gitMerger is a `git merge-tree --stdin` that is asked one merge after the other.
// What it writes goes to a scratch folder, never into the repository, and is
// hashed again before it is used. It belongs to one goroutine at a time.
type gitMerger struct {
	repo, program string
	timeout       time.Duration
	scratch       string
	cmd           *exec.Cmd
	in            io.WriteCloser
	out           *bufio.Reader
	tail          bool // the end of an earlier answer is still to come
	merges        int  // since the scratch folder was new
}

// mostMerges are done before the scratch folder is emptied.
const mostMerges = 500

func newGitMerger(repo, program string, timeout time.Duration) (*gitMerger, error) {
	repo, err := filepath.Abs(repo)
	if err != nil {
		return nil, err
	}
	if program, err = exec.LookPath(program); err != nil {
		return nil, fmt.Errorf("git is needed for renames and for its clients: install it, or name it: %w", err)
	}
	return &gitMerger{repo: repo, program: program, timeout: timeout}, nil
}

// merge asks for the merge of two commits that are published. A process that died
// is started once more.
func (g *gitMerger) merge(ctx context.Context, ours, theirs object.ID) (*gitAnswer, error) {
	if g.merges >= mostMerges {
		g.close()
	}
	for try := 0; ; try++ {
		a, err := g.ask(ctx, ours, theirs)
		if err == nil {
			g.merges++
			return a, nil
		}
		g.end()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if try > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, fmt.Errorf("%w: %s with %s: %w", ErrGit, ours.Short(), theirs.Short(), err)
		}
	}
}

func (g *gitMerger) ask(ctx context.Context, ours, theirs object.ID) (*gitAnswer, error) {
	if g.cmd == nil {
		if err := g.start(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, g.timeout, os.ErrDeadlineExceeded)
	defer cancel()
	process := g.cmd.Process
	unwatch := context.AfterFunc(ctx, func() { _ = process.Kill() }) // reading then ends
	defer unwatch()
	a, err := g.exchange(ours, theirs)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return a, err
}

// exchange asks twice: git flushes an answer but for its last byte, and that comes
// with the answer to the next question. So a second question follows whose answer
// is known, the merge of a commit with itself; the last byte of that stays behind.
func (g *gitMerger) exchange(ours, theirs object.ID) (*gitAnswer, error) {
	if _, err := fmt.Fprintf(g.in, "%v %v\n%v %v\n", ours, theirs, ours, ours); err != nil {
		return nil, err
	}
	if g.tail {
		if b, err := g.out.ReadByte(); err != nil || b != 0 {
			return nil, fmt.Errorf("its answer ends in %q: %w", b, err)
		}
	}
	a, err := readAnswer(g.out)
	if err != nil {
		return nil, err
	}
	known, err := readHead(g.out)
	if err != nil {
		return nil, err
	}
	if !known.clean || len(known.files) > 0 {
		return nil, errors.New("it finds conflicts between a commit and itself")
	}
	g.tail = true
	return a, nil
}

func (g *gitMerger) start() error {
	if g.scratch == "" {
		dir, err := os.MkdirTemp("", "dure-merge-")
		if err != nil {
			return err
		}
		g.scratch = dir
	}
	cmd := exec.Command(g.program, "--git-dir="+g.repo, "-c", "gc.auto=0", "merge-tree", "--write-tree", "--messages", "--stdin")
	cmd.Dir = g.scratch
	cmd.Env = []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "LC_ALL=C", "HOME=" + g.scratch,
		"GIT_OBJECT_DIRECTORY=" + g.scratch,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(g.repo, "objects"),
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	g.cmd, g.in, g.out, g.tail = cmd, in, bufio.NewReader(out), false
	return nil
}

// end stops the process.
func (g *gitMerger) end() {
	if g.cmd == nil {
		return
	}
	g.in.Close()
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait() // killed: the status says no more
	g.cmd = nil
}

// close stops the process and removes what it wrote.
func (g *gitMerger) close() {
	g.end()
	if g.scratch != "" {
		os.RemoveAll(g.scratch)
		g.scratch = ""
	}
	g.merges = 0
}

// object reads what git wrote for a merge, and checks that it is what its name says.
func (g *gitMerger) object(id object.ID, want object.Type) ([]byte, error) {
	name := id.String()
	f, err := os.Open(filepath.Join(g.scratch, name[:2], name[2:]))
	if err != nil {
		return nil, fmt.Errorf("%w: it wrote no object %s: %w", ErrGit, id.Short(), err)
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%w: object %s: %w", ErrGit, id.Short(), err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("%w: object %s: %w", ErrGit, id.Short(), err)
	}
	_, data, _ := bytes.Cut(all, []byte{0})
	if object.Hash(want, data) != id {
		return nil, fmt.Errorf("%w: object %s is not what its name says", ErrGit, id.Short())
	}
	return data, nil
}
