package cell

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// server starts commands and sees them end. It has one goroutine, on the thread that
// is sealed; two others read the line and wait for processes, and tell it.
type server struct {
	line     line
	mode     Mode
	proc     int // a descriptor of a view of all processes
	scratch  []int
	watch    int64 // bytes of memory that all commands may hold together; 0: not watched here
	landlock int
	ownUser  bool // every process of this user is of this sandbox
	jobs     map[int]*job
}

// job is a command that was started.
type job struct{ number, pid int }

// watchEvery is how often memory is added up where no control group does it. What a
// command can take in between is said in package sandbox.
const watchEvery = 100 * time.Millisecond

type order struct {
	Order
	fds []int
	err error
}

type death struct {
	pid    int
	status syscall.WaitStatus
	usage  syscall.Rusage
}

// serve works until the line is closed, which is no error.
func (s *server) serve() error {
	orders, deaths, wake := make(chan order), make(chan death), make(chan struct{}, 1)
	go s.read(orders)
	go reap(deaths, wake)
	var tick <-chan time.Time
	if s.watch > 0 {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		var err error
		select {
		case o := <-orders:
			if o.err != nil {
				s.endAll()
				return o.err
			}
			err = s.obey(o, wake)
		case d := <-deaths:
			err = s.bury(d)
		case <-tick:
			err = s.weigh()
		}
		if err != nil {
			s.endAll()
			return err
		}
	}
}

func (s *server) read(orders chan<- order) {
	for {
		var o order
		o.fds, o.err = s.line.receive(&o.Order)
		orders <- o
		if o.err != nil {
			return
		}
	}
}

// reap waits for every process, also those that lost their parents.
func reap(deaths chan<- death, wake <-chan struct{}) {
	for {
		var d death
		var err error
		d.pid, err = syscall.Wait4(-1, &d.status, syscall.WALL, &d.usage)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.ECHILD):
			<-wake
		case err == nil:
			deaths <- d
		}
	}
}

func (s *server) obey(o order, wake chan<- struct{}) error {
	switch {
	case o.Start != nil:
		pid, err := start(o.Start, o.fds)
		closeAll(o.fds)
		reply := Reply{Job: o.Start.Job}
		if err != nil {
			reply.Error = err.Error()
			var errno syscall.Errno
			if errors.As(err, &errno) {
				reply.Errno = int(errno)
			}
		} else {
			s.jobs[pid] = &job{number: o.Start.Job, pid: pid}
			s.expendable(pid)
			select {
			case wake <- struct{}{}:
			default:
			}
		}
		return s.line.send(Notice{Started: &reply})
	case o.Kill != 0:
		for pid, j := range s.jobs {
			if j.number == o.Kill {
				s.end(pid)
			}
		}
	case o.Signal != nil:
		for pid, j := range s.jobs {
			if j.number == o.Signal.Job {
				_ = unix.Kill(-pid, syscall.Signal(o.Signal.Number)) // it may be gone: its end is told anyway
			}
		}
	}
	return nil
}

// expendable has the kernel end a command, and what it starts, before this process when
// memory is short: the box is lost with its helper. Another thread does it, since this
// one may write nothing in /proc. A command that is gone already needs nothing.
func (s *server) expendable(pid int) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fd, err := unix.Openat(s.proc, strconv.Itoa(pid)+"/oom_score_adj", unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		_, _ = unix.Write(fd, []byte("1000"))
		_ = unix.Close(fd)
	}()
	<-done
}

// start starts a command as the leader of a session without a terminal.
func start(st *Start, fds []int) (int, error) {
	if len(fds) < 3 || len(st.Args) == 0 {
		return 0, errors.New("start: no streams or no arguments")
	}
	info, err := os.Stat(st.Dir)
	if err != nil {
		return 0, fmt.Errorf("start in %s: %w", st.Dir, err)
	}
	if !info.IsDir() {
		return 0, fmt.Errorf("start in %s: %w", st.Dir, syscall.ENOTDIR)
	}
	file, err := find(st.Args[0], st.Env, st.Dir)
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", st.Args[0], err)
	}
	files := make([]uintptr, len(fds))
	for i, fd := range fds {
		files[i] = uintptr(fd)
	}
	pid, err := syscall.ForkExec(file, st.Args, &syscall.ProcAttr{Dir: st.Dir, Env: st.Env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", st.Args[0], err)
	}
	return pid, nil
}

// find looks a program up in the PATH of the command's own environment.
func find(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil // ForkExec changes to the folder first
	}
	var paths string
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			paths = v
		}
	}
	for p := range strings.SplitSeq(paths, ":") {
		if paths == "" {
			break
		}
		if !path.IsAbs(p) {
			p = path.Join(dir, p)
		}
		file := path.Join(p, name)
		info, err := os.Stat(file)
		if err == nil && info.Mode().IsRegular() && unix.Access(file, unix.X_OK) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("%w in PATH=%s", os.ErrNotExist, paths)
}

// bury tells of a job's end, after everything that it left behind was ended.
func (s *server) bury(d death) error {
	j := s.jobs[d.pid]
	if j == nil || d.status.Stopped() || d.status.Continued() {
		return nil
	}
	delete(s.jobs, d.pid)
	e := Exited{Job: j.number, Code: d.status.ExitStatus(), Memory: d.usage.Maxrss << 10,
		CPU: time.Duration(d.usage.Utime.Nano() + d.usage.Stime.Nano())}
	if d.status.Signaled() {
		e.Signal = int(d.status.Signal())
	}
	e.Strays, e.Runaway = s.sweep()
	if e.Runaway {
		s.endAll()
	}
	return s.line.send(Notice{Exited: &e})
}
