package catalog

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dure/gguf"
	"dure/inference"
)

// Roles are what models are meant for.
var Roles = []string{"demo", "test", "lead", "planner", "worker", "voice", "embedding"}

var (
	nameRE   = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)
	sha256RE = regexp.MustCompile(`^[0-9a-f]{64}$`)
	// packageRE and versionRE also keep an entry from passing options to pip.
	packageRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	// repoRE, revisionRE and hubFileRE keep a name from leaving its place in a URL
	// or on the disk.
	repoRE     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$`)
	revisionRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	hubFileRE  = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._+@-]*/)*[A-Za-z0-9][A-Za-z0-9._+@-]*\.gguf$`)
	envRE      = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	versionRE  = regexp.MustCompile(`^[0-9][A-Za-z0-9.!+_-]*$`)
)

// validate checks what the types do not say.
func (w *walker) validate(c *Catalog) {
	w.validateRoles(c)
	first := map[string]int{}
	for i, e := range c.Entries {
		at := fmt.Sprintf("models[%d]", i)
		w.validateEntry(e, at)
		if e.Name == "" {
			continue
		}
		line := w.line(at + ".name")
		if other, ok := first[e.Name]; ok {
			w.complain(line, "%s.name: %q is there twice, first in line %d", at, e.Name, other)
		} else {
			first[e.Name] = line
		}
	}
}

// need complains about a field that is missing or does not satisfy ok.
func (w *walker) need(path string, missing, ok bool, want string) {
	switch {
	case missing:
		w.complain(w.line(path), "%s is missing: %s", path, want)
	case !ok:
		w.complain(w.line(path), "%s: want %s", path, want)
	}
}

func (w *walker) validateEntry(e Entry, at string) {
	w.need(at+".name", e.Name == "", nameRE.MatchString(e.Name), "lower-case letters, digits, '.', '_' and '-'")
	w.need(at+".licence", e.Licence == "", true, "the licence's SPDX identifier or name")
	w.need(at+".roles", len(e.Roles) == 0, true, "a list of "+strings.Join(Roles, ", "))
	for i, role := range e.Roles {
		w.need(fmt.Sprintf("%s.roles[%d]", at, i), false, slices.Contains(Roles, role),
			fmt.Sprintf("one of %s, found %q%s", strings.Join(Roles, ", "), role, DidYouMean(role, Roles)))
	}
	if e.KeepAlive != "" {
		_, err := inference.ParseKeepAlive(e.KeepAlive)
		w.need(at+".keep_alive", false, err == nil, "a time such as 10m, or -1 for ever")
	}
	w.need(at+".pinned", false, !e.Pinned || len(e.Turns) == 0, "no pin on a model that has turns with others: it could not make room for them")
	for key, given := range map[string]bool{"keep_alive": e.KeepAlive != "", "pinned": e.Pinned, "turns": len(e.Turns) > 0, "together": len(e.Together) > 0, "draft": e.Draft != ""} {
		if given && e.Remote() {
			w.complain(w.line(at+"."+key), "%s.%s: what an endpoint has loaded is not decided here; leave it out", at, key)
		}
	}
	w.need(at+".draft", false, e.Draft == "" || e.Draft != e.Name && nameRE.MatchString(e.Draft), "the name of another model")
	w.need(at+".memory", false, e.Memory >= 0, "the bytes that it takes on a card when it is loaded")
	w.validateSource(e.Source, at+".source")
	w.validateFile(e, at)
	w.validateDefaults(e.Defaults, at+".defaults")
	w.validateEmbedding(e, at)
}

func (w *walker) validateEmbedding(e Entry, at string) {
	x := e.Embedding
	w.need(at+".embedding.shortest", false, x.Shortest >= 0, "the fewest numbers that a vector may be shortened to")
	w.need(at+".embedding.pooling", false, x.Pooling == "" || slices.Contains([]string{"mean", "cls", "last"}, x.Pooling), "mean, cls or last")
	w.need(at+".embedding", false, x == (Embedding{}) || slices.Contains(e.Roles, "embedding"), "it only of a model with the role embedding")
}

// validateFile checks what is said of the GGUF file against where it comes from.
func (w *walker) validateFile(e Entry, at string) {
	s := e.Source
	pinned := s.Path == "" && (len(s.wheels()) > 0 || s.URL != "")
	w.need(at+".sha256", e.SHA256 == "" && pinned, e.SHA256 == "" || sha256RE.MatchString(e.SHA256), "64 hexadecimal digits in lower case")
	w.need(at+".bytes", e.Bytes == 0 && pinned, e.Bytes >= 0, "the file's size in bytes")
	shards := s.HuggingFace != nil && len(s.HuggingFace.files()) > 1
	for _, key := range []string{"sha256", "bytes", "architecture", "memory"} {
		given := map[string]bool{"sha256": e.SHA256 != "", "bytes": e.Bytes != 0, "architecture": e.Architecture != "", "memory": e.Memory != 0}[key]
		switch {
		case given && e.Remote():
			w.complain(w.line(at+"."+key), "%s.%s: an endpoint has no file; leave it out", at, key)
		case given && shards && (key == "sha256" || key == "bytes"):
			w.complain(w.line(at+"."+key), "%s.%s: the shards of a set are pinned one by one at the first pull; leave it out", at, key)
		}
	}
}

// given says which kinds of source are set.
func (s Source) given() map[string]bool {
	return map[string]bool{"pypi": s.PyPI != nil, "pypi_parts": len(s.Parts) > 0, "huggingface": s.HuggingFace != nil, "url": s.URL != "",
		"path": s.Path != "", "manual": s.Manual != "", "endpoint": s.Endpoint != nil}
}

func (w *walker) validateSource(s Source, at string) {
	given := 0
	for _, there := range s.given() {
		if there {
			given++
		}
	}
	switch {
	case given != 1:
		w.complain(w.line(at), "%s: want exactly one of pypi, pypi_parts, huggingface, url, path, manual and endpoint", at)
	case s.Path != "":
		w.need(at+".path", false, filepath.IsAbs(s.Path) && strings.HasSuffix(s.Path, ".gguf"), "the absolute path of a .gguf file")
	case s.URL != "":
		w.need(at+".url", false, httpsURL(s.URL), "an https address without user, password and fragment")
	case s.HuggingFace != nil:
		w.validateHub(*s.HuggingFace, at+".huggingface")
	case s.Endpoint != nil:
		w.validateEndpoint(*s.Endpoint, at+".endpoint")
	case s.PyPI != nil:
		w.validateWheel(*s.PyPI, at+".pypi")
		w.validateMember(*s.PyPI, at+".pypi")
	case len(s.Parts) > 0:
		w.validateParts(s.Parts, at+".pypi_parts")
	}
}

func (w *walker) validateHub(h HuggingFace, at string) {
	w.need(at+".repo", h.Repo == "", repoRE.MatchString(h.Repo), "owner/name of the repository")
	w.need(at+".revision", false, h.Revision == "" || revisionRE.MatchString(h.Revision), "a commit, tag or branch without slashes")
	w.need(at+".file", h.File == "", hubFileRE.MatchString(h.File) && !strings.Contains(h.File, ".."), "the path of a .gguf file in the repository, without special characters")
	if _, no, _, ok := gguf.SplitShardPath(h.File); ok && no != 0 {
		w.complain(w.line(at+".file"), "%s.file: want the first shard of the set, number 00001", at)
	}
}

// validateEndpoint never shows the key's value: a key that was pasted in place of
// its variable's name must not end up in a log.
func (w *walker) validateEndpoint(e Endpoint, at string) {
	w.need(at+".url", e.URL == "", endpointURL(e.URL), wantEndpoint)
	w.need(at+".model", e.Model == "", true, "the model's name on that server")
	w.validateServer(e, at)
	for _, p := range []struct {
		key   string
		value float64
	}{{"input", e.Price.Input}, {"cached", e.Price.Cached}, {"output", e.Price.Output}} {
		w.need(at+".price."+p.key, false, exact(p.value), wantPrice)
	}
}

// validateServer checks what an entry and a role say alike of a server.
func (w *walker) validateServer(e Endpoint, at string) {
	w.need(at+".api", e.API == "", slices.Contains(APIs, e.API), "one of "+strings.Join(APIs, ", "))
	w.need(at+".key_env", false, e.KeyEnv == "" || envRE.MatchString(e.KeyEnv), "the name of an environment variable that holds the key, in capitals; never the key itself")
	w.need(at+".key_file", false, e.KeyFile == "" || filepath.IsAbs(e.KeyFile) && e.KeyEnv == "", "the absolute path of a file that holds the key, and then no key_env; never the key itself")
	w.need(at+".context", e.Context == 0, e.Context > 0, "the tokens that it takes in one request")
}

func httpsURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && u.Fragment == ""
}

func endpointURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.RawQuery != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname())
}

func (w *walker) validateMember(p PyPI, at string) {
	ending, want := ".gguf", "the path of a .gguf file in the wheel"
	if p.Convert != "" {
		w.need(at+".convert", false, p.Convert == ConvertBERT, ConvertBERT+", or nothing")
		ending, want = ".zip", "the path of a .zip file in the wheel, which is converted"
	}
	w.need(at+".member", p.Member == "", filepath.IsLocal(p.Member) && strings.HasSuffix(p.Member, ending), want)
}

// validateParts also finds a part that is listed twice: the copied lines of the
// part before are the likeliest slip, and would be found only after all of them
// were downloaded.
func (w *walker) validateParts(parts []PyPI, at string) {
	w.need(at, false, len(parts) > 1, "two parts or more; a file in one wheel is pypi")
	type piece struct{ wheel, member string }
	first := map[piece]int{}
	for i, p := range parts {
		at := fmt.Sprintf("%s[%d]", at, i)
		w.validateWheel(p, at)
		w.need(at+".member", p.Member == "", filepath.IsLocal(p.Member), "the path of the part in the wheel")
		w.need(at+".convert", false, p.Convert == "", "nothing: parts of a file are joined as they are")
		this := piece{p.Wheel, p.Member}
		if line, ok := first[this]; ok {
			w.complain(w.line(at), "%s: this part is there twice, first in line %d", at, line)
			continue
		}
		first[this] = w.line(at)
	}
}

func (w *walker) validateWheel(p PyPI, at string) {
	w.need(at+".package", p.Package == "", packageRE.MatchString(p.Package), "the package's name")
	w.need(at+".version", p.Version == "", versionRE.MatchString(p.Version), "the exact version")
	w.need(at+".wheel", p.Wheel == "", path.Base(p.Wheel) == p.Wheel && strings.HasSuffix(p.Wheel, ".whl"), "the file name of the wheel")
	w.need(at+".sha256", p.SHA256 == "", sha256RE.MatchString(p.SHA256), "64 hexadecimal digits in lower case")
	w.need(at+".bytes", p.Bytes == 0, p.Bytes >= 0, "the wheel's size in bytes")
}

func (w *walker) validateDefaults(d Defaults, at string) {
	w.need(at+".context", false, d.Context >= 0, "0 or a number of tokens")
	w.need(at+".sequences", false, d.Sequences >= 0, "0 or a number of requests")
	w.need(at+".temperature", false, d.Temperature == nil || *d.Temperature >= 0 && *d.Temperature <= 2, "0 to 2")
	w.need(at+".top_p", false, d.TopP == nil || *d.TopP > 0 && *d.TopP <= 1, "above 0, up to 1")
	w.need(at+".top_k", false, d.TopK == nil || *d.TopK >= 0, "0 or more")
	w.need(at+".min_p", false, d.MinP == nil || *d.MinP >= 0 && *d.MinP < 1, "0 to below 1")
}
