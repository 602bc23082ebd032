package cell

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A process belongs to the job whose first process it descends from. One that lost
// its parent descends from none, and is ended when any job ends. While other jobs
// run, processes are found by looking, and one that forks faster than it is looked
// for is a runaway: then all jobs end, for which one call to the kernel is enough.

// looks bounds how often the table is read before a runaway is taken for one.
const looks = 50

// everyone reports whether all processes that this one may signal are of the sandbox.
func (s *server) everyone() bool { return s.mode == Full || s.ownUser }

// endAll ends every process but this one.
func (s *server) endAll() {
	if s.everyone() {
		_ = unix.Kill(-1, unix.SIGKILL) // there may be none
		return
	}
	for range looks {
		if s.kill(nil) == 0 {
			return
		}
	}
}

// end ends a job: its first process and all that descend from it, and with them
// everything that descends from none.
func (s *server) end(pid int) {
	if len(s.jobs) == 1 {
		s.endAll()
		return
	}
	for range looks {
		if s.kill(func(leader int) bool { return leader != pid }) == 0 {
			return
		}
	}
	s.endAll()
}

// sweep ends what descends from no job.
func (s *server) sweep() (strays int, runaway bool) {
	if len(s.jobs) == 0 && s.everyone() {
		// Counting is not worth a look at the table.
		if err := unix.Kill(-1, unix.SIGKILL); err == nil {
			strays = 1
		}
		return strays, false
	}
	for range looks {
		n := s.kill(func(int) bool { return true })
		if n == 0 {
			return strays, false
		}
		strays += n
	}
	return strays, true
}

// kill kills once all processes but those that descend from a job that is kept, and
// says how many it killed.
func (s *server) kill(keep func(leader int) bool) (n int) {
	parents := s.parents()
	self := unix.Getpid()
	var doomed []int
	for pid := range parents {
		if pid == self {
			continue
		}
		leader, ours := ancestor(parents, pid, self)
		if !ours && s.mode != Full {
			continue // another process of the machine
		}
		if ours && keep != nil && s.jobs[leader] != nil && keep(leader) {
			continue
		}
		doomed = append(doomed, pid)
	}
	slices.Sort(doomed)
	for _, pid := range doomed {
		if unix.Kill(pid, unix.SIGKILL) == nil {
			n++
		}
	}
	return n
}

// ancestor is the child of root that a process descends from, or is.
func ancestor(parents map[int]int, pid, root int) (int, bool) {
	for range len(parents) {
		parent, ok := parents[pid]
		if !ok {
			return 0, false
		}
		if parent == root {
			return pid, true
		}
		pid = parent
	}
	return 0, false
}

// parents is the table of living processes, without those that only wait to be
// reaped. Another thread reads it: this one may open no more than its commands may.
func (s *server) parents() map[int]int {
	table := make(chan map[int]int)
	go func() { table <- s.readParents() }()
	return <-table
}

func (s *server) readParents() map[int]int {
	all := map[int]int{}
	for _, pid := range s.pids() {
		stat := s.readProc(strconv.Itoa(pid) + "/stat")
		// The name may hold anything, also brackets: what follows begins at the last.
		_, rest, ok := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
		fields := strings.Fields(rest)
		if !ok || len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			all[pid] = parent
		}
	}
	return all
}

func (s *server) pids() []int {
	dir, err := unix.Openat(s.proc, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(dir)
	var pids []int
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(dir, buf)
		if err != nil || n <= 0 {
			return pids
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if pid, err := strconv.Atoi(name); err == nil {
				pids = append(pids, pid)
			}
		}
	}
}

func (s *server) readProc(name string) []byte {
	fd, err := unix.Openat(s.proc, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	buf := make([]byte, 8<<10)
	n, err := unix.Read(fd, buf)
	if err != nil || n < 0 {
		return nil
	}
	return buf[:n]
}
