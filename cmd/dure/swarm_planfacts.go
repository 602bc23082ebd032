package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"

	"dure/runtime/check"
	"dure/runtime/sandbox"
	"dure/runtime/spec"
	"dure/runtime/vcs"
	"dure/runtime/vcs/checkout"
	"dure/runtime/vcs/exchange"
	"dure/runtime/vcs/git"
	"dure/runtime/vcs/object"
)

// look finds out what the repository holds, and what the checks say there.
func (o *swarmPlan) look(ctx context.Context, text string, facts *spec.Facts, log io.Writer) error {
	if !isDir(o.run.repo) {
		return fmt.Errorf("--repo %s: there is no such folder", o.run.repo)
	}
	program, err := git.Find(ctx, "")
	if err != nil {
		return err
	}
	if facts.Repo, err = repoFacts(ctx, program, o.run.repo, o.run.branch); err != nil {
		return err
	}
	commands := spec.Commands(text)
	if o.run.check != "" {
		commands = append(commands, o.run.check)
	}
	if o.static || len(commands) == 0 {
		return nil
	}
	facts.Ran, err = o.runChecks(ctx, program, commands, log)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("run the checks: %w (--static looks at the text alone)", err)
	}
	return err
}

// maxRead bounds a file that is read for its targets and scripts.
const maxRead = 256 << 10

func repoFacts(ctx context.Context, program git.Program, dir, branch string) (*spec.Repo, error) {
	if branch == "" {
		branch = "HEAD"
	}
	top, err := program.Output(ctx, dir, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("--repo %s: it is no git repository: git init, and commit what the team begins with", dir)
	}
	list, err := program.Output(ctx, top, nil, "ls-tree", "-r", "-z", "--name-only", "--full-tree", branch)
	if err != nil {
		return nil, fmt.Errorf("--repo %s: %s has no commit: make one, so that there is something to begin at", dir, branch)
	}
	r := &spec.Repo{Files: map[string]bool{}}
	for name := range strings.SplitSeq(strings.Trim(list, "\x00"), "\x00") {
		for p := name; p != "." && p != "" && !r.Files[p]; p = path.Dir(p) {
			r.Files[p] = true
		}
	}
	r.Loose = func(p string) bool {
		_, err := os.Lstat(filepath.Join(top, filepath.FromSlash(path.Clean("/"+p))))
		return err == nil
	}
	r.Read = func(p string) (string, bool) {
		text, err := program.Output(ctx, top, nil, "cat-file", "-p", branch+":"+p)
		return text, err == nil && len(text) < maxRead
	}
	return r, nil
}

// runChecks runs commands on the repository's last commit, each in a box of its own. All of
// it lies in a folder that goes away afterwards.
func (o *swarmPlan) runChecks(ctx context.Context, program git.Program, commands []string, log io.Writer) (ran map[string]spec.Ran, err error) {
	dir, err := scratchDir("plan-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	repo, done, err := exchange.Import(ctx, program, exchange.Source{Path: o.run.repo, Branch: o.run.branch}, filepath.Join(dir, "repo.git"), vcs.Options{Log: logger, Git: program})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	host, err := sandbox.Open(ctx, sandbox.Options{Dir: dir, Unsafe: o.run.unsafe, Log: logger})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	trees, err := checkout.Open(filepath.Join(dir, "trees"), checkout.Options{Log: logger})
	if err != nil {
		return nil, err
	}
	ran = map[string]spec.Ran{}
	for i, c := range commands {
		if _, has := ran[c]; has {
			continue
		}
		fmt.Fprintf(log, "running check %d of %d: %s\n", i+1, len(commands), visible(clipped(c, 100)))
		if ran[c], err = o.runCheck(ctx, repo, trees, host, dir, c, done.Commit); err != nil {
			return nil, err
		}
	}
	return ran, nil
}

func (o *swarmPlan) runCheck(ctx context.Context, repo *vcs.Repository, trees *checkout.Cache, host *sandbox.Host, dir, command string, at object.ID) (spec.Ran, error) {
	checker, err := check.New(repo, trees, host, check.Options{Command: []string{"sh", "-c", command}, Timeout: o.run.checkTime, Dir: dir})
	if err != nil {
		return spec.Ran{}, err
	}
	r, err := checker.Check(ctx, at)
	if err != nil {
		return spec.Ran{}, err
	}
	// A shell ends with 127 where there is no such program, 126 where it cannot be started.
	missing := !r.Passed && (strings.Contains(r.Output, "ended with exit code 127") || strings.Contains(r.Output, "ended with exit code 126"))
	return spec.Ran{Passed: r.Passed, Missing: missing, Output: r.Output}, nil
}

// scratchDir makes a folder below DURE_HOME/swarm for something that is thrown away; boxes may
// run as another user, who has to pass it.
func scratchDir(name string) (string, error) {
	home, err := homeDir()
	if err != nil {
		return "", err
	}
	above := filepath.Join(home, "swarm", ".scratch")
	if err := os.MkdirAll(above, 0o711); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(above, name)
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711)
}
