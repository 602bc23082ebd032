package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
)

// fence is a place in the kernel's control groups under which every box gets a group
// of its own. Version 2 is one tree, version 1 a tree for each controller.
type fence struct {
	version int
	roots   map[string]string // controller -> folder of this program's boxes; in version 2 all the same
	home    map[string]string // controller -> folder that this program stands in
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
	f := &fence{version: version, roots: map[string]string{}, home: map[string]string{}}
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
		f.home[c], f.roots[c] = dir, filepath.Join(dir, name)
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
