package openai

import (
	"strings"
	"testing"
	"testing/synctest"

	"dure/inference/front"
)

// Bodies that stopped coming hold what came of them, until they are refused
// room and not beyond it; and all of it is given back.
func TestBodyBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 1 << 20
		w, dial, stop := newPipeWorld(t, script(nil, started(), done()), func(o *front.Options) { o.BodyBudget = most })
		defer stop()
		// What is only announced takes next to nothing.
		for range 4 {
			conn := dial()
			defer conn.Close()
			post(conn, "{", 15<<20)
		}
		long := strings.Repeat(" ", 600<<10)
		stalled := dial()
		post(stalled, long, len(long)+1)
		synctest.Wait()
		if got := w.Metric("dure_http_body_bytes"); got != "876545" { // 4 * 64 KiB and 600 KiB + 1
			t.Errorf("held: %s", got)
		}
		for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/v1/tokenize", "/v1/detokenize", "/v1/apply-template"} {
			got := w.do("POST", path, long)
			got.wantError(t, 503, kindServer, "queue_full", "", "1048576 bytes", "try again later")
			if got.header.Get("Retry-After") != "1" {
				t.Errorf("header %v", got.header)
			}
		}
		if got := w.Metric("dure_http_bodies_refused_total"); got != "5" {
			t.Errorf("refused: %s", got)
		}
		if got := w.chat(hello); got.status != 200 { // there is room for small ones
			t.Error(got)
		}
		stalled.Close()
		synctest.Wait()
		if got := w.chat(hello[:len(hello)-1] + long + "}"); got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
		synctest.Wait()
		if got := w.Metric("dure_http_body_bytes"); got != "262144" {
			t.Errorf("held at the end: %s", got)
		}
	})
}
