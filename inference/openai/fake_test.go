package openai

import (
	"bufio"
	"io/fs"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"dure/inference/front"
	"dure/inference/front/fronttest"
)

type generateFunc = fronttest.GenerateFunc

var (
	script  = fronttest.Script
	started = fronttest.Started
	says    = fronttest.Says
	done    = fronttest.Done
)

// world is a server that speaks this surface only.
type world struct {
	*fronttest.World
	models *fronttest.Models
}

func surfaces() []front.Surface {
	return []front.Surface{Surface(NewResponses(&shelf{}, slog.New(slog.DiscardHandler)))}
}

// shelf is a memory that lasts as long as its test.
type shelf struct{ records sync.Map }

func (s *shelf) Keep(id string, record []byte) error {
	s.records.Store(id, record)
	return nil
}

func (s *shelf) Recall(id string) ([]byte, error) {
	if record, ok := s.records.Load(id); ok {
		return record.([]byte), nil
	}
	return nil, fs.ErrNotExist
}

func (s *shelf) Forget(id string) error {
	if _, ok := s.records.LoadAndDelete(id); !ok {
		return fs.ErrNotExist
	}
	return nil
}

// newWorld serves over real sockets.
func newWorld(t testing.TB, generate generateFunc, change ...func(*front.Options)) *world {
	t.Helper()
	w := fronttest.New(t, surfaces(), generate, change...)
	return &world{w, w.Models}
}

// reply is a response that was read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

func (w *world) do(method, path, body string, headers ...string) reply {
	r := w.Do(method, path, body, headers...)
	return reply{r.Status, r.Header, r.Body, r.Err}
}

func (w *world) complete(body string) reply {
	return w.do("POST", "/v1/completions", body, "Content-Type", "application/json")
}

func (w *world) chat(body string) reply {
	return w.do("POST", "/v1/chat/completions", body, "Content-Type", "application/json")
}

const (
	hello       = `{"messages":[{"role":"user","content":"hi"}]}`
	helloStream = `{"stream":true,"messages":[{"role":"user","content":"hi"}]}`
)

// events splits a body into the data of its server-sent events.
func events(t *testing.T, body string) []string {
	t.Helper()
	var all []string
	scan := bufio.NewScanner(strings.NewReader(body))
	scan.Buffer(nil, 1<<26)
	for scan.Scan() {
		if scan.Text() == "" {
			continue
		}
		data, ok := strings.CutPrefix(scan.Text(), "data: ")
		if !ok {
			t.Fatalf("not an event: %q", scan.Text())
		}
		all = append(all, data)
	}
	return all
}

var volatile = regexp.MustCompile(`"id":"(?:chatcmpl|cmpl)-[A-Z2-7]{26}"|"created":\d+|"seed":\d+`)

// steady replaces what differs from run to run.
func steady(s string) string {
	return volatile.ReplaceAllStringFunc(s, func(m string) string {
		name, _, _ := strings.Cut(m, ":")
		return name + ":0"
	})
}
