package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func (s Shape) git(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.Git, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=bench@bench.invalid", "GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=bench@bench.invalid")
	return cmd
}

func (s Shape) run(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := s.git(ctx, dir, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	return strings.TrimSpace(string(out)), nil
}

// judge has git check the folder strictly, clone it, and count commits.
func judge(ctx context.Context, s Shape, dir string, res *Result) error {
	begin := time.Now()
	out, err := s.run(ctx, dir, "fsck", "--strict", "--full", "--no-dangling", "--no-progress")
	if err != nil {
		return err
	}
	if out != "" {
		return fmt.Errorf("git fsck: %s", out)
	}
	res.Fsck = time.Since(begin)
	begin = time.Now()
	clone := dir + "-clone"
	if _, err := s.run(ctx, s.Dir, "clone", "--quiet", "--bare", dir, clone); err != nil {
		return err
	}
	res.Clone = time.Since(begin)
	count, err := s.run(ctx, clone, "rev-list", "--all", "--count")
	if err != nil {
		return err
	}
	if res.CommitsInside, err = strconv.ParseInt(count, 10, 64); err != nil {
		return err
	}
	if res.CommitsInside != res.Commits+1 {
		return fmt.Errorf("the clone has %d commits, %d were acknowledged", res.CommitsInside, res.Commits+1)
	}
	return nil
}

// GitCommit is how many commits a second `git commit` as a process each makes, in a
// checkout of a tree of so many files, with its objects flushed as ours are.
func GitCommit(ctx context.Context, s Shape) (rate float64, err error) {
	dir := filepath.Join(s.Dir, "git-commit")
	if _, err := s.run(ctx, s.Dir, "init", "-q", "-b", "main", dir); err != nil {
		return 0, err
	}
	for i := range s.Files {
		if err := writeFile(filepath.Join(dir, Path(i, s.Files)), Content(i, 0)); err != nil {
			return 0, err
		}
	}
	for _, args := range [][]string{{"config", "core.fsync", "committed"}, {"add", "."}, {"commit", "-q", "-m", "begin"}} {
		if _, err := s.run(ctx, dir, args...); err != nil {
			return 0, err
		}
	}
	n, begin := 0, time.Now()
	for time.Since(begin) < s.For {
		n++
		i := rand.IntN(s.Files)
		if err := writeFile(filepath.Join(dir, Path(i, s.Files)), Content(i, n)); err != nil {
			return 0, err
		}
		if _, err := s.run(ctx, dir, "commit", "-q", "-a", "-m", "change one file"); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// FastImport is how many commits a second one `git fast-import` takes, of the same
// form: one file each, over as many branches as there are writers. It flushes once,
// at its end.
func FastImport(ctx context.Context, s Shape, commits int) (rate float64, err error) {
	dir := filepath.Join(s.Dir, "fast-import.git")
	if _, err := s.run(ctx, s.Dir, "init", "-q", "--bare", dir); err != nil {
		return 0, err
	}
	var stream bytes.Buffer
	writeStream(&stream, s, commits)
	cmd := s.git(ctx, dir, "fast-import", "--quiet")
	cmd.Stdin = &stream
	begin := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("git fast-import: %w: %s", err, out)
	}
	return float64(commits) / time.Since(begin).Seconds(), nil
}

func writeStream(to io.Writer, s Shape, commits int) {
	w := bufio.NewWriter(to)
	file := func(i, version int) {
		data := Content(i, version)
		fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", Path(i, s.Files), len(data), data)
	}
	head := func(branch string, n int) {
		fmt.Fprintf(w, "commit %s\ncommitter bench <bench@bench.invalid> %d +0000\ndata 16\nchange one file\n\n", branch, 1_700_000_000+n)
	}
	head("refs/heads/main", 0)
	for i := range s.Files {
		file(i, 0)
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for n := 1; n <= commits; n++ {
		branch := fmt.Sprintf("refs/heads/agent/agent-%d", n%s.Writers)
		head(branch, n)
		if n <= s.Writers {
			fmt.Fprintf(w, "from refs/heads/main\n")
		}
		file(rnd.IntN(s.Files), n)
	}
	_ = w.Flush() // into memory
}
