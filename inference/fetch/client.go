package fetch

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// command is how one client is called for one artifact. The caches go into the
// stage: nothing is written outside the home folder, and the growing files tell
// the progress.
func (a Artifact) command(ctx context.Context, stage, downloads string) (Process, error) {
	switch a.Client {
	case NPM:
		return a.npmCommand(stage, downloads)
	case PIP:
		return a.pipCommand(ctx, stage, downloads)
	}
	return Process{}, fmt.Errorf("fetch %s: unknown client %q", a.Package, a.Client)
}

func (a Artifact) npmCommand(stage, downloads string) (Process, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return Process{}, &ToolError{Tool: "npm", For: "fetch " + a.Spec(), Fix: "install Node.js with npm: " +
			"`sudo apt install npm` (Debian, Ubuntu), `sudo dnf install nodejs-npm` (Fedora), `sudo pacman -S npm` (Arch); or " +
			a.copyHint(downloads)}
	}
	return Process{Path: npm, Args: []string{"pack", a.Spec(), "--pack-destination", stage,
		"--cache", filepath.Join(stage, "cache"), "--ignore-scripts", "--no-update-notifier",
		"--logs-max", "0", // its log would lie in the stage, gone when the error is read
		// The default waits more than a minute before it says that there is no network.
		"--fetch-retries", "1", "--fetch-retry-mintimeout", "1000"}, Dir: stage}, nil
}

func (a Artifact) pipCommand(ctx context.Context, stage, downloads string) (Process, error) {
	pip, err := findPip(ctx)
	if err != nil {
		return Process{}, err
	}
	if pip.Path == "" {
		return Process{}, &ToolError{Tool: "pip", For: "fetch " + a.Spec(), Fix: "install pip for Python 3: " +
			"`sudo apt install python3-pip` (Debian, Ubuntu), `sudo dnf install python3-pip` (Fedora), `sudo pacman -S python-pip` (Arch); or " +
			a.copyHint(downloads)}
	}
	pip.Args = append(pip.Args, "download", "--no-deps",
		"--only-binary=:all:", // a source package would run its build script
		"--no-cache-dir", "--disable-pip-version-check", "--no-input", "--progress-bar", "off",
		"--retries", "2", "--dest", stage, a.Spec())
	pip.Dir, pip.Env = stage, []string{"TMPDIR=" + stage}
	return pip, nil
}

// findPip returns how pip is called here; an empty Path means not at all. A
// python3 without the pip module is common, so it is asked.
func findPip(ctx context.Context) (Process, error) {
	for _, candidate := range [][]string{{"python3", "-m", "pip"}, {"pip3"}, {"pip"}} {
		path, err := exec.LookPath(candidate[0])
		if err != nil {
			continue
		}
		args := candidate[1:]
		err = Run(ctx, Process{Path: path, Args: append(args[:len(args):len(args)], "--version")})
		if err == nil {
			return Process{Path: path, Args: args[:len(args):len(args)]}, nil
		}
		if ctx.Err() != nil {
			return Process{}, err
		}
	}
	return Process{}, nil
}

// copyHint is the way round a machine that cannot fetch.
func (a Artifact) copyHint(downloads string) string {
	return fmt.Sprintf("on a machine that can, run `%s` and copy %s to %s", a.Command(), a.File, downloads)
}

// clientError makes the error of a client that ran and failed.
func (a Artifact) clientError(p Process, err error, output, stage, downloads string) error {
	var start *exec.Error
	if errors.As(err, &start) {
		return fmt.Errorf("fetch %s: start %s: %w", a.Spec(), p.Path, err)
	}
	if containsAny(output, "ENOSPC", "No space left on device", "no space left on device", "EDQUOT", "Disk quota exceeded") {
		free, freeErr := Free(stage)
		return &DiskFullError{Path: stage, Free: free, Need: room(a),
			Err: errors.Join(fmt.Errorf("%s: %w: %s", p.Path, err, strings.TrimSpace(output)), freeErr)}
	}
	e := &ClientError{Command: p.String(), Status: err.Error(), Failure: classify(output), Output: output}
	switch e.Failure {
	case FailureNetwork:
		e.Fix = "check the network, the proxy settings and the registry " + string(a.Client) + " is set to; offline? " + a.copyHint(downloads)
	case FailureNotFound:
		e.Fix = "the registry that " + string(a.Client) + " is set to does not have this package and version for this machine; check that registry, or " + a.copyHint(downloads)
	default:
		e.Fix = "fix what " + string(a.Client) + " reports and try again, or " + a.copyHint(downloads)
	}
	return e
}

// classify reads a client's output. The network comes first: pip ends with "no
// matching distribution" also when it could not reach the registry.
func classify(output string) Failure {
	if containsAny(output, "ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH",
		"EHOSTUNREACH", "ERR_SOCKET_TIMEOUT", "EIDLETIMEOUT", "NewConnectionError", "ConnectTimeoutError",
		"ReadTimeoutError", "Read timed out", "ProxyError", "Max retries exceeded", "Temporary failure in name resolution",
		"Connection aborted", "Connection broken", "SSLError", "SELF_SIGNED_CERT", "UNABLE_TO_GET_ISSUER_CERT", "CERT_HAS_EXPIRED") {
		return FailureNetwork
	}
	if containsAny(output, "E404", "ETARGET", "No matching distribution found", "Could not find a version") {
		return FailureNotFound
	}
	return FailureOther
}

func containsAny(s string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}
