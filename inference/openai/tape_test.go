package openai

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"dure/inference/front"
	"dure/inference/front/fronttest"

	"pgregory.net/rapid"
)

// event is one of a size, with its number.
func event(i, size int) string {
	head := fmt.Sprintf("data: %d ", i)
	return head + strings.Repeat("x", max(0, size-len(head)-2)) + "\n\n"
}

// Whatever is added, a tape holds the latest events in order, never more than its bound
// and one event, and says of all others that they are gone.
func TestTapeKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &reel{most: maxReel}
		a, b := newTape(r), newTape(r)
		tapes, all := []*tape{&a, &b}, [2][]string{}
		if rapid.Bool().Draw(t, "full") {
			r.most = 0 // as if others had taken all
		}
		for range rapid.IntRange(1, 40).Draw(t, "adds") {
			k := rapid.IntRange(0, 1).Draw(t, "tape")
			text := ""
			for range rapid.IntRange(0, 3).Draw(t, "events") {
				e := event(len(all[k]), rapid.SampledFrom([]int{30, fairTape / 3, fairTape + 1, maxTape / 3}).Draw(t, "size"))
				text += e
				all[k] = append(all[k], e)
			}
			tapes[k].add([]byte(text), false)
		}
		sum := int64(0)
		for k, tape := range tapes {
			events, _, _, err := tape.from(tape.first)
			if err != nil || tape.first+len(events) != len(all[k]) {
				t.Fatalf("%d events from %d on, of %d: %v", len(events), tape.first, len(all[k]), err)
			}
			held := int64(0)
			for i, e := range events {
				held += int64(len(e))
				if string(e) != all[k][tape.first+i] {
					t.Fatalf("event %d is another", tape.first+i)
				}
			}
			if sum += held; held != tape.bytes || held > maxTape && len(events) > 1 {
				t.Fatalf("%d bytes in %d events, counted %d", held, len(events), tape.bytes)
			}
			var f *front.Failure
			if err := tape.has(tape.first - 1); !errors.As(err, &f) || f.Status != http.StatusGone || f.Code != CodeEventsGone {
				t.Fatalf("an event that is gone: %v", err)
			}
		}
		if r.used.Load() != sum {
			t.Fatalf("%d bytes counted of %d", r.used.Load(), sum)
		}
		a.release()
		b.release()
		a.release()
		if r.used.Load() != 0 {
			t.Fatalf("%d bytes after the end", r.used.Load())
		}
	})
}

func TestEventsBeyondTheBoundAreSaidToBeGone(t *testing.T) {
	s := NewResponses(&shelf{}, slog.New(slog.DiscardHandler))
	t.Cleanup(s.Close)
	inner := fronttest.New(t, []front.Surface{Surface(s)}, (&fronttest.Talker{}).Generate)
	w := &world{inner, inner.Models}
	whole := w.respond(`{"background":true,"stream":true,"input":"hi"}`).body
	id := regexp.MustCompile(`resp_[A-Z2-7]{26}`).FindString(whole)
	_, rest, _ := strings.Cut(whole, "\n\n")
	held := &s.job("", id).tape
	held.mu.Lock()
	held.first, held.events = 1, held.events[1:] // as beyond its bound
	held.mu.Unlock()
	if again := w.do("GET", "/v1/responses/"+id+"?stream=true&starting_after=0", "").body; again != rest {
		t.Errorf("got  %s\nwant %s", again, rest)
	}
	w.do("GET", "/v1/responses/"+id+"?stream=true", "").wantError(t, 410, kindInvalid, CodeEventsGone, "", "starting_after=0")
	if got := w.do("GET", "/v1/responses/"+id, ""); got.status != 200 || !strings.Contains(got.body, `"completed"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}
