package front

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options of New. Models and Surfaces are required.
type Options struct {
	Models Models
	// Surfaces are the ways in which clients may speak. The first is also the form
	// of the errors of this package's own routes and of paths that belong to none.
	Surfaces []Surface
	// Log receives one line per request; nil discards them.
	Log *slog.Logger
	// Registry receives the metrics; nil keeps them unseen.
	Registry prometheus.Registerer
	// Metrics answers GET /metrics; nil answers 404.
	Metrics http.Handler
	// Version is the build and engine version, for answers.
	Version string
	// Hosts are names and addresses that a Host header may carry besides
	// loopback ones and the address a connection came in on; "*" allows all.
	Hosts []string
	// Origins ("https://example.org:8443") are those that pages in a browser
	// may call from besides loopback and the server's own; "*" allows all.
	Origins []string
	// Keys say who may do what on the routes that are not open; nil lets everybody do
	// everything. A key is shown as "Authorization: Bearer KEY" or "X-Api-Key: KEY".
	Keys Keys
	// BodyBudget is the most bytes of request bodies held at once, over all
	// requests; 0 means 256 MiB. A body that does not fit is refused.
	BodyBudget int64
	// Team knows the agents whose requests run; nil knows none.
	Team Team
	// Cache returns what the caches of the loaded models hold, in a settled order;
	// nil returns nothing.
	Cache func(ctx context.Context) []CacheReport
	// Routes are further ones, of whoever puts the server together. Their errors look
	// like the first surface's.
	Routes []Route
	// Pool loads and unloads models; nil leaves that to somebody else.
	Pool Pool
	// Closing is closed when the server stops taking requests: /health turns
	// 503 and new generations are refused. Nil means never.
	Closing <-chan struct{}
}

// WriteTimeout is how long a client may take to read one event or answer
// before it counts as stuck and its generation is cancelled.
const WriteTimeout = 30 * time.Second

// readTimeout is how long a client may take to send its body, headerTimeout how
// long to send what comes before it.
const (
	readTimeout   = 60 * time.Second
	headerTimeout = 10 * time.Second
)

// Handler answers all requests of a server. Make it with [New].
type Handler struct {
	table       table
	models      Models
	log         *slog.Logger
	metrics     *metrics
	bodies      *budget
	metricsPage http.Handler
	version     string
	door        door
	keys        Keys
	team        Team
	cache       func(context.Context) []CacheReport
	pool        Pool
	closing     <-chan struct{}
}

// New returns the handler for all routes. It panics without a surface and when
// Registry already holds its metrics, which are mistakes in wiring.
//
// It is to be served by [NewServer].
func New(o Options) *Handler {
	if len(o.Surfaces) == 0 {
		panic("front.New: no surface")
	}
	bodies := &budget{most: o.BodyBudget}
	if bodies.most == 0 {
		bodies.most = defaultBodyBudget
	}
	h := &Handler{
		models:      o.Models,
		log:         o.Log,
		metrics:     newMetrics(o.Registry, bodies),
		bodies:      bodies,
		metricsPage: o.Metrics,
		version:     o.Version,
		door:        newDoor(o.Hosts, o.Origins),
		keys:        o.Keys,
		team:        o.Team,
		cache:       o.Cache,
		pool:        o.Pool,
		closing:     o.Closing,
	}
	if h.team == nil {
		h.team = noTeam{}
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	if h.keys == nil {
		h.keys = nobody{}
	}
	h.table = newTable(o.Surfaces, append(h.own(), o.Routes...))
	return h
}

// Routes returns the route table, in the order in which it is documented.
func (h *Handler) Routes() []Route {
	all := make([]Route, len(h.table.rows))
	for i, r := range h.table.rows {
		all[i] = r.Route
	}
	return all
}

// NewServer returns the http.Server for a handler of [New], which may be
// wrapped. The handler sets its deadlines for bodies and answers itself; what is
// set here is for the time around it.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		// For what net/http answers without the handler, which moves this
		// deadline first of all.
		ReadTimeout: headerTimeout,
		IdleTimeout: 2 * time.Minute,
		// net/http's own answer to "OPTIONS *" reads a body before it comes.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// ServeHTTP runs one request: checks at the door, route, handler, then the
// error answer, the metrics and the log line.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := newExchange(h, w, r)
	h.metrics.inFlight.Inc()
	defer h.metrics.inFlight.Dec()
	defer x.release()
	defer x.finish(r)
	x.Header().Set("X-Request-Id", x.id)
	x.Header().Set("X-Content-Type-Options", "nosniff")
	found, ok := h.table.find(r)
	x.row.surface = found.surface // whatever fails has its form from here on
	err := x.arm(x.start)
	if err == nil {
		err = x.expectBody(r)
	}
	if err == nil {
		err = h.serve(x, r, found, ok)
	}
	if err != nil {
		x.fail(r, err)
	}
}

func (h *Handler) serve(x *Exchange, r *http.Request, found row, ok bool) error {
	if err := h.door.checkHost(r); err != nil {
		return err
	}
	if err := h.door.checkOrigin(x, r); err != nil {
		return err
	}
	if isPreflight(r) {
		return h.preflight(x, r)
	}
	x.row = found
	if !found.Open {
		if err := x.identify(r); err != nil {
			return err
		}
	}
	if !ok {
		return h.table.unknown(r)
	}
	if found.Admin {
		if err := x.mustAdmin(); err != nil {
			return err
		}
	}
	return found.Handle(x, r)
}

func (h *Handler) isClosing() bool {
	select {
	case <-h.closing:
		return true
	default:
		return false
	}
}
