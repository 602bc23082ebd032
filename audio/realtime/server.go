package realtime

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"dure/audio/realtime/wire"
	"dure/audio/turn"
	"dure/audio/voice"

	"github.com/gorilla/websocket"
)

// Options are what a Server stands on.
type Options struct {
	Sessions *voice.Sessions
	// STT and TTS serve the ordinary requests; nil is a typed error that says what to
	// install.
	STT voice.STT
	TTS voice.TTS
	// Voices are the names of the voices, the usual one first. Another name means that
	// one, with a warning.
	Voices []string
	// Identify says who shows a secret (a key, or "" for none), or why they may not. Who it
	// is means nothing here: it counts sessions, and comes back in Prepare.
	Identify func(r *http.Request, secret string) (holder string, err error)
	// AllowOrigin decides about pages; requests without an Origin are no pages.
	AllowOrigin func(r *http.Request) bool
	// Prepare makes the parts of a new session, and may refuse it or change what was asked
	// for. They belong to the session from then on.
	Prepare func(r *http.Request, holder string, c turn.Config) (voice.Options, error)
	// Imitate decides about a recording (a WAV file) of a voice that a client wants to be
	// spoken with, in a language ("": not known). Nil refuses all: without a record of a
	// consent no voice is imitated.
	Imitate func(ctx context.Context, wav []byte, language string) error
	Model   string // of sessions that name none
	Log     *slog.Logger
	Now     func() time.Time
	// MostPerHolder sessions may one key have open.
	MostPerHolder int
}

// Server answers the routes of the API.
type Server struct {
	o       Options
	secrets *secrets
	known   *known
	up      websocket.Upgrader
}

// New makes one.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MostPerHolder == 0 {
		o.MostPerHolder = 64
	}
	s := &Server{o: o, secrets: newSecrets(o.Now), known: newKnown()}
	s.up = websocket.Upgrader{
		HandshakeTimeout: 10 * time.Second, ReadBufferSize: 16 << 10, WriteBufferSize: 16 << 10,
		Subprotocols: []string{"realtime"}, CheckOrigin: o.AllowOrigin,
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			fail(w, status, &wire.Error{Type: wire.TypeInvalid, Code: "bad_handshake", Message: reason.Error()})
		},
	}
	return s
}

// Handler has all routes.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/realtime", s.connect)
	mux.HandleFunc("POST /v1/realtime/client_secrets", s.makeSecret)
	mux.HandleFunc("GET /v1/dure/voice", s.report)
	mux.HandleFunc("POST /v1/audio/speech", s.speech)
	mux.HandleFunc("POST /v1/audio/transcriptions", s.transcribe)
	return mux
}

// secretOf is the key or secret that a request shows: in a header, or, as browsers must,
// in the name of a subprotocol.
func secretOf(r *http.Request) string {
	if scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	if key := r.Header.Get("X-Api-Key"); key != "" {
		return strings.TrimSpace(key)
	}
	for _, protocol := range websocket.Subprotocols(r) {
		if key, ok := strings.CutPrefix(protocol, "openai-insecure-api-key."); ok {
			return key
		}
	}
	return ""
}

// start is who connects and with what session object.
func (s *Server) start(r *http.Request) (holder string, session wire.Session, err error) {
	session = wire.Default(s.o.Model)
	value := secretOf(r)
	if strings.HasPrefix(value, secretPrefix) {
		var ok bool
		if holder, session, ok = s.secrets.use(value); !ok {
			return "", session, &wire.Error{Type: wire.TypeInvalid, Code: "invalid_api_key", Message: "this client secret was used, or its time is over: make another at /v1/realtime/client_secrets"}
		}
	} else if holder, err = s.o.Identify(r, value); err != nil {
		return "", session, err
	}
	query := r.URL.Query()
	if model := query.Get("model"); model != "" {
		session.Config.Model = model
	}
	switch intent := query.Get("intent"); intent {
	case "", "realtime":
	case "transcription":
		session.Config.TranscriptionOnly = true
	default:
		return "", session, &wire.Error{Type: wire.TypeInvalid, Code: wire.CodeValue, Param: "intent", Message: `"transcription" or none`}
	}
	session.Config.Duplex = query.Get("duplex") == "1"
	session.Config.NoScreen = !extended(r, session)
	if slices.Contains(websocket.Subprotocols(r), "openai-beta.realtime-v1") || r.Header.Get("OpenAI-Beta") != "" {
		return "", session, &wire.Error{Type: wire.TypeInvalid, Code: "beta_api_shape_disabled", Message: "the beta of the Realtime API has ended: leave out the OpenAI-Beta header"}
	}
	return holder, session, nil
}

// makeSecret answers POST /v1/realtime/client_secrets.
func (s *Server) makeSecret(w http.ResponseWriter, r *http.Request) {
	holder, err := s.o.Identify(r, secretOf(r))
	if err != nil {
		refuse(w, err)
		return
	}
	body, err := readBody(r, 2<<20)
	if err != nil {
		refuse(w, err)
		return
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	ask, warnings, err := wire.DecodeSecret(body, wire.Default(s.o.Model))
	if err != nil {
		refuse(w, err)
		return
	}
	if err := s.imitate(r.Context(), &ask.Session); err != nil {
		refuse(w, err)
		return
	}
	value, expires, ok := s.secrets.make(holder, ask.Session, time.Duration(ask.Seconds)*time.Second)
	if !ok {
		refuse(w, &wire.Error{Type: wire.TypeRateLimit, Code: "rate_limit_exceeded", Message: "too many client secrets are waiting to be used"})
		return
	}
	answer(w, warnings, map[string]any{"value": value, "expires_at": expires.Unix(), "session": ask.Session.JSON()})
}

// imitate looks at the recording that came with a session object, if one did.
func (s *Server) imitate(ctx context.Context, session *wire.Session) error {
	wav := session.Reference
	session.Reference = nil
	if wav == nil {
		return nil
	}
	if s.o.Imitate == nil {
		return &wire.Error{Type: wire.TypeInvalid, Code: "voice_consent_required", Param: "session.ref_audio", Message: "no voice is imitated here without a record of a consent"}
	}
	return s.o.Imitate(ctx, wav, session.Config.Language)
}

func readBody(r *http.Request, most int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, &wire.Error{Type: wire.TypeInvalid, Code: wire.CodeTooLarge, Message: "the body is larger than this route reads"}
	}
	return body, err
}

// answer writes JSON, with warnings in the header that all surfaces have them in.
func answer(w http.ResponseWriter, warnings []wire.Warning, v any) {
	warn(w, warnings)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func warn(w http.ResponseWriter, warnings []wire.Warning) {
	for _, one := range warnings {
		w.Header().Add("Warning", `299 dure "`+strings.NewReplacer(`"`, `'`, "\n", " ").Replace(one.Param+": "+one.Message)+`"`)
	}
}

// statuses of errors by code; others are 400.
var statuses = map[string]int{
	"invalid_api_key": http.StatusUnauthorized, "rate_limit_exceeded": http.StatusTooManyRequests, "model_not_found": http.StatusNotFound,
	"admin_key_required": http.StatusForbidden, "run_not_found": http.StatusNotFound, "voice_consent_required": http.StatusForbidden,
	wire.CodeTooLarge: http.StatusRequestEntityTooLarge, "engine_missing": http.StatusServiceUnavailable, "engine_lost": http.StatusBadGateway,
}

// refuse answers with an error before anything else is out.
func refuse(w http.ResponseWriter, err error) {
	e := asError(err)
	status := statuses[e.Code]
	if status == 0 {
		status = http.StatusBadRequest
	}
	if e.Type == wire.TypeServer && status == http.StatusBadRequest {
		status = http.StatusInternalServerError
	}
	var busy *voice.Busy
	if errors.As(err, &busy) {
		w.Header().Set("Retry-After", seconds(busy.RetryAfter))
	}
	fail(w, status, e)
}

func fail(w http.ResponseWriter, status int, e *wire.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"type": e.Type, "code": e.Code, "message": e.Message, "param": e.Param}})
}

// asError is any error in the API's form. What nobody foresaw is a server error whose
// text stays here.
func asError(err error) *wire.Error {
	var e *wire.Error
	var busy *voice.Busy
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &busy):
		return &wire.Error{Type: wire.TypeRateLimit, Code: "rate_limit_exceeded", Message: busy.Error()}
	case errors.Is(err, voice.ErrExpired):
		return &wire.Error{Type: wire.TypeInvalid, Code: "session_expired", Message: "there is no such session any more: open a new one"}
	case errors.Is(err, context.Canceled), errors.Is(err, voice.ErrClosed):
		return &wire.Error{Type: wire.TypeInvalid, Code: "session_closed", Message: "the session has ended"}
	}
	return &wire.Error{Type: wire.TypeServer, Code: "server_error", Message: "something failed that should not; the log says more"}
}
