package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"dure/inference/fetch"
)

// progress shows how far a long step is: on a terminal one line that is drawn
// over, elsewhere a line every few seconds.
type progress struct {
	out  io.Writer
	tty  bool
	mu   sync.Mutex
	last time.Time // of the last line drawn
	step string    // step and name of the last line
	from time.Time // when that step began
	done int64     // of it when it began
	open bool      // a line on the terminal has no newline yet
}

func newProgress(out *os.File) *progress {
	return &progress{out: out, tty: term.IsTerminal(int(out.Fd()))}
}

// show draws p, at most ten times a second.
func (p *progress) show(f fetch.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	pause := 100 * time.Millisecond
	if !p.tty {
		pause = 5 * time.Second
	}
	fresh := p.step != f.Step+f.Name
	if fresh { // a step that is over at once is not worth a line
		p.newline()
		p.step, p.from, p.done, p.last = f.Step+f.Name, now, f.Done, now
		return
	}
	finished := f.Total > 0 && f.Done == f.Total
	if now.Sub(p.last) < pause && !(finished && p.open) {
		return
	}
	p.last = now
	line := fmt.Sprintf("%-8s %s  %s", f.Step, f.Name, p.amount(f, now))
	if p.tty {
		fmt.Fprintf(p.out, "\r\x1b[K%s", line)
		p.open = true
		if finished {
			p.newline()
		}
		return
	}
	fmt.Fprintln(p.out, line)
}

// amount is done, total, rate and the time left.
func (p *progress) amount(f fetch.Progress, now time.Time) string {
	unit := size
	if f.Step == "build" {
		unit = func(n int64) string { return fmt.Sprint(n) }
	}
	if f.Total == 0 {
		return unit(f.Done)
	}
	s := fmt.Sprintf("%s of %s (%d%%)", unit(f.Done), unit(f.Total), 100*f.Done/f.Total)
	seconds := now.Sub(p.from).Seconds()
	if moved := f.Done - p.done; seconds > 1 && moved > 0 && f.Done < f.Total {
		rate := float64(moved) / seconds
		if f.Step != "build" {
			s += fmt.Sprintf(", %s/s", size(int64(rate)))
		}
		left := time.Duration(float64(f.Total-f.Done) / rate * float64(time.Second))
		s += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return s
}

// end finishes an open line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.newline()
}

func (p *progress) newline() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}

// size writes bytes in the unit a person would choose.
func size(n int64) string {
	const k = 1024
	switch {
	case n >= k*k*k:
		return fmt.Sprintf("%.1f GiB", float64(n)/(k*k*k))
	case n >= k*k:
		return fmt.Sprintf("%.1f MiB", float64(n)/(k*k))
	case n >= k:
		return fmt.Sprintf("%.0f KiB", float64(n)/k)
	}
	return fmt.Sprintf("%d B", n)
}
