package cell

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// weigh adds up what all commands hold in memory, and ends them when it is too much.
// It sees what is mapped and what lies in /tmp and /dev/shm; memory that only a
// descriptor holds it does not see.
func (s *server) weigh() error {
	if len(s.jobs) == 0 {
		return nil
	}
	table := make(chan int64)
	go func() { table <- s.held() }() // as with parents
	sum := <-table
	if sum <= s.watch {
		return nil
	}
	s.endAll()
	return s.line.send(Notice{OverMemory: &OverMemory{Bytes: sum}})
}

// held is what all commands hold.
func (s *server) held() (sum int64) {
	parents, self := s.readParents(), unix.Getpid()
	for pid := range parents {
		if pid == self {
			continue
		}
		if _, ours := ancestor(parents, pid, self); ours || s.mode == Full {
			sum += resident(string(s.readProc(strconv.Itoa(pid) + "/status")))
		}
	}
	for _, fd := range s.scratch {
		var st unix.Statfs_t
		if unix.Fstatfs(fd, &st) == nil {
			sum += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return sum
}

// resident is the memory of a process's own, from its status: what it does not share
// with files. The content of /tmp that it has mapped is counted there.
func resident(status string) (sum int64) {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			if fields := strings.Fields(rest); len(fields) == 2 {
				n, err := strconv.ParseInt(fields[0], 10, 64)
				if err == nil {
					sum += n << 10
				}
			}
		}
	}
	return sum
}
