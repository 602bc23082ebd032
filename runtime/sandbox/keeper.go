package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"dure/runtime/sandbox/cell"
)

// keeper is the state of a living box and the goroutine that owns it. Its inbox is
// Box.calls, what the helper says, and counts of the disk.
type keeper struct {
	host   *Host
	spec   Spec
	plan   cell.Plan
	uid    int
	group  *group
	helper *exec.Cmd
	line   line
	jobs   map[int]*running
	last   int // number of the last job
	held   allowance
	counts chan counted
	count  *time.Timer // nil while none is due
}

// running is a command that was asked for.
type running struct {
	started chan error  // gets one value
	exited  chan finish // gets one value, if it started
	why     Ended       // set when this package ends it
	kills   int         // processes the kernel had ended for want of memory before
}

type finish struct {
	exited cell.Exited
	why    Ended
	kills  int
	err    error
}

type (
	startCall struct {
		start cell.Start
		files []*os.File
		job   *running
	}
	killCall struct {
		job *running
		why Ended
	}
	signalCall struct {
		job    *running
		signal syscall.Signal
	}
	closeCall struct{ reply chan error }
	lostCall  struct{ err error }
	counted   struct {
		usage usage
		free  int64
		took  time.Duration
		err   error
	}
)

// keep is the goroutine.
func (k *keeper) keep(b *Box) {
	notices := make(chan any)
	stop := make(chan struct{})
	go k.listen(notices, stop)
	ctx, cancel := context.WithCancel(context.Background())
	k.counts = make(chan counted, 1)
	err, reply := k.loop(ctx, b.calls, notices)
	cancel()
	close(stop)
	for _, j := range k.jobs {
		j.started <- err // has room; nobody reads it twice
		j.exited <- finish{err: err}
	}
	err = k.giveBack()
	close(b.done)
	if reply != nil {
		reply <- err
	} else if err != nil {
		k.host.opt.Log.Warn("sandbox left something behind", "sandbox", k.spec.Name, "error", err)
	}
}

// loop works until the box is closed or lost.
func (k *keeper) loop(ctx context.Context, calls <-chan any, notices <-chan any) (error, chan error) {
	for {
		var due <-chan time.Time
		if k.count != nil {
			due = k.count.C
		}
		select {
		case c := <-calls:
			if c, ok := c.(closeCall); ok {
				return ErrClosed, c.reply
			}
			k.call(c)
		case n := <-notices:
			if l, ok := n.(lostCall); ok {
				k.host.opt.Log.Warn("sandbox is gone", "sandbox", k.spec.Name, "error", l.err)
				return fmt.Errorf("sandbox %s: %w: %w", k.spec.Name, ErrLost, l.err), nil
			}
			k.notice(n.(cell.Notice))
		case <-due:
			k.count = nil
			go countDisk(ctx, k.spec.Dir, k.counts)
		case c := <-k.counts:
			k.judge(c)
		}
	}
}

func (k *keeper) listen(out chan<- any, stop <-chan struct{}) {
	buf := make([]byte, cell.MaxMessage/8) // notices are short
	for {
		var m any
		n, err := k.line.receive(buf)
		if m = n; err != nil {
			m = lostCall{err}
		}
		select {
		case out <- m:
		case <-stop:
			return
		}
		if err != nil {
			return
		}
	}
}

func (k *keeper) call(c any) {
	switch c := c.(type) {
	case startCall:
		k.last++
		c.start.Job = k.last
		c.job.kills = k.group.outOfMemory()
		if err := k.line.send(cell.Order{Start: &c.start}, c.files...); err != nil {
			c.job.started <- err
			return
		}
		k.jobs[k.last] = c.job
		k.countLater(0)
	case killCall:
		k.end(c.job, c.why)
	case signalCall:
		for number, j := range k.jobs {
			if j == c.job {
				k.tell(cell.Order{Signal: &cell.Signal{Job: number, Number: int(c.signal)}})
			}
		}
	}
}

// end ends a job for a reason, if it still runs.
func (k *keeper) end(job *running, why Ended) {
	for number, j := range k.jobs {
		if j == job && j.why == "" {
			j.why = why
			k.tell(cell.Order{Kill: number})
		}
	}
}

func (k *keeper) endAll(why Ended) {
	for _, j := range k.jobs {
		k.end(j, why)
	}
}

// tell is for orders without an answer: if the helper is gone, its end is on the way.
func (k *keeper) tell(o cell.Order) {
	if err := k.line.send(o); err != nil {
		k.host.opt.Log.Debug("sandbox does not listen", "sandbox", k.spec.Name, "error", err)
	}
}

func (k *keeper) notice(n cell.Notice) {
	switch {
	case n.Started != nil:
		j := k.jobs[n.Started.Job]
		if n.Started.Error == "" {
			j.started <- nil
			return
		}
		delete(k.jobs, n.Started.Job)
		err := errors.New(n.Started.Error)
		if n.Started.Errno == int(syscall.ENOENT) {
			err = fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		j.started <- err
	case n.Exited != nil:
		j := k.jobs[n.Exited.Job]
		delete(k.jobs, n.Exited.Job)
		j.exited <- finish{exited: *n.Exited, why: j.why, kills: k.group.outOfMemory() - j.kills}
	case n.OverMemory != nil:
		for _, j := range k.jobs {
			if j.why == "" {
				j.why = EndedMemory // the helper has killed them
			}
		}
	}
}

// countLater counts the disk some time after, unless that is due already.
func (k *keeper) countLater(took time.Duration) {
	if k.count == nil && k.spec.Volatile == 0 {
		k.count = time.NewTimer(pause(took))
	}
}

func countDisk(ctx context.Context, dir string, out chan<- counted) {
	begin := time.Now()
	u, err := measure(ctx, dir)
	c := counted{usage: u, took: time.Since(begin), err: err}
	if err == nil {
		c.free, c.err = diskFree(dir)
	}
	out <- c // has room: only one counts at a time
}

func (k *keeper) judge(c counted) {
	if c.err != nil {
		// Not to know is not to allow.
		k.host.opt.Log.Warn("disk of a sandbox cannot be counted", "sandbox", k.spec.Name, "error", c.err)
		k.endAll(EndedDisk)
		return
	}
	wrong := k.held.judge(c.usage)
	if wrong == "" && c.free < k.host.opt.DiskFloor {
		wrong = fmt.Sprintf("only %d bytes are free on the disk of the machine", c.free)
	}
	if wrong != "" {
		k.host.opt.Log.Warn("sandbox ended its commands", "sandbox", k.spec.Name, "why", wrong)
		k.endAll(EndedDisk)
	}
	if len(k.jobs) > 0 {
		k.countLater(c.took)
	}
}
