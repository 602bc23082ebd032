package llm

import (
	"errors"
	"time"

	"dure/inference"
)

// clock is the time on the wall, in the zone of the machine.
func (l *LLM) clock() time.Time {
	if l.cfg.Clock != nil {
		return l.cfg.Clock()
	}
	return time.Now()
}

// quietRefusal refuses requests that are not served in quiet hours.
func (l *LLM) quietRefusal(p inference.Priority) error {
	now := l.clock()
	again, refused := l.cfg.Quiet.Refuses(now, p)
	if !refused {
		return nil
	}
	err := inference.Errorf(inference.CodeQueueFull, "it is quiet hours (%v): requests of priority %q are served again from %s on",
		l.cfg.Quiet.Hours, p, again.Format("15:04"))
	err.RetryAfter = again.Sub(now)
	return err
}

// keepPace gives up compute threads while other programs need the cores, and in quiet
// hours.
func (o *owner) keepPace(took time.Duration) {
	free := o.pace.observe(took, o.ctx.Waited)
	now := o.l.cfg.Quiet.ThreadsAt(o.l.clock(), free)
	before := o.threads
	if now == before {
		return
	}
	if err := errors.Join(o.ctx.SetThreads(now), o.drafter.setThreads(now), o.heads.setThreads(now)); err != nil {
		o.l.log.Error("set threads", "error", err)
		return
	}
	o.threads = now
	o.l.stats.threads.Store(int64(now))
	switch {
	case now < free:
		o.l.log.Info("quiet hours, computing with fewer threads", "threads", now)
	case now < before:
		o.l.log.Warn("other programs use the cores, computing with fewer threads", "threads", now)
	default:
		o.l.log.Info("computing with more threads again", "threads", now)
	}
}
