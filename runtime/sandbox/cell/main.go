package cell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A process that was started as the helper becomes it here, before the packages are set
// up that a helper has no use for: what a whole program sets up takes longer than a box
// takes to build, and lies in the memory of every one. So this package imports little.
func init() {
	if len(os.Args) > 1 && os.Args[1] == Arg {
		run()
	}
}

// run is the whole life of the helper. It never returns.
func run() {
	// Mounts and limits are the process's, but capabilities and Landlock domain are a
	// thread's: commands are started from the one thread that has them. It is not the
	// first one, since a signal to the process is judged by that one's domain.
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		exit(live(line{fd: Control}))
	}
	go func() {
		runtime.LockOSThread()
		exit(live(line{fd: Control}))
	}()
	select {}
}

func exit(err error) {
	if err == nil || errors.Is(err, io.EOF) {
		os.Exit(0)
	}
	_ = line{fd: Control}.send(Notice{Failed: err.Error()}) // the exit code says it too
	os.Exit(1)
}

func live(l line) error {
	unix.CloseOnExec(Control)
	if err := closeInherited(Control + 1); err != nil {
		return err
	}
	warm()
	var p Plan
	fds, err := l.receive(&p)
	if err != nil {
		return err
	}
	if p.Mode == End {
		_ = unix.Kill(-1, unix.SIGKILL) // there may be none
		return nil
	}
	s, err := build(&p, fds)
	if err != nil {
		return err
	}
	s.line = l
	if err := l.send(Notice{Ready: &Ready{Landlock: s.landlock}}); err != nil {
		return err
	}
	return s.serve()
}

// build raises all walls that the plan asks for.
func build(p *Plan, fds []int) (*server, error) {
	s := &server{mode: p.Mode, jobs: map[int]*job{}, watch: p.Limits.WatchMemory}
	err := hold(p.Mode)
	if err != nil {
		return nil, err
	}
	switch p.Mode {
	case Full:
		if err = ascend(); err != nil {
			return nil, err
		}
		if s.proc, err = detachedProc(); err != nil {
			return nil, err
		}
		if err = buildRoot(p, fds); err != nil {
			return nil, err
		}
	case Reduced, Bare:
		if s.proc, err = unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return nil, fmt.Errorf("open /proc: %w", err)
		}
		if err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("become the reaper: %w", err)
		}
		s.ownUser = p.OwnUser
	default:
		return nil, fmt.Errorf("no mode %q", p.Mode)
	}
	closeAll(fds)
	if s.scratch, err = scratches(p); err != nil {
		return nil, err
	}
	if err = limit(p.Limits); err != nil {
		return nil, err
	}
	s.landlock, err = seal(p)
	return s, err
}

// scratches are the folders in memory whose content the memory watch counts.
func scratches(p *Plan) ([]int, error) {
	if p.Mode != Full || p.Limits.WatchMemory == 0 {
		return nil, nil
	}
	var all []int
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", dir, err)
		}
		all = append(all, fd)
	}
	return all, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // some were closed where they were used
	}
}

// closeInherited keeps from commands what a careless program that started this one
// let through.
func closeInherited(from uint) error {
	if err := unix.CloseRange(from, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close inherited descriptors: %w", err)
	}
	return nil
}

// warm makes Go start the threads that this process will ever need, and keep them:
// later, commands may have taken all processes that the box may have, and a thread that
// cannot start ends the process.
func warm() {
	const threads = 4
	for range threads {
		go func() {
			nap := unix.Timespec{Nsec: 2_000_000}
			_ = unix.Nanosleep(&nap, nil) // in the kernel, so that the thread is taken; while it is, walls go up
		}()
	}
}
