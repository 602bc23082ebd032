package front_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/fronttest"
)

// counting is a surface that streams numbers as lines: a number for each value of
// steps, after so many seconds, then err.
func counting(steps []int, err error) front.Surface {
	form := front.JSONLines(func(dst []byte, f *front.Failure) ([]byte, error) { return front.AppendLine(dst, wireError(f)) })
	return front.Surface{
		Routes: []front.Route{{Method: "POST", Path: "/count", Doc: "count", Handle: func(x *front.Exchange, r *http.Request) error {
			return x.Stream(r, form, func(ctx context.Context, s *front.Stream) error {
				for i, seconds := range steps {
					select {
					case <-time.After(time.Duration(seconds) * time.Second):
					case <-ctx.Done():
						return ctx.Err()
					}
					line, _ := front.AppendLine(nil, i)
					if err := s.Send(line); err != nil {
						return err
					}
				}
				return err
			})
		}}},
		Fail: func(_ *front.Exchange, f *front.Failure) any { return wireError(f) },
	}
}

// A stream that is no generation has a status until it begins, and no silence
// after that; each line is one value, whatever fills the silences.
func TestLines(t *testing.T) {
	gone := inference.Errorf(inference.CodeModelNotFound, "gone")
	for _, tt := range []struct {
		steps []int
		err   error
		want  string
	}{
		{[]int{0, 1}, nil, "0\n1\n"},
		{[]int{40, 40}, nil, "   0\n  1\n"}, // at 10, 25 and 40; 55 and 70
		{nil, gone, ""},
		{[]int{1}, gone, "0\n" + `{"error":{"code":"model_not_found","message":"gone","param":""}}` + "\n"},
		{[]int{1}, errors.New("secret"), "0\n" + `{"error":{"code":"internal_error","message":"internal error; the server's log tells more under request r","param":""}}` + "\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, _, stop := fronttest.NewPiped(t, []front.Surface{counting(tt.steps, tt.err)}, nil)
			defer stop()
			got := reply{w.Do("POST", "/count", "", "X-Request-Id", "r")}
			if tt.want == "" {
				got.wantError(t, 404, "model_not_found", "", "gone")
				return
			}
			if got.Status != 200 || got.Header.Get("Content-Type") != "application/x-ndjson" || strings.TrimLeft(got.Body, " ") != strings.TrimLeft(tt.want, " ") ||
				strings.Count(got.Body, " ") < strings.Count(tt.want, " ")-1 {
				t.Errorf("%d %q, want %q", got.Status, got.Body, tt.want)
			}
			lines := bufio.NewScanner(strings.NewReader(got.Body))
			for lines.Scan() {
				if !json.Valid(lines.Bytes()) {
					t.Errorf("no value: %q", lines.Text())
				}
			}
		})
	}
}
