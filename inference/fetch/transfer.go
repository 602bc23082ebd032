package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// transfer fetches what is missing of one part file.
type transfer struct {
	f      *Fetcher
	link   Link
	remote Remote
	file   *os.File
	state  string // path of the state file

	mu   sync.Mutex
	part part
	// from is the URL to ask: the link's, or where that last redirected to,
	// which spares the hub a request for each range.
	from string
	told int64 // bytes of the last progress
	came bool  // bytes have come in this run
}

// checkpointEvery is how often the state is written: what came since is fetched
// again after a kill.
const checkpointEvery = time.Second

// run fetches all segments that are not complete. The first error ends it.
func (t *transfer) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan int, len(t.part.Done))
	for i := range t.part.Done {
		if from, to := t.part.span(i); t.part.Done[i] < to-from {
			todo <- i
		}
	}
	close(todo)
	t.report(true)
	var workers sync.WaitGroup
	for range min(t.f.Web.connections(), len(todo)) {
		workers.Go(func() {
			for i := range todo {
				if ctx.Err() != nil {
					return
				}
				if err := t.segment(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	var saver sync.WaitGroup
	stop := make(chan struct{})
	saver.Go(func() { t.saveUntil(stop, cancel) })
	workers.Wait()
	close(stop)
	saver.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.report(true)
	return nil
}

// saveUntil writes the state from time to time.
func (t *transfer) saveUntil(stop <-chan struct{}, fail context.CancelCauseFunc) {
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			if err := t.save(); err != nil {
				fail(err)
				return
			}
		}
	}
}

// save writes down what has come. The bytes are flushed between the look and the
// note: what the note promises survives a loss of power.
func (t *transfer) save() error {
	t.mu.Lock()
	p := t.part
	p.Done = append([]int64(nil), t.part.Done...)
	t.mu.Unlock()
	if err := ignoringEINTR(func() error { return unix.Fdatasync(int(t.file.Fd())) }); err != nil {
		return fmt.Errorf("flush %s: %w", t.file.Name(), err)
	}
	return p.write(t.state)
}

// close notes what has come and closes the file.
func (t *transfer) close() error {
	return errors.Join(t.save(), t.file.Close())
}

// report tells the progress, at most once a MiB unless it must.
func (t *transfer) report(must bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if done := t.part.done(); must || done-t.told >= reportEvery || done < t.told {
		t.told = done
		t.f.Report(Progress{Step: "download", Name: t.link.File, Done: done, Total: t.part.Bytes})
	}
}

// segment fetches what is missing of one segment.
func (t *transfer) segment(ctx context.Context, i int) error {
	return t.f.again(ctx, t.link.File, func() (bool, error) {
		before := t.doneOf(i)
		err := t.request(ctx, i)
		if err != nil && !t.remote.Ranges {
			t.advance(i, -t.doneOf(i)) // such a server can only begin anew
		}
		return t.doneOf(i) > before, t.judge(err)
	})
}

// judge makes a server that cannot be reached a matter of patience only where it
// has delivered before.
func (t *transfer) judge(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.came {
		return err
	}
	return firstContact(err)
}

func (t *transfer) doneOf(i int) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.part.Done[i]
}

func (t *transfer) advance(i int, n int64) {
	t.mu.Lock()
	t.part.Done[i] += n
	t.came = t.came || n > 0
	t.mu.Unlock()
	t.report(false)
}

// request sends one request for the rest of a segment and writes what comes.
func (t *transfer) request(ctx context.Context, i int) error {
	from, to := t.part.span(i)
	from += t.doneOf(i)
	want := wants{}
	if t.remote.Ranges {
		want = wants{from: from, to: to, ifRange: t.remote.ETag}
	}
	a, err := t.get(ctx, want)
	if err != nil {
		return err
	}
	defer a.body.Close()
	if err := t.check(a, from, to); err != nil {
		return err
	}
	return t.receive(a, i, from, to)
}

// get asks the place that delivered last. Where that no longer does (its
// signature runs out after a while), the link's own server is asked again.
func (t *transfer) get(ctx context.Context, want wants) (*answer, error) {
	t.mu.Lock()
	from := t.from
	t.mu.Unlock()
	a, err := t.f.Web.get(ctx, t.link, from, want)
	var refused *WebError
	if errors.As(err, &refused) && refused.Status/100 == 4 && !refused.retry && from != t.link.URL {
		a, err = t.f.Web.get(ctx, t.link, t.link.URL, want)
	}
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.from = a.at.String()
	t.mu.Unlock()
	return a, nil
}

// check compares the head of an answer with what was asked.
func (t *transfer) check(a *answer, from, to int64) error {
	if t.remote.Ranges {
		if a.StatusCode != http.StatusPartialContent {
			return errChanged // this is what If-Range is for
		}
		return a.is(from, to, t.remote)
	}
	tag := strong(a.Header.Get("ETag"))
	if a.StatusCode != http.StatusOK || tag != t.remote.ETag || a.ContentLength > 0 && a.ContentLength != t.remote.Bytes {
		return errChanged
	}
	return nil
}

// receive writes a body to its place. A body that is too short is an error that
// can be tried again; what is too long is not read.
func (t *transfer) receive(a *answer, i int, at, to int64) error {
	buf := make([]byte, 256<<10)
	for at < to {
		n, err := a.body.Read(buf[:min(int64(len(buf)), to-at)])
		if n > 0 {
			if _, err := t.file.WriteAt(buf[:n], at); err != nil {
				return err
			}
			at += int64(n)
			t.advance(i, int64(n))
		}
		if err != nil && at < to {
			return networkError(a.at, err)
		}
	}
	return nil
}
