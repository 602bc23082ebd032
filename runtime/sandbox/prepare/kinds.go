package prepare

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"dure/runtime/sandbox"
)

// fillGo downloads modules. Go would keep one cache for all repositories; here each
// go.sum has its own, so that a box sees what its repository names and no more.
func fillGo(ctx context.Context, f *filler) error {
	err := f.once(func(dir string) error {
		// The client may write to a copy of go.mod and go.sum, not to the repository's.
		scratch, err := os.MkdirTemp("", "dure-prepare-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(scratch)
		if err := f.take(scratch, "go.mod", "go.sum"); err != nil {
			return err
		}
		return f.run(ctx, f.repo, []string{"GOMODCACHE=" + dir, "GOFLAGS=-modcacherw", "GOWORK=off"}, "go", "mod", "download", "-modfile="+filepath.Join(scratch, "go.mod"))
	})
	if err != nil {
		return err
	}
	f.mount("GOMODCACHE="+f.dir, "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOFLAGS=-buildvcs=false")
	return nil
}

// fillNpm installs what the lock file names. A program of Node looks for packages in
// node_modules of every folder above its own, so that they are found at the root, and
// the workspace stays as it is.
func fillNpm(ctx context.Context, f *filler) error {
	err := f.once(func(dir string) error {
		if err := f.take(dir, "package.json", "package-lock.json", ".npmrc"); err != nil {
			return err
		}
		if err := f.run(ctx, dir, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
			return err
		}
		return os.MkdirAll(filepath.Join(dir, "node_modules"), 0o755) // there may be nothing to install
	})
	if err != nil {
		return err
	}
	modules := filepath.Join(f.dir, "node_modules")
	f.result.Mounts = append(f.result.Mounts, sandbox.Mount{From: modules, Inside: "/node_modules"})
	f.result.Env = append(f.result.Env, "npm_config_offline=true", "npm_config_update_notifier=false")
	return nil
}

// fillPip installs wheels into a folder that Python searches.
func fillPip(ctx context.Context, f *filler) error {
	err := f.once(func(dir string) error {
		return f.run(ctx, f.repo, nil, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile",
			"--only-binary", ":all:", "--target", dir, "-r", "requirements.txt")
	})
	if err != nil {
		return err
	}
	f.mount("PYTHONPATH="+f.dir, "PIP_NO_INDEX=1", "PYTHONDONTWRITEBYTECODE=1")
	return nil
}

// fillCargo unpacks what the lock file names, as folders that cargo takes instead of
// its registry.
func fillCargo(ctx context.Context, f *filler) error {
	err := f.once(func(dir string) error {
		vendor := filepath.Join(dir, "vendor")
		if err := f.run(ctx, f.repo, nil, "cargo", "vendor", "--locked", "--quiet", "--manifest-path", filepath.Join(f.repo, "Cargo.toml"), vendor); err != nil {
			return err
		}
		if err := os.MkdirAll(vendor, 0o755); err != nil { // there may be nothing to unpack
			return err
		}
		settings := fmt.Sprintf("[source.crates-io]\nreplace-with = \"vendored\"\n[source.vendored]\ndirectory = %q\n[net]\noffline = true\n", filepath.Join(f.dir, "vendor"))
		return os.WriteFile(filepath.Join(dir, "config.toml"), []byte(settings), 0o644)
	})
	if err != nil {
		return err
	}
	f.mount("CARGO_HOME="+f.dir, "CARGO_NET_OFFLINE=true")
	return nil
}
