package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"dure/runtime/sandbox"
)

// alive starts boxes with a shell and an edit in each, and weighs them.
func (r *sandboxRig) alive(ctx context.Context) (err error) {
	before, err := memAvailable()
	if err != nil {
		return err
	}
	begin := time.Now()
	boxes := make(chan *sandbox.Box, r.opt.alive)
	defer func() {
		close(boxes)
		for box := range boxes {
			err = errors.Join(err, box.Close())
		}
	}()
	next, failed := make(chan int), make(chan error, r.opt.parallel)
	for range r.opt.parallel {
		go func() {
			for i := range next {
				if err := r.settle(ctx, i, boxes); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	err = feedNumbers(ctx, next, r.opt.alive, before, failed, r.opt.parallel)
	if err != nil {
		return err
	}
	r.f.RampMS = milliseconds(begin)
	after, err := memAvailable()
	if err != nil {
		return err
	}
	r.f.Alive = len(boxes)
	r.f.KiB = float64(before-after) / 1024 / float64(len(boxes))
	r.f.PerGiB = (1 << 20) / r.f.KiB
	fmt.Fprintf(r.log, "  %d boxes alive\n", len(boxes))
	return nil
}

// feedNumbers hands out the numbers of boxes and waits for those who take them. It stops
// before the machine runs out of memory.
func feedNumbers(ctx context.Context, next chan<- int, n int, before int64, failed <-chan error, takers int) error {
	var all error
	done := 0
	i := 0
	for i < n && all == nil {
		if i%50 == 0 {
			now, err := memAvailable()
			if err == nil && now < before/4 {
				err = fmt.Errorf("three quarters of the free memory are used after %d boxes: stopped", i)
			}
			if err != nil {
				all = err
				break
			}
		}
		select {
		case next <- i:
			i++
		case err := <-failed:
			all, done = err, done+1
		case <-ctx.Done():
			all = ctx.Err()
		}
	}
	close(next)
	for ; done < takers; done++ {
		all = errors.Join(all, <-failed)
	}
	return all
}

// settle starts a box, edits a file in it, and leaves a shell waiting.
func (r *sandboxRig) settle(ctx context.Context, i int, boxes chan<- *sandbox.Box) error {
	box, err := r.host.Start(ctx, r.spec(r.opt.spawns+i))
	if err != nil {
		return err
	}
	boxes <- box
	res, err := box.Run(ctx, sandbox.Cmd{Args: []string{"sed", "-i", "s/line/row/", "file01.txt"}})
	if err != nil {
		return err
	}
	if res.Code != 0 {
		return fmt.Errorf("the edit went wrong: %+v", res)
	}
	// The shell reads what never comes: it ends with its box.
	input, never := io.Pipe()
	p, err := box.Begin(ctx, sandbox.Cmd{Args: []string{"sh"}, Stdin: input})
	if err != nil {
		return err
	}
	go func() {
		_, _ = p.Wait() // its box was closed
		_ = never.Close()
	}()
	return nil
}

// memAvailable is what programs could still take, in bytes.
func memAvailable() (int64, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.Join(errors.New("/proc/meminfo says nothing of available memory"), lines.Err())
}
