// Package prepare fills caches of dependencies for a repository, so that its tests run
// in a sandbox, which has no network. It owns what is fetched for Go, npm, pip and
// cargo, and how a sandbox finds it: mounts and environment. It owns no sandbox.
//
// It is the one step with a network, and a person's: it runs the package clients of
// the machine, as that person, with their configuration, and no code of any package
// (npm's scripts are off, pip takes wheels only). Repositories whose packages must be
// built while they are installed cannot be prepared, and the client's error says so.
//
// It is called by cmd, before agents start; Result is then part of every box's Spec.
package prepare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"dure/runtime/sandbox"
)

// Result is what a sandbox needs to use the caches.
type Result struct {
	Mounts []sandbox.Mount
	Env    []string
	// Done says, a line each, what was fetched; Skipped what was found and left out,
	// and why.
	Done, Skipped []string
}

// Options of Fill.
type Options struct {
	// Cache is a folder that stays; what is there already is not fetched again.
	Cache string
	// Env is the environment of the package clients.
	Env []string
	// Output gets what the clients say.
	Output io.Writer
}

// ErrNothing says that a repository names no dependencies that this package knows.
var ErrNothing = errors.New("no go.mod, package-lock.json, requirements.txt or Cargo.lock at the top of the repository")

// kind is one sort of dependencies.
type kind struct {
	name  string
	files []string // that name the dependencies; the first must be there
	tool  string
	fill  func(context.Context, *filler) error
	// lock is the command that makes the first file of the second.
	lock string
}

var kinds = []kind{
	{"Go", []string{"go.mod", "go.sum"}, "go", fillGo, ""},
	{"npm", []string{"package-lock.json", "package.json"}, "npm", fillNpm, "npm install --package-lock-only"},
	{"pip", []string{"requirements.txt"}, "python3", fillPip, ""},
	{"cargo", []string{"Cargo.lock", "Cargo.toml"}, "cargo", fillCargo, "cargo generate-lockfile"},
}

// filler fills one cache.
type filler struct {
	opt    Options
	repo   string
	dir    string // of the cache
	result *Result
}

// Fill fetches what the repository's top folder names. An error leaves the caches
// usable: whatever is incomplete is fetched again next time.
func Fill(ctx context.Context, repo string, opt Options) (Result, error) {
	var r Result
	for _, p := range []string{repo, opt.Cache} {
		if !filepath.IsAbs(p) {
			return r, fmt.Errorf("prepare: %q is no absolute path", p)
		}
	}
	if info, err := os.Stat(repo); err != nil {
		return r, fmt.Errorf("prepare: %w", err)
	} else if !info.IsDir() {
		return r, fmt.Errorf("prepare %s: not a folder", repo)
	}
	found := false
	for _, k := range kinds {
		if _, err := os.Stat(filepath.Join(repo, k.files[0])); err != nil {
			if k.lock != "" {
				if _, err := os.Stat(filepath.Join(repo, k.files[1])); err == nil {
					r.Skipped = append(r.Skipped, fmt.Sprintf("%s: there is %s but no %s, which says what exactly: %s", k.name, k.files[1], k.files[0], k.lock))
				}
			}
			continue
		}
		found = true
		if _, err := exec.LookPath(k.tool); err != nil {
			r.Skipped = append(r.Skipped, fmt.Sprintf("%s: %s names dependencies, but there is no %s on this machine", k.name, k.files[0], k.tool))
			continue
		}
		key, err := fingerprint(repo, k.files)
		if err != nil {
			return r, err
		}
		f := &filler{opt, repo, filepath.Join(opt.Cache, strings.ToLower(k.name), key), &r}
		if err := k.fill(ctx, f); err != nil {
			return r, fmt.Errorf("prepare %s: %w", k.name, err)
		}
		r.Done = append(r.Done, fmt.Sprintf("%s: what %s names, in %s", k.name, k.files[0], f.dir))
	}
	switch {
	case !found && len(r.Skipped) > 0:
		return r, fmt.Errorf("prepare %s: %w; %s", repo, ErrNothing, strings.Join(r.Skipped, "; "))
	case !found:
		return r, fmt.Errorf("prepare %s: %w", repo, ErrNothing)
	}
	return r, nil
}

// fingerprint names a cache by what it was filled for.
func fingerprint(repo string, files []string) (string, error) {
	h := sha256.New()
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(repo, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("prepare: %w", err)
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(data), data)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// once fills a folder that appears whole or not at all: it is filled under another name
// first.
func (f *filler) once(fill func(dir string) error) error {
	if _, err := os.Stat(f.dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.dir), 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(f.dir), "part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part) // what was moved is not there any more
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	if err := fill(part); err != nil {
		return err
	}
	return os.Rename(part, f.dir)
}

// run runs a package client.
func (f *filler) run(ctx context.Context, dir string, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(append([]string{}, f.opt.Env...), env...)
	cmd.Stdout, cmd.Stderr = f.opt.Output, f.opt.Output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// mount shows the filled folder at the same path inside, so that one environment
// serves every rung.
func (f *filler) mount(env ...string) {
	f.result.Mounts = append(f.result.Mounts, sandbox.Mount{From: f.dir})
	f.result.Env = append(f.result.Env, env...)
}

// take copies files of the repository to where a client may write beside them.
func (f *filler) take(to string, names ...string) error {
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(f.repo, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
