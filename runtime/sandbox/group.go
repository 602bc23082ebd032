package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// group is a box's place.
type group struct {
	fence *fence
	dirs  map[string]string
}

// make makes the group of a box with its limits. A nil fence makes a nil group, which
// does nothing.
func (f *fence) make(name string, l Limits) (*group, error) {
	if f == nil {
		return nil, nil
	}
	g := &group{f, map[string]string{}}
	for _, c := range controllers {
		dir := filepath.Join(f.roots[c], name)
		err := os.Mkdir(dir, 0o755)
		if err != nil && (f.version == 1 || !errors.Is(err, fs.ErrExist)) {
			return nil, errors.Join(fmt.Errorf("make a control group: %w", err), g.remove())
		}
		g.dirs[c] = dir
	}
	if err := f.bound(g.dirs, l); err != nil {
		return nil, errors.Join(err, g.remove())
	}
	return g, nil
}

// bound writes limits; what is 0 stays unbounded.
func (f *fence) bound(dirs map[string]string, l Limits) error {
	const period = 100_000 // microseconds
	quota := strconv.Itoa(int(l.CPU * period))
	set := map[bool][]struct{ controller, file, value string }{
		true: {
			{"memory", "memory.max", positive(l.Memory)}, {"memory", "memory.swap.max", zeroIf(l.Memory)},
			{"pids", "pids.max", positive(int64(l.Processes))}, {"cpu", "cpu.max", when(l.CPU > 0, quota+" "+strconv.Itoa(period))},
		},
		false: {
			{"memory", "memory.limit_in_bytes", positive(l.Memory)}, {"pids", "pids.max", positive(int64(l.Processes))},
			{"cpu", "cpu.cfs_period_us", when(l.CPU > 0, strconv.Itoa(period))}, {"cpu", "cpu.cfs_quota_us", when(l.CPU > 0, quota)},
		},
	}[f.version == 2]
	for _, s := range set {
		if s.value == "" {
			continue
		}
		err := os.WriteFile(filepath.Join(dirs[s.controller], s.file), []byte(s.value), 0o644)
		if errors.Is(err, fs.ErrNotExist) && s.file == "memory.swap.max" {
			continue // a kernel without swap accounting
		}
		if err != nil {
			return fmt.Errorf("bound a control group: %w", err)
		}
	}
	return nil
}

func positive(n int64) string { return when(n > 0, strconv.FormatInt(n, 10)) }

func zeroIf(n int64) string { return when(n > 0, "0") }

func when(ok bool, s string) string {
	if ok {
		return s
	}
	return ""
}

// start starts a command in the group, with all that it will start. To move a process
// that runs already, the kernel waits until no program of the machine is between two
// steps of starting another: milliseconds, which every start would wait for.
func (g *group) start(cmd *exec.Cmd) error {
	switch {
	case g == nil:
		return cmd.Start()
	case g.fence.version == 2:
		return g.startInto(cmd)
	}
	done := make(chan error)
	go func() { done <- g.startFrom(cmd) }()
	return <-done
}

// startInto names the group to the kernel, which version 2 alone can do.
func (g *group) startInto(cmd *exec.Cmd) error {
	dir, err := os.Open(g.dirs["memory"])
	if err != nil {
		return fmt.Errorf("open a control group: %w", err)
	}
	defer dir.Close()
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
	return cmd.Start()
}

// startFrom starts the command from a thread that stands in the group, and needs a
// goroutine of its own: a thread that cannot go back ends with it.
func (g *group) startFrom(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	err := enter(g.dirs)
	if err == nil {
		err = cmd.Start()
	}
	if enter(g.fence.home) == nil {
		runtime.UnlockOSThread()
	}
	return err
}

// enter puts the calling thread into a group of version 1.
func enter(dirs map[string]string) error {
	for _, c := range controllers {
		if err := os.WriteFile(filepath.Join(dirs[c], "tasks"), []byte("0"), 0o644); err != nil {
			return fmt.Errorf("enter a control group: %w", err)
		}
	}
	return nil
}

// outOfMemory is how many processes the kernel has ended for want of memory.
func (g *group) outOfMemory() int {
	if g == nil {
		return 0
	}
	file := "memory.oom_control"
	if g.fence.version == 2 {
		file = "memory.events"
	}
	data, err := os.ReadFile(filepath.Join(g.dirs["memory"], file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(rest))
			if err == nil {
				return n
			}
		}
	}
	return 0
}

// remove removes the group. The kernel may count its last process for a moment after
// it was reaped.
func (g *group) remove() error {
	if g == nil {
		return nil
	}
	return removeAll(g.dirs)
}

func (f *fence) close() error {
	if f == nil {
		return nil
	}
	return removeAll(f.roots)
}

func removeAll(dirs map[string]string) error {
	var all error
	for _, dir := range dirs {
		err := os.Remove(dir)
		for try := 0; errors.Is(err, syscall.EBUSY) && try < 100; try++ {
			time.Sleep(10 * time.Millisecond)
			err = os.Remove(dir)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, fmt.Errorf("remove a control group: %w", err))
		}
	}
	return all
}
