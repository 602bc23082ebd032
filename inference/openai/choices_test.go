package openai

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"dure/inference"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever the choices say and however their events interleave, each comes out
// as it was said.
func TestChoicesReassemble(t *testing.T) {
	var said [][]inference.Event
	w := newWorld(t, func(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		return script(nil, said[req.Params.Seed]...)(nil, nil)
	})
	rapid.Check(t, func(rt *rapid.T) {
		said = nil
		w.models.Info.Sequences = rapid.IntRange(0, 5).Draw(rt, "sequences")
		var want []string
		completion := 0
		for range rapid.IntRange(1, 9).Draw(rt, "choices") {
			all, text := []inference.Event{started()}, ""
			for _, piece := range rapid.SliceOfN(rapid.String(), 0, 5).Draw(rt, "pieces") {
				ev := says(piece)
				ev.More = rapid.Bool().Draw(rt, "more")
				all, text = append(all, ev), text+piece
			}
			end := done()
			end.Usage.CompletionTokens = rapid.IntRange(0, 100).Draw(rt, "tokens")
			completion += end.Usage.CompletionTokens
			said, want = append(said, append(all, end)), append(want, text)
		}
		for _, got := range []answered{
			w.answer(t, "/v1/chat/completions", helloTimes(len(said))),
			w.streamed(t, "/v1/chat/completions", helloTimes(len(said))),
		} {
			if diff := cmp.Diff(want, got.texts()); diff != "" {
				rt.Fatal(diff)
			}
			if got.Usage.Prompt != 7 || got.Usage.Completion != completion {
				rt.Fatalf("usage %+v, want %d", got.Usage, completion)
			}
		}
	})
	if o, r := w.models.Opened.Load(), w.models.Released.Load(); o != r {
		t.Errorf("opened %d, released %d", o, r)
	}
}

// No more choices run at once than the model decodes at once.
func TestChoicesAtOnce(t *testing.T) {
	for sequences, want := range map[int]int64{0: defaultWidth, 1: 1, 3: 3, 100: 20} {
		var running, most atomic.Int64
		gate, open := make(chan struct{}), sync.Once{}
		w := newWorld(t, func(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
			return func(yield func(inference.Event, error) bool) {
				n := running.Add(1)
				defer running.Add(-1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				if n == want { // as many as there will ever be: let all go on
					open.Do(func() { close(gate) })
				}
				<-gate
				script(nil, started(), says("x"), done())(nil, nil)(yield)
			}
		})
		w.models.Info.Sequences = sequences
		got := w.answer(t, "/v1/chat/completions", helloTimes(20))
		if len(got.Choices) != 20 || most.Load() != want {
			t.Errorf("%d sequences: %d at once, want %d", sequences, most.Load(), want)
		}
	}
}

// A choice that the model refuses fails the request, and before any answer has
// begun with a status of its own.
func TestChoiceRefused(t *testing.T) {
	full := &inference.Error{Code: inference.CodeQueueFull, Message: "full"}
	said := make(chan struct{})
	w := newWorld(t, func(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		return func(yield func(inference.Event, error) bool) {
			if req.Params.Seed == 2 {
				<-said
				yield(inference.Event{}, full)
				return
			}
			if !yield(started(), nil) || !yield(says("x"), nil) {
				return
			}
			if req.Params.Seed == 0 {
				said <- struct{}{}
			}
			<-ctx.Done()
			yield(inference.Event{}, ctx.Err())
		}
	})
	for _, stream := range []string{"false", "true"} {
		got := w.chat(`{"stream":` + stream + `,` + helloTimes(3)[1:])
		got.wantError(t, 429, kindLimit, "queue_full", "", "full")
	}
	w.chat(helloTimes(3)).wantError(t, 429, kindLimit, "queue_full", "", "full")
}

// Once a stream has begun, the refusal of a later choice is an event.
func TestLaterChoiceRefused(t *testing.T) {
	lost := &inference.Error{Code: inference.CodeRunnerLost, Message: "died"}
	read := make(chan struct{})
	w := newWorld(t, func(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		if req.Params.Seed == 2 {
			<-read
			return script(lost)(nil, nil)
		}
		return script(nil, started(), says("x"), done())(nil, nil)
	})
	w.models.Info.Sequences = 2
	res, err := http.Post(w.URL+"/v1/chat/completions", "", strings.NewReader(`{"stream":true,`+helloTimes(3)[1:]))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body := bufio.NewReader(res.Body)
	first, err := body.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	close(read)
	rest, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	all := events(t, first+string(rest))
	if res.StatusCode != 200 || all[len(all)-1] == "[DONE]" {
		t.Fatalf("%d %q", res.StatusCode, all)
	}
	wantErrorObject(t, all[len(all)-1], kindServer, "runner_lost", "", "died")
}

// One choice that fails ends the others, whatever the failure is.
func TestChoiceFails(t *testing.T) {
	for name, last := range map[string]func(yield func(inference.Event, error) bool){
		"error":  func(yield func(inference.Event, error) bool) { yield(inference.Event{}, errors.New("secret")) },
		"panic":  func(func(inference.Event, error) bool) { panic("secret") },
		"no end": func(func(inference.Event, error) bool) {},
		"order":  func(yield func(inference.Event, error) bool) { yield(started(), nil) },
	} {
		for _, stream := range []string{"false", "true"} {
			t.Run(name+" stream="+stream, func(t *testing.T) {
				var ended sync.WaitGroup
				ended.Add(5)
				var others sync.WaitGroup
				others.Add(4)
				w := newWorld(t, func(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
					return func(yield func(inference.Event, error) bool) {
						defer ended.Done()
						yield(started(), nil)
						if req.Params.Seed == 1 {
							others.Wait()
							last(yield)
							return
						}
						others.Done()
						<-ctx.Done()
						yield(inference.Event{}, ctx.Err())
					}
				})
				got := w.chat(`{"stream":` + stream + `,` + helloTimes(5)[1:])
				<-w.Over
				ended.Wait()
				if strings.Contains(got.body, "secret") || !strings.Contains(got.body, "internal_error") || strings.Contains(got.body, "[DONE]") {
					t.Errorf("%d %s", got.status, got.body)
				}
				if stream == "false" && got.status != 500 {
					t.Errorf("status %d", got.status)
				}
				if line := w.Lines()[0]; line["level"] != "ERROR" {
					t.Errorf("log line %v", line)
				}
			})
		}
	}
}

// A client that leaves ends all of its choices, and none outlives the request.
func TestClientLeavesManyChoices(t *testing.T) {
	for _, stream := range []string{"false", "true"} {
		var running atomic.Int64
		ready := make(chan struct{}, 10)
		w := newWorld(t, func(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
			return func(yield func(inference.Event, error) bool) {
				running.Add(1)
				defer running.Add(-1)
				yield(started(), nil)
				yield(says("x"), nil)
				ready <- struct{}{}
				<-ctx.Done()
				yield(inference.Event{}, ctx.Err())
			}
		})
		w.models.Info.Sequences = 4
		left := make(chan int64, 1)
		inner := w.Handler
		w.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			defer func() { left <- running.Load() }()
			inner.ServeHTTP(rw, r)
		})
		w.Serve(t.Context())
		ctx, leave := context.WithCancel(t.Context())
		client := make(chan struct{})
		go func() {
			defer close(client)
			req, _ := http.NewRequestWithContext(ctx, "POST", w.URL+"/v1/chat/completions",
				strings.NewReader(`{"stream":`+stream+`,`+helloTimes(6)[1:]))
			if res, err := w.Client.Do(req); err == nil {
				var b [1 << 16]byte
				for err == nil {
					_, err = res.Body.Read(b[:])
				}
				res.Body.Close()
			}
		}()
		for range 4 {
			<-ready
		}
		leave()
		if n := <-left; n != 0 {
			t.Errorf("%d choices outlived their request", n)
		}
		<-client
		if got := w.Metric(`dure_requests_cancelled_total{phase="decode"}`); got != "1" {
			t.Errorf("cancelled: %q", got)
		}
		if o, r := w.models.Opened.Load(), w.models.Released.Load(); o != 1 || r != 1 {
			t.Errorf("opened %d, released %d", o, r)
		}
	}
}
