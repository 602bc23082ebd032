package ollama

import (
	"context"
	"net/http"
	"time"

	"dure/inference/front"
)

// Catalogue is what this surface needs of whoever keeps the files of models. It is
// safe for concurrent use.
type Catalogue interface {
	// Describe tells what is known of a model of the catalogue.
	Describe(name string) (Details, error)
	// Loaded returns the models that are loaded now.
	Loaded() []Loaded
	// Pull fetches a model and tells how far it is. An error is one that a client can
	// act on.
	Pull(ctx context.Context, name string, tell func(Progress)) error
	// Copy gives a model a further name.
	Copy(from, to string) error
	// Remove deletes the files of a model, or the name of a copy.
	Remove(ctx context.Context, name string) error
}

// Details are what is known of a model without loading it. What is not known is empty.
type Details struct {
	Here         bool // its files are on this machine
	Bytes        int64
	Digest       string // SHA-256 of the file, in hex
	Modified     time.Time
	Architecture string
	Parameters   string // for people: "27.4B"
	Quantization string // "Q4_K_M"
	Template     string // of conversations
	Licence      string
	Context      int // that it was trained for, in tokens
	Embedding    int // the width of its layers
	Embeds       bool
	Tools        bool // the template knows tools
	Thinks       bool
}

// Loaded is a model that is loaded.
type Loaded struct {
	Name    string
	Bytes   int64 // in all
	Device  int64 // of those on cards
	Context int
	Until   time.Time // when it leaves without another request; zero for never
}

// Progress of a pull.
type Progress struct {
	Status string // for people
	Digest string
	Total  int64 // bytes; 0 where not known
	Done   int64
}

// Options of Surface.
type Options struct {
	Catalogue Catalogue
	// Version is what /api/version answers.
	Version string
}

type surface struct {
	catalogue Catalogue
	version   string
}

// maxOrder is more than any order needs.
const maxOrder = 64 << 10

// Surface is what clients of Ollama speak.
func Surface(o Options) front.Surface {
	s := &surface{o.Catalogue, o.Version}
	return front.Surface{
		Prefix: "/api/",
		Routes: []front.Route{
			{Method: "POST", Path: "/api/chat", MaxBody: front.MaxBody, AnyType: true, Doc: "answer a conversation in Ollama's form", Handle: chat},
			{Method: "POST", Path: "/api/generate", MaxBody: front.MaxBody, AnyType: true, Doc: "answer a prompt in Ollama's form", Handle: generate},
			{Method: "POST", Path: "/api/embed", MaxBody: front.MaxBody, AnyType: true, Doc: "the vectors of texts in Ollama's form", Handle: embed},
			{Method: "POST", Path: "/api/embeddings", MaxBody: front.MaxBody, AnyType: true, Doc: "the vector of one text, in an older form", Handle: embedOne},
			{Method: "GET", Path: "/api/tags", Doc: "the models on this machine, in Ollama's form", Handle: s.tags},
			{Method: "POST", Path: "/api/show", MaxBody: maxOrder, AnyType: true, Doc: "what is known of a model", Handle: s.show},
			{Method: "GET", Path: "/api/ps", Doc: "the models that are loaded", Handle: s.ps},
			{Method: "POST", Path: "/api/pull", Admin: true, MaxBody: maxOrder, AnyType: true, Doc: "fetch a model of the catalogue", Handle: s.pull},
			{Method: "DELETE", Path: "/api/delete", Admin: true, MaxBody: maxOrder, AnyType: true, Doc: "remove a model's files", Handle: s.remove},
			{Method: "GET", Path: "/api/version", Doc: "the version of this server", Handle: s.showVersion},
			{Method: "POST", Path: "/api/create", MaxBody: maxOrder, AnyType: true, Doc: "refused: models come from models.yaml", Handle: refused("create", "add the model to models.yaml")},
			{Method: "POST", Path: "/api/copy", Admin: true, MaxBody: maxOrder, AnyType: true, Doc: "give a model a further name", Handle: s.copy},
			{Method: "POST", Path: "/api/push", MaxBody: maxOrder, AnyType: true, Doc: "refused: nothing leaves this machine", Handle: refused("push", "nothing leaves this machine")},
			{Method: "GET", Path: "/", Open: true, Quiet: true, Doc: "a word for clients that look whether a server is there", Handle: alive},
		},
		Fail: func(_ *front.Exchange, f *front.Failure) any { return wireFailure(f) },
	}
}

// wireFailure is an error in this form. Code and param are not Ollama's.
func wireFailure(f *front.Failure) map[string]any {
	e := map[string]any{"error": f.Message, "code": f.Code}
	if f.Param != "" {
		e["param"] = f.Param
	}
	return e
}

func refused(what, instead string) func(*front.Exchange, *http.Request) error {
	return func(*front.Exchange, *http.Request) error {
		return front.Refuse(http.StatusNotImplemented, front.CodeUnavailable, "this server does not %s models; %s", what, instead)
	}
}

// alive answers what clients ask to see whether a server is there, in the words that
// some of them look for.
func alive(x *front.Exchange, _ *http.Request) error {
	x.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := x.Write([]byte("Ollama is running (as dure speaks it)\n"))
	return err
}

func (s *surface) showVersion(x *front.Exchange, _ *http.Request) error {
	return x.JSON(http.StatusOK, map[string]string{"version": s.version})
}
