package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// find is the folder of the server's programs. Where they are missing, and this is
// root on Debian, it installs them.
func find() (string, error) {
	bin, err := look()
	if err == nil {
		return bin, nil
	}
	apt, missing := exec.LookPath("apt-get")
	switch {
	case missing != nil:
		return "", errors.Join(err, errors.New("there is no apt-get to install it with"))
	case os.Getuid() != 0:
		return "", errors.Join(err, errors.New("only root can install it: apt-get install postgresql"))
	}
	if err := install(apt); err != nil {
		return "", err
	}
	return look()
}

// look is where the newest server is. Debian keeps its programs out of PATH.
func look() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
		return filepath.Dir(found[0]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("initdb is neither in /usr/lib/postgresql/*/bin nor in PATH")
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

func version(path string) int {
	var v int
	if _, err := fmt.Sscanf(path, "/usr/lib/postgresql/%d/", &v); err != nil {
		return 0
	}
	return v
}

// install installs the server, but no cluster that would run from then on.
func install(apt string) error {
	const dir = "/etc/postgresql-common/createcluster.d"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("install PostgreSQL: %w", err)
	}
	if err := os.WriteFile(dir+"/no-main-cluster.conf", []byte("create_main_cluster = false\n"), 0o644); err != nil {
		return fmt.Errorf("install PostgreSQL: %w", err)
	}
	for _, args := range [][]string{{"update", "-qq"}, {"install", "-y", "-qq", "--no-install-recommends", "postgresql"}} {
		cmd := exec.Command(apt, args...)
		cmd.Env = append(cmd.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("install PostgreSQL: apt-get %v: %w\n%s", args, err, out)
		}
	}
	return nil
}
