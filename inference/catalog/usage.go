package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"dure/inference/fetch"
)

// BudgetError says that a pull would make the home folder larger than it may be.
type BudgetError struct {
	Used, Need, Budget int64 // bytes
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%s are in use and %s more are needed, the budget is %s, %s less; see `dure rm --leftovers` and `dure list`, or raise the budget",
		amount(e.Used), amount(e.Need), amount(e.Budget), amount(e.Used+e.Need-e.Budget))
}

// amount is a size for people, in a unit in which it is not nothing.
func amount(bytes int64) string {
	n, unit := float64(bytes), ""
	for _, unit = range []string{"KiB", "MiB", "GiB"} {
		if n /= 1024; n < 1023.95 { // what would be shown as 1024.0
			break
		}
	}
	if bytes < 1024 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%.1f %s", n, unit)
}

// checkRoom compares what is needed with the disk and the budget.
func checkRoom(home string, need uint64, budget int64) error {
	if err := fetch.CheckSpace(home, need); err != nil || budget == 0 {
		return err
	}
	used, err := DiskUse(home)
	if err != nil {
		return err
	}
	if used+int64(need) > budget {
		return &BudgetError{Used: used, Need: int64(need), Budget: budget}
	}
	return nil
}

// DiskUse is what a file, or a folder with all below it, takes on the disk in
// bytes; links are not followed, and what is not there takes nothing.
func DiskUse(path string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				sum += blocks(info)
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // gone meanwhile
			return nil
		}
		return err
	})
	return sum, err
}

// Begun is what lies in downloads of a model's files: how many bytes need not be
// fetched again, and what they take on the disk, which is more, since the room
// for all of a file is taken when it is begun. Wheels are not counted: several
// models may be in one.
func Begun(f *fetch.Fetcher, model string) (fetched, disk int64, err error) {
	entries, err := names(f.Downloads())
	files := map[string]bool{}
	for _, d := range entries {
		whole, _ := fetch.PartOf(d.Name())
		if !strings.HasPrefix(whole, model+"+") {
			continue
		}
		files[whole] = true
		n, useErr := DiskUse(filepath.Join(f.Downloads(), d.Name()))
		disk, err = disk+n, errors.Join(err, useErr)
	}
	for file := range files {
		fetched += f.Fetched(file)
	}
	return fetched, disk, err
}

func blocks(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}

// Leftover is something that dure made and does not need to run.
type Leftover struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Why   string `json:"why"` // what it is, and what its loss costs
	// lock is held by whoever still works on it; empty where nobody can.
	lock string
}

// archiveRE is what dure calls the files that it puts into downloads.
var archiveRE = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._+@-]*\.(tgz|whl|gguf)$`)

// Leftovers lists unfinished and finished downloads, work that a killed process
// left, damaged files that were set aside, and folders of models that the
// catalogue no longer has. What somebody is working on just now is not among
// them.
func Leftovers(f *fetch.Fetcher, c *Catalog) ([]Leftover, error) {
	var all []Leftover
	var errs []error
	for _, look := range []func() ([]Leftover, error){
		func() ([]Leftover, error) { return downloads(f) },
		func() ([]Leftover, error) { return unfinished(f) },
		func() ([]Leftover, error) { return modelLeftovers(f, c) },
	} {
		found, err := look()
		errs = append(errs, err)
		for _, l := range found {
			unlock, free, err := f.TryLock(l.lock)
			if errs = append(errs, err); !free {
				continue
			}
			unlock()
			l.Bytes, err = DiskUse(l.Path)
			errs = append(errs, err)
			all = append(all, l)
		}
	}
	return all, errors.Join(errs...)
}

// names lists a folder; one that is not there is empty.
func names(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

func downloads(f *fetch.Fetcher) ([]Leftover, error) {
	entries, err := names(f.Downloads())
	var all []Leftover
	for _, d := range entries {
		l := Leftover{Path: filepath.Join(f.Downloads(), d.Name()), Why: "downloaded; if it is needed, it is fetched again"}
		whole, part := fetch.PartOf(d.Name())
		if part {
			l.Why = "part of a download; without it the next pull begins at the start"
		}
		if l.lock = "download-" + whole; d.Type().IsRegular() && archiveRE.MatchString(whole) {
			all = append(all, l)
		}
	}
	return all, err
}

func unfinished(f *fetch.Fetcher) ([]Leftover, error) {
	dir := filepath.Join(f.Home, "tmp")
	entries, err := names(dir)
	var all []Leftover
	for _, d := range entries {
		if lock, ok := fetch.StageLock(d.Name()); ok {
			all = append(all, Leftover{Path: filepath.Join(dir, d.Name()), Why: "work that was broken off", lock: lock})
		}
	}
	return all, err
}

func modelLeftovers(f *fetch.Fetcher, c *Catalog) ([]Leftover, error) {
	root := filepath.Join(f.Home, "models")
	models, err := names(root)
	errs := []error{err}
	var all []Leftover
	for _, m := range models {
		if !m.IsDir() || !nameRE.MatchString(m.Name()) {
			continue
		}
		_, known := c.Find(m.Name())
		made, _, err := madeIn(filepath.Join(root, m.Name()))
		errs = append(errs, err)
		for _, file := range made {
			l := Leftover{Path: file, lock: "model-" + m.Name()}
			switch {
			case strings.HasSuffix(file, damagedSuffix):
				l.Why = "was found damaged and set aside"
			case !known:
				l.Why = "of the model " + m.Name() + ", which the catalogue does not have"
			default:
				continue
			}
			all = append(all, l)
		}
	}
	return all, errors.Join(errs...)
}

// madeIn splits the files of a model's folder into those that dure wrote or
// verified, and others.
func madeIn(dir string) (made, others []string, err error) {
	entries, err := names(dir)
	there := map[string]bool{}
	for _, d := range entries {
		there[d.Name()] = true
	}
	for _, d := range entries {
		file, name := filepath.Join(dir, d.Name()), d.Name()
		ours := there[name+noteSuffix] && strings.HasSuffix(name, ".gguf")
		for _, suffix := range []string{noteSuffix, whereSuffix, damagedSuffix} {
			ours = ours || strings.HasSuffix(name, ".gguf"+suffix)
		}
		if ours && d.Type().IsRegular() {
			made = append(made, file)
		} else {
			others = append(others, file)
		}
	}
	return made, others, err
}

// Drop removes what Leftovers listed, unless somebody has begun to work on it.
func Drop(f *fetch.Fetcher, l Leftover) error {
	if l.lock == "" {
		return fmt.Errorf("remove %s: it was not listed by Leftovers", l.Path)
	}
	unlock, free, err := f.TryLock(l.lock)
	if err != nil {
		return fmt.Errorf("remove %s: %w", l.Path, err)
	}
	if !free {
		return fmt.Errorf("remove %s: another process works on it now", l.Path)
	}
	defer unlock()
	if err := os.RemoveAll(l.Path); err != nil {
		return fmt.Errorf("remove %s: %w", l.Path, err)
	}
	return nil
}
