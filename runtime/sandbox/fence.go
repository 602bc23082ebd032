package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// fence is a place in the kernel's control groups under which every box gets a group
// of its own. Version 2 is one tree, version 1 a tree for each controller.
type fence struct {
	version int
	roots   map[string]string // controller -> folder of this program; in version 2 all the same
}

// controllers are those that boxes need, in the order in which they are joined.
var controllers = []string{"memory", "pids", "cpu"}

// openFence looks for control groups that this program may use: version 2, then 1.
// Without any, the watchdog does what it can, and the report says so.
func (h *Host) openFence() error {
	h.report.Limits = "process limits and a watchdog"
	if h.opt.NoControlGroups {
		return nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("look for control groups: %w", err)
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return fmt.Errorf("look for control groups: %w", err)
	}
	where := findGroups(string(mounts), string(groups))
	var tried []string
	for _, version := range []int{2, 1} {
		f, err := openGroups(version, where)
		if err == nil {
			err = f.bound(f.roots, Limits{Memory: h.opt.Memory, Processes: h.opt.Processes})
			if err != nil {
				err = errors.Join(err, f.close())
			}
		}
		if err == nil {
			h.fence = f
			h.report.Limits = fmt.Sprintf("control groups v%d", version)
			return nil
		}
		tried = append(tried, fmt.Sprintf("v%d: %v", version, err))
	}
	h.report.Warnings = append(h.report.Warnings, "no control groups can be used: "+strings.Join(tried, "; "))
	return nil
}

// groupsAt says where this program stands: for version 2 under the key "", for
// version 1 under the controller's name.
type groupsAt map[string]string

// findGroups reads /proc/self/mountinfo and /proc/self/cgroup.
func findGroups(mountinfo, cgroup string) groupsAt {
	own := map[string]string{}
	for line := range strings.Lines(cgroup) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for name := range strings.SplitSeq(parts[1], ",") {
			own[name] = parts[2]
		}
	}
	at := groupsAt{}
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		root, point := left[3], left[4]
		place := func(name string) (string, bool) {
			path, ok := own[name]
			// In a container the tree may be mounted from the program's own group.
			inside, below := strings.CutPrefix(path, strings.TrimSuffix(root, "/"))
			return filepath.Join(point, inside), ok && below
		}
		switch right[0] {
		case "cgroup2":
			if dir, ok := place(""); ok {
				at[""] = dir
			}
		case "cgroup":
			for option := range strings.SplitSeq(right[2], ",") {
				if dir, ok := place(option); ok {
					at[option] = dir
				}
			}
		}
	}
	return at
}

// openGroups makes a group for this program's boxes.
func openGroups(version int, at groupsAt) (*fence, error) {
	f := &fence{version: version, roots: map[string]string{}}
	name := fmt.Sprintf("%s%d-%d", groupPrefix, os.Getpid(), fences.Add(1))
	for _, c := range controllers {
		key := c
		if version == 2 {
			key = ""
		}
		dir, ok := at[key]
		if !ok {
			return nil, errors.Join(fmt.Errorf("no controller %s", c), f.close())
		}
		if version == 2 {
			if err := delegate(dir, c); err != nil {
				return nil, err
			}
		}
		clearGroups(dir)
		f.roots[c] = filepath.Join(dir, name)
		if err := os.Mkdir(f.roots[c], 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			delete(f.roots, c)
			return nil, errors.Join(err, f.close())
		}
		if version == 2 {
			if err := delegate(f.roots[c], c); err != nil {
				return nil, errors.Join(err, f.close())
			}
		}
	}
	return f, nil
}

// groupPrefix, the number of the process and a count name the group of a program's
// boxes.
const groupPrefix = "dure-boxes-"

// fences counts, so that one program can have several.
var fences atomic.Int64

// clearGroups removes the empty groups of programs that died without removing them.
// What cannot be removed is in use.
func clearGroups(dir string) {
	left, err := filepath.Glob(filepath.Join(dir, groupPrefix+"*"))
	if err != nil {
		return
	}
	for _, group := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(group), groupPrefix), "-")
		if _, err := os.Stat("/proc/" + pid); err == nil || pid == "" {
			continue
		}
		boxes, err := filepath.Glob(filepath.Join(group, "*", "cgroup.procs"))
		if err != nil {
			continue
		}
		for _, box := range boxes {
			_ = os.Remove(filepath.Dir(box))
		}
		_ = os.Remove(group)
	}
}

// delegate hands a controller on to the groups below, in version 2.
func delegate(dir, controller string) error {
	have, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	if !strings.Contains(" "+strings.TrimSpace(string(have))+" ", " "+controller+" ") {
		return fmt.Errorf("%s has no controller %s", dir, controller)
	}
	err = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
	if errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("%w: processes stand in %s; start dure in a scope of its own: systemd-run --user --scope -p Delegate=yes dure ...", err, dir)
	}
	return err
}

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

// add puts a process into the group, with all that it will start.
func (g *group) add(pid int) error {
	if g == nil {
		return nil
	}
	done := map[string]bool{}
	for _, c := range controllers {
		if dir := g.dirs[c]; !done[dir] {
			done[dir] = true
			if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
				return fmt.Errorf("enter a control group: %w", err)
			}
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
