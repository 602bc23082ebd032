package door

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"dure/runtime/board"
)

// MaxBody is the most bytes of a request: escapes make a statement longer.
const MaxBody = 8 << 20

// Bounds on one door.
const (
	maxConnections = 16 // at once
	maxHeader      = 8 << 10
	maxPath        = 107 // bytes of a socket's path; the system takes no more
	readTime       = 30 * time.Second
	idleTime       = 2 * time.Minute
	// What an answer may take after its call has ended.
	writeTime = 30 * time.Second
)

// A Config says where a door is.
type Config struct {
	Path   string       // of the socket; its folder must be there
	Mode   fs.FileMode  // of the socket; 0: 0600
	Limits board.Limits // the board's: how long a call may take
	Logger *slog.Logger // nil: discard
	// Tables describes the tables; nil: nobody is told.
	Tables func(context.Context) ([]board.Table, error)
	// Git answers git below /git/, and sets its own limits of time; nil: nothing is
	// there. An agent has one socket for both.
	Git http.Handler
}

// A Door is one agent's socket.
type Door struct {
	cfg     Config
	gateway board.Gateway
	server  *http.Server
	ended   chan error
}

// Open listens. A socket that nobody listens at any more is replaced; anything else
// at the path is left alone.
func Open(g board.Gateway, cfg Config) (*Door, error) {
	if len(cfg.Path) > maxPath {
		return nil, fmt.Errorf("open door of %s: %s: a socket's path may have %d bytes; choose a shorter folder", g.Agent().Name, cfg.Path, maxPath)
	}
	if cfg.Mode == 0 {
		cfg.Mode = 0o600
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := clear(cfg.Path); err != nil {
		return nil, fmt.Errorf("open door of %s: %w", g.Agent().Name, err)
	}
	l, err := net.Listen("unix", cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("open door of %s: %w", g.Agent().Name, err)
	}
	if err := os.Chmod(cfg.Path, cfg.Mode); err != nil {
		return nil, fmt.Errorf("open door of %s: %w", g.Agent().Name, errors.Join(err, l.Close()))
	}
	d := &Door{cfg: cfg, gateway: g, ended: make(chan error, 1)}
	d.server = &http.Server{
		Handler:           d.routes(),
		ReadHeaderTimeout: readTime, ReadTimeout: readTime, IdleTimeout: idleTime,
		WriteTimeout:   max(cfg.Limits.Wait, cfg.Limits.Queue+cfg.Limits.Queue+cfg.Limits.Time) + writeTime,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug),
	}
	go func() { d.ended <- d.server.Serve(&few{Listener: l, places: make(chan struct{}, maxConnections)}) }()
	return d, nil
}

// clear removes a socket that is left over from a process that was killed.
func clear(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("%s is there and no socket; choose another path", path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		return errors.Join(fmt.Errorf("%s: somebody listens there already", path), c.Close())
	}
	return os.Remove(path)
}

// Path is where the socket is.
func (d *Door) Path() string { return d.cfg.Path }

// Close ends what is under way and removes the socket.
func (d *Door) Close() error {
	err := d.server.Close()
	if e := <-d.ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

func (d *Door) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/sql", d.sql)
	mux.HandleFunc("POST /v1/claim", d.claim)
	mux.HandleFunc("POST /v1/wait", d.wait)
	mux.HandleFunc("GET /v1/tables", d.tables)
	if d.cfg.Git != nil {
		mux.Handle("/git/", http.StripPrefix("/git", d.cfg.Git))
	}
	return mux
}

func (d *Door) sql(w http.ResponseWriter, r *http.Request) {
	var s statement
	err := decodeBody(http.MaxBytesReader(w, r.Body, MaxBody), &s)
	var id board.ID
	if err == nil {
		id, err = ParseID(s.ID)
	}
	var args []any
	if err == nil {
		args, err = arguments(s.Args)
	}
	var res board.Result
	if err == nil {
		res, err = d.gateway.Do(r.Context(), board.Statement{SQL: s.SQL, Args: args, ID: id})
	}
	d.answer(w, res, err)
}

func (d *Door) claim(w http.ResponseWriter, r *http.Request) {
	var c claim
	err := decodeBody(http.MaxBytesReader(w, r.Body, MaxBody), &c)
	var id board.ID
	if err == nil {
		id, err = ParseID(c.ID)
	}
	var res board.Result
	if err == nil {
		res, err = d.gateway.Claim(r.Context(), board.Claim{Table: c.Table, Crew: c.Crew, ID: id})
	}
	d.answer(w, res, err)
}

func (d *Door) answer(w http.ResponseWriter, res board.Result, err error) {
	var data []byte
	if err == nil {
		data, err = EncodeResult(res)
	}
	if err != nil {
		d.refuse(w, err)
		return
	}
	d.send(w, http.StatusOK, data)
}

func (d *Door) wait(w http.ResponseWriter, r *http.Request) {
	var q wait
	err := decodeBody(http.MaxBytesReader(w, r.Body, MaxBody), &q)
	if err == nil && (q.Seconds < 0 || q.Seconds > d.cfg.Limits.Wait.Seconds()) {
		err = board.Refuse(board.ErrStatement, nil, "a wait may last %v", d.cfg.Limits.Wait)
	}
	var n uint64
	if err == nil {
		n, err = d.gateway.Wait(r.Context(), q.After, time.Duration(q.Seconds*float64(time.Second)), q.Tables...)
	}
	d.say(w, Change{n}, err)
}

func (d *Door) tables(w http.ResponseWriter, r *http.Request) {
	if d.cfg.Tables == nil {
		d.refuse(w, board.Refuse(board.ErrDenied, nil, "the tables are not described here"))
		return
	}
	all, err := d.cfg.Tables(r.Context())
	for i := range all {
		all[i].Columns = all[i].All() // with those that are filled
	}
	d.say(w, all, err)
}

func (d *Door) say(w http.ResponseWriter, v any, err error) {
	var b bytes.Buffer
	if err == nil {
		err = json.NewEncoder(&b).Encode(v)
	}
	if err != nil {
		d.refuse(w, err)
		return
	}
	d.send(w, http.StatusOK, b.Bytes())
}

// refuse says what an agent may know of an error. What is the store's own stays
// here.
func (d *Door) refuse(w http.ResponseWriter, err error) {
	var f failure
	f.Error.Reason, f.Error.Message = "internal", "the board has failed; try again"
	status := http.StatusInternalServerError
	for _, r := range reasons {
		if !errors.Is(err, r.err) {
			continue
		}
		f.Error.Reason, status = r.name, r.status
		f.Error.Message = r.err.Error()
		var why *board.Refusal
		if errors.As(err, &why) {
			f.Error.Message = why.Error()
		}
		break
	}
	if f.Error.Reason == "internal" && !errors.Is(err, context.Canceled) {
		d.cfg.Logger.Error("a call has failed", "agent", d.gateway.Agent().Name, "error", err)
	}
	data, err := json.Marshal(f)
	if err != nil {
		d.cfg.Logger.Error("an error cannot be written", "error", err)
	}
	d.send(w, status, append(data, '\n'))
}

func (d *Door) send(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := w.Write(data); err != nil {
		d.cfg.Logger.Debug("an answer was not taken", "agent", d.gateway.Agent().Name, "error", err)
	}
}
