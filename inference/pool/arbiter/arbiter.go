package arbiter

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// ErrClosed is what an Arbiter answers after Close.
var ErrClosed = errors.New("the arbiter is closed")

// Arbiter is the parent's side. It is safe for concurrent use.
type Arbiter struct {
	log   *slog.Logger
	inbox chan func(*owner)
	ended chan struct{} // closed when nothing is taken from the inbox any more
	done  chan struct{} // closed when all goroutines have ended
}

// owner is the state of the goroutine that owns the policy.
type owner struct {
	arbiter *Arbiter
	policy  *policy
	lines   map[memberID]*line
	last    memberID
	begun   time.Time
	closing bool
	work    sync.WaitGroup // readers and writers of lines
}

// New makes an arbiter. It fails where the rules contradict each other.
func New(rules Rules, log *slog.Logger) (*Arbiter, error) {
	rules, err := rules.withDefaults()
	if err != nil {
		return nil, err
	}
	a := &Arbiter{log: log, inbox: make(chan func(*owner), 16), ended: make(chan struct{}), done: make(chan struct{})}
	o := &owner{arbiter: a, policy: newPolicy(rules), lines: map[memberID]*line{}, begun: time.Now()}
	go o.own()
	return a, nil
}

// Join adds a process that computes on devices, which are told apart by name only.
// It returns the process's end of the line, for a Turn; the caller closes its own
// copy once the process has it. The process leaves when the last copy is closed,
// so that it cannot end without leaving.
func (a *Arbiter) Join(name string, devices []string) (*os.File, error) {
	if len(devices) == 0 {
		return nil, fmt.Errorf("arbiter: %s is on no device", name)
	}
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("arbiter: make a line to %s: %w", name, err)
	}
	mine, theirs := os.NewFile(uintptr(fds[0]), "arbiter"), os.NewFile(uintptr(fds[1]), "turns")
	conn, err := net.FileConn(mine)
	err = errors.Join(err, mine.Close())
	if err == nil {
		err = a.join(name, devices, conn)
	}
	if err != nil {
		theirs.Close()
		return nil, fmt.Errorf("arbiter: join %s: %w", name, err)
	}
	return theirs, nil
}

func (a *Arbiter) join(name string, devices []string, conn net.Conn) error {
	devices = slices.Compact(slices.Sorted(slices.Values(devices)))
	joined := make(chan struct{})
	if !a.do(func(o *owner) { o.join(name, devices, conn); close(joined) }) {
		return errors.Join(ErrClosed, conn.Close())
	}
	select {
	case <-joined:
		return nil
	case <-a.ended: // or both: then the line is closed already
		return errors.Join(ErrClosed, conn.Close())
	}
}

// Stats of now; zero after Close.
func (a *Arbiter) Stats() (s Stats) {
	reply := make(chan Stats, 1)
	if !a.do(func(o *owner) { reply <- o.policy.snapshot() }) {
		return s
	}
	select {
	case s = <-reply:
	case <-a.ended:
	}
	return s
}

// Close ends all lines. Processes that still live go on without turns.
func (a *Arbiter) Close() {
	a.do(func(o *owner) { o.closing = true })
	<-a.done
}

// do has the owner do something; false if it has ended.
func (a *Arbiter) do(f func(*owner)) bool {
	select {
	case <-a.ended:
		return false
	default:
	}
	select {
	case a.inbox <- f:
		return true
	case <-a.ended:
		return false
	}
}

func (o *owner) own() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !o.closing {
		o.carryOut()
		timer.Reset(o.sleep())
		select {
		case f := <-o.arbiter.inbox:
			f(o)
		case <-timer.C:
		}
	}
	for id := range o.lines {
		o.hangUp(id)
	}
	close(o.arbiter.ended)
	o.work.Wait()
	close(o.arbiter.done)
}

func (o *owner) now() tick { return int64(time.Since(o.begun)) }

// sleep is until time alone changes something.
func (o *owner) sleep() time.Duration {
	at := o.policy.wake()
	if at == never {
		return time.Hour
	}
	return max(time.Duration(at-o.now()), 0)
}

// carryOut tells what the policy has decided.
func (o *owner) carryOut() {
	for {
		effects := o.policy.next(o.now())
		if len(effects) == 0 {
			return
		}
		for _, e := range effects {
			if l := o.lines[e.to]; l != nil {
				o.tell(l, e)
			}
		}
	}
}

var errDeaf = errors.New("it does not read what it is told")

func (o *owner) tell(l *line, e effect) {
	f := frame{serial: e.serial}
	switch e.kind {
	case share:
		f.kind, f.ns = frameShare, e.slice
	case grant:
		f.kind = frameGrant
		if e.keep {
			f.flag = 1
		}
	case recall:
		f.kind = frameRecall
	case stuck:
		o.warnStuck(l)
		return
	}
	select {
	case l.out <- f:
	default:
		o.left(e.to, errDeaf)
	}
}

// warnStuck says it once: a process whose calls are that long is passed over again
// and again.
func (o *owner) warnStuck(l *line) {
	if !l.warned {
		l.warned = true
		o.arbiter.log.Warn("a model's process does not give its device back; others go on beside it",
			"model", l.name, "after", o.policy.rules.Silent)
	}
}

func (o *owner) join(name string, devices []string, conn net.Conn) {
	o.last++
	id := o.last
	l := &line{name: name, conn: conn, out: make(chan frame, outFrames)}
	o.lines[id] = l
	o.policy.join(id, name, devices)
	o.work.Go(l.write)
	o.work.Go(func() {
		err := l.read(func(f frame) bool {
			return o.arbiter.do(func(o *owner) { o.hear(id, f) })
		})
		o.arbiter.do(func(o *owner) { o.left(id, err) })
	})
}

// hear takes a frame of a member, unless it left meanwhile.
func (o *owner) hear(id memberID, f frame) {
	l := o.lines[id]
	if l == nil {
		return
	}
	var err error
	switch now := o.now(); f.kind {
	case frameAsk:
		due := never
		if f.ns > 0 {
			due = now + f.ns
		}
		err = o.policy.wants(now, id, f.serial, Class(f.flag), due)
	case frameDone:
		err = o.policy.done(now, id, f.serial, Class(f.flag), f.ns)
	default:
		err = fmt.Errorf("%w: it sends what is for it to receive", errProtocol)
	}
	if err != nil {
		o.left(id, err)
	}
}

// left takes back what a member has whose line ended.
func (o *owner) left(id memberID, err error) {
	l := o.lines[id]
	if l == nil {
		return
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		o.arbiter.log.Warn("a model's process takes no turns any more", "model", l.name, "error", err)
	}
	o.hangUp(id)
}

func (o *owner) hangUp(id memberID) {
	l := o.lines[id]
	delete(o.lines, id)
	o.policy.leave(id)
	l.close()
	close(l.out)
}
