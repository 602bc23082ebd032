package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"dure/inference"
)

// maxBody is the largest request that is read, in bytes.
const maxBody = 64 << 20

// Handler serves the model to OpenAI clients: POST /v1/chat/completions and GET
// /v1/models. It asks for no key: serve it on loopback only.
func (m *Model) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.serveChat)
	mux.HandleFunc("GET /v1/models", m.serveModels)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, failure{inference.Errorf(inference.CodeInvalidRequest, "there is no %s %s here", r.Method, r.URL.Path), http.StatusNotFound})
	})
	return mux
}

func (m *Model) serveModels(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{"object": "list", "data": []any{
		map[string]any{"id": m.info.Name, "object": "model", "created": 0, "owned_by": "script"}}})
}

func (m *Model) serveChat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, failure{inference.Errorf(inference.CodeInvalidRequest, "the body cannot be read: %v", err), http.StatusBadRequest})
		return
	}
	var q wireRequest
	if err := json.Unmarshal(body, &q); err != nil {
		refuse(w, inference.Errorf(inference.CodeInvalidRequest, "the body: %v", err))
		return
	}
	if q.Model != m.info.Name {
		refuse(w, inference.Errorf(inference.CodeModelNotFound, "there is no model %q here, only %q", q.Model, m.info.Name))
		return
	}
	req, err := q.request()
	if err != nil {
		refuse(w, err)
		return
	}
	req.ID = r.Header.Get("X-Request-Id")
	s := &sender{w: w, stream: q.Stream, usage: q.Options.IncludeUsage, whole: wireDelta{Role: "assistant"}}
	s.head = chunk{ID: "chatcmpl-" + key(string(body)), Model: m.info.Name, Created: time.Now().Unix()}
	err = m.generate(r.Context(), req, s.take)
	switch {
	case err == nil:
	case !s.begun:
		refuse(w, err)
	default:
		panic(http.ErrAbortHandler) // the answer breaks off, which is what happened
	}
}

// sender turns the events of an answer into HTTP.
type sender struct {
	w             http.ResponseWriter
	stream, usage bool
	head          chunk
	whole         wireDelta
	begun         bool
	broken        bool // nobody reads any more
}

// take is told of an event and says whether to go on.
func (s *sender) take(e inference.Event) bool {
	if !s.stream {
		switch e.Kind {
		case inference.EventStarted:
		case inference.EventDone:
			c := s.head
			finish := string(e.Finish)
			c.Object, c.Choices, c.Usage = "chat.completion", []wireChoice{{Message: &s.whole, Finish: &finish}}, newUsage(e.Usage)
			s.begun = true
			reply(s.w, http.StatusOK, c)
		default:
			s.whole.add(e)
		}
		return true
	}
	switch e.Kind {
	case inference.EventStarted:
		return true // the head goes out with the first piece: until then a status can be told
	case inference.EventDone:
		finish := string(e.Finish)
		s.send([]wireChoice{{Delta: &wireDelta{}, Finish: &finish}}, nil)
		if s.usage {
			s.send([]wireChoice{}, newUsage(e.Usage))
		}
		s.write("data: [DONE]\n\n")
	default:
		s.send([]wireChoice{{Delta: newDelta(e)}}, nil)
	}
	return !s.broken
}

func (s *sender) send(choices []wireChoice, u *wireUsage) {
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("Cache-Control", "no-store")
		s.w.WriteHeader(http.StatusOK)
		s.send([]wireChoice{{Delta: &wireDelta{Role: "assistant"}}}, nil)
	}
	c := s.head
	c.Object, c.Choices, c.Usage = "chat.completion.chunk", choices, u
	s.write("data: " + string(encode(c)) + "\n\n")
}

func (s *sender) write(text string) {
	if _, err := io.WriteString(s.w, text); err != nil {
		s.broken = true
		return
	}
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// encode is for values that always have a JSON text.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func reply(w http.ResponseWriter, status int, v any) {
	b := encode(v)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b) // who does not read it has gone
}

// statuses are those of errors that are no scripted faults.
var statuses = map[inference.Code]int{
	inference.CodeInvalidRequest: http.StatusBadRequest, inference.CodeUnsupported: http.StatusBadRequest,
	inference.CodeModelNotFound: http.StatusNotFound, inference.CodeQueueFull: http.StatusTooManyRequests,
	inference.CodeRunnerLost: http.StatusBadGateway,
}

// refuse tells an error in OpenAI's form.
func refuse(w http.ResponseWriter, err error) {
	e := &inference.Error{Code: inference.CodeInternal, Message: err.Error()}
	errors.As(err, &e)
	status, ok := statuses[e.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	if f := (failure{}); errors.As(err, &f) {
		status = f.status
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(e.RetryAfter.Seconds())))
	}
	kind := "invalid_request_error"
	if status >= 500 || status == http.StatusTooManyRequests {
		kind = "server_error"
	}
	reply(w, status, map[string]any{"error": map[string]any{"message": e.Message, "type": kind, "code": e.Code, "param": e.Param}})
}
