package front_test

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dure/inference"
	"dure/inference/front"
)

// crowd is a model with one sequence that refuses the choice with seed 1 as
// often as refusals says.
func crowd(refusals int64, hint time.Duration, tries *atomic.Int64) generateFunc {
	return func(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		if req.Params.Seed == 1 && tries.Add(1) <= refusals {
			return script(&inference.Error{Code: inference.CodeQueueFull, Message: "full", RetryAfter: hint})(nil, nil)
		}
		return script(nil, started(), says("x"), done())(nil, nil)
	}
}

// A later choice that finds the queue full waits for a place: the answer of the
// earlier one is not lost.
func TestLaterChoiceWaits(t *testing.T) {
	const refusals = 20
	for _, tt := range []struct {
		hint, least, most time.Duration
		remote            bool
	}{
		{0, front.LeastWait, front.LeastWait * 3 / 2, false},
		{300 * time.Millisecond, 300 * time.Millisecond, 450 * time.Millisecond, false},
		{time.Minute, front.MostWait, front.MostWait * 3 / 2, false},
		{20 * time.Second, 20 * time.Second, 30 * time.Second, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var tries atomic.Int64
			w, _, stop := newPipeWorld(t, crowd(refusals, tt.hint, &tries))
			defer stop()
			w.models.Info.Sequences, w.models.Remote = 1, tt.remote
			for _, stream := range []string{"false", "true"} {
				tries.Store(0)
				begin := time.Now()
				got := w.say(`{"stream":` + stream + `,` + helloTimes(3)[1:])
				waited := time.Since(begin)
				if got.Status != 200 || got.Err != nil || strings.Contains(got.Body, "queue_full") || tries.Load() != refusals+1 {
					t.Errorf("%d tries, %v, %d %s", tries.Load(), got.Err, got.Status, got.Body)
				}
				if waited < refusals*tt.least || waited > refusals*tt.most {
					t.Errorf("hint %s: waited %s", tt.hint, waited)
				}
			}
		})
	}
}

// The choices that run at first do not wait.
func TestFirstChoiceDoesNotWait(t *testing.T) {
	for _, sequences := range []int{2, 3} {
		var tries atomic.Int64
		w := newWorld(t, crowd(1, 0, &tries))
		w.models.Info.Sequences = sequences
		w.say(helloTimes(3)).wantError(t, 429, "queue_full", "", "full")
	}
}

// Whoever waits for a place leaves with the client.
func TestClientLeavesWhileChoiceWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int64
		w, _, stop := newPipeWorld(t, crowd(1<<60, 0, &tries))
		defer stop()
		w.models.Info.Sequences = 1
		ctx, leave := context.WithTimeout(t.Context(), time.Hour)
		defer leave()
		req, _ := http.NewRequestWithContext(ctx, "POST", w.URL+"/say", strings.NewReader(helloTimes(2)))
		if res, err := w.Client.Do(req); err == nil {
			t.Errorf("status %d", res.StatusCode)
		}
		<-w.Over
		ended := tries.Load()
		time.Sleep(time.Minute)
		if tries.Load() != ended || ended < 1000 {
			t.Errorf("%d tries, then %d", ended, tries.Load())
		}
		if o, r := w.models.Opened.Load(), w.models.Released.Load(); o != 1 || r != 1 {
			t.Errorf("opened %d, released %d", o, r)
		}
	})
}

// A choice that failed after its beginning does not begin anew.
func TestQueueFullAfterTheBeginning(t *testing.T) {
	w := newWorld(t, func(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		if req.Params.Seed == 1 {
			return script(inference.ErrQueueFull, started())(nil, nil)
		}
		return script(nil, started(), says("x"), done())(nil, nil)
	})
	w.models.Info.Sequences = 1
	w.say(helloTimes(2)).wantError(t, 429, "queue_full", "")
}
