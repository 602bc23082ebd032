package front

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"dure/inference/front/strict"
)

// Route is one row of the route table.
type Route struct {
	Method string
	// Path may hold one "{id}", which takes as much as there is: names of models may
	// hold slashes. It is r.PathValue("id"). Of several rows that fit, the first counts.
	Path string
	// Header, where it is not empty, is one that a request must have for this row,
	// which then comes before rows without: for a path that two surfaces share.
	Header string
	// MaxBody is the largest request body in bytes; 0 means that no body is
	// read.
	MaxBody int64
	// Open routes need no API key, Admin ones a key with that right: they concern the
	// whole server, or others.
	Open, Admin bool
	// AnyType: the body is taken for JSON whatever its Content-Type says, for an API
	// whose documentation leaves it out. Pages from elsewhere are turned away by their
	// Origin all the same.
	AnyType bool
	// Quiet routes are polled by machines: their log line is Debug.
	Quiet bool
	// Doc is one line for people.
	Doc string
	// Handle answers a request. What it returns becomes the answer where nothing is
	// out yet, and the end of the stream where one has begun.
	Handle func(x *Exchange, r *http.Request) error
}

// MaxBody has room for a few hundred thousand tokens of text, with JSON escapes,
// and for two million as numbers.
const MaxBody = 16 << 20

// Surface is what one kind of client speaks.
type Surface struct {
	Routes []Route
	// Prefix is that of the paths whose errors have this surface's form where no
	// route fits. The longest that fits counts; where none does, the first surface.
	Prefix string
	// Fail is the body of an answer that consists of a failure, to be encoded as
	// JSON. It may set headers.
	Fail func(x *Exchange, f *Failure) any
}

// row is a route with the surface that it belongs to.
type row struct {
	Route
	surface *Surface
}

// table is the route table, in the order in which it is documented.
type table struct {
	rows     []row
	surfaces []*Surface // by falling length of their prefixes
	first    *Surface
}

// newTable puts the routes of the surfaces together with those of the front's own,
// whose errors look like the first surface's.
func newTable(surfaces []Surface, own []Route) table {
	t := table{first: &surfaces[0]}
	for i := range surfaces {
		s := &surfaces[i]
		t.surfaces = append(t.surfaces, s)
		for _, r := range s.Routes {
			t.rows = append(t.rows, row{r, s})
		}
	}
	for _, r := range own {
		t.rows = append(t.rows, row{r, t.first})
	}
	slices.SortStableFunc(t.surfaces, func(a, b *Surface) int { return cmp.Compare(len(b.Prefix), len(a.Prefix)) })
	return t
}

const wildcard = "{id}"

// matches reports whether the row's path fits, and what {id} stands for.
func (r *row) matches(path string) (id string, ok bool) {
	prefix, suffix, wild := strings.Cut(r.Path, wildcard)
	if !wild {
		return "", path == r.Path
	}
	if id, ok = strings.CutPrefix(path, prefix); ok {
		id, ok = strings.CutSuffix(id, suffix)
	}
	return id, ok && id != ""
}

// find returns the row for r and stores {id} as a path value. HEAD goes where GET
// goes. Without a row it returns a row that has nothing but a surface.
func (t *table) find(r *http.Request) (_ row, ok bool) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var surface *Surface
	var best *row
	for i := range t.rows {
		candidate := &t.rows[i]
		id, fits := candidate.matches(r.URL.Path)
		if !fits || candidate.Header != "" && r.Header.Get(candidate.Header) == "" {
			continue
		}
		surface = cmp.Or(surface, candidate.surface)
		if candidate.Method == method && (best == nil || best.Header == "" && candidate.Header != "") {
			best = candidate
			r.SetPathValue("id", id)
		}
	}
	if best != nil {
		return *best, true
	}
	for _, s := range t.surfaces {
		if surface == nil && strings.HasPrefix(r.URL.Path, s.Prefix) {
			surface = s
		}
	}
	return row{surface: cmp.Or(surface, t.first)}, false
}

// unknown is a 404 or 405, for what find does not find.
func (t *table) unknown(r *http.Request) error {
	if allowed := t.methods(r.URL.Path); allowed != "" {
		f := Refuse(http.StatusMethodNotAllowed, CodeMethod,
			"%s is not allowed on %s; allowed: %s", strict.Clip(r.Method), strict.Clip(r.URL.Path), allowed)
		f.Header("Allow", allowed)
		return f
	}
	return Refuse(http.StatusNotFound, CodeUnknownURL,
		"there is no %s; the routes are: %s", strict.Clip(r.URL.Path), t.list())
}

// methods lists the methods that a path answers to, empty when the path does not
// exist.
func (t *table) methods(path string) string {
	var methods []string
	for i := range t.rows {
		if _, ok := t.rows[i].matches(path); ok {
			methods = append(methods, t.rows[i].Method)
			if t.rows[i].Method == http.MethodGet {
				methods = append(methods, http.MethodHead)
			}
		}
	}
	return strings.Join(methods, ", ")
}

func (t *table) list() string {
	var list []string
	for _, r := range t.rows {
		list = append(list, fmt.Sprintf("%s %s", r.Method, r.Path))
	}
	return strings.Join(list, ", ")
}

// label names the row in metrics.
func (r *row) label() string { return cmp.Or(r.Path, "none") }
