package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dure/inference"
)

// maxName is how long the name of a session or an agent may be, in bytes.
const maxName = 256

// callerField is one thing that a request tells about its caller: in its body
// or, for clients whose body is not to be had, in a header.
type callerField struct {
	name, header string
	text         bool // in a body it is a string
	decode       field[inference.Caller]
}

var (
	priorities = []string{string(inference.PriorityInteractive), string(inference.PriorityPlanner), string(inference.PriorityMerge),
		string(inference.PriorityWorker), string(inference.PriorityBackground)}
	phases = []string{string(inference.PhaseWaiting), string(inference.PhaseIdle), string(inference.PhaseEnded)}
)

var callerFields = []callerField{
	{"session", "X-Dure-Session", true, func(d *decoder, c *inference.Caller, t token) (err error) {
		c.Session, err = d.label(t)
		return err
	}},
	{"agent", "X-Dure-Agent", true, func(d *decoder, c *inference.Caller, t token) (err error) {
		c.Agent, err = d.agentName(t)
		return err
	}},
	{"parent", "X-Dure-Parent", true, func(d *decoder, c *inference.Caller, t token) (err error) {
		c.Parent, err = d.agentName(t)
		return err
	}},
	{"priority", "X-Dure-Priority", true, func(d *decoder, c *inference.Caller, t token) error {
		word, err := d.oneOf(t, priorities)
		c.Priority = inference.Priority(word)
		return err
	}},
	{"deadline_ms", "X-Dure-Deadline-Ms", false, integer(1, math.MaxInt32, func(c *inference.Caller, i int64) { c.DeadlineMS = int(i) })},
	{"next", "X-Dure-Next", true, func(d *decoder, c *inference.Caller, t token) error {
		word, err := d.oneOf(t, phases)
		c.Next = inference.Phase(word)
		return err
	}},
	{"pin_prefix", "X-Dure-Pin-Prefix", false, boolean(func(c *inference.Caller, b bool) { c.PinPrefix = b })},
	{"keep_alive", "X-Dure-Keep-Alive", false, func(d *decoder, c *inference.Caller, t token) (err error) {
		c.KeepAlive, err = d.keepAlive(t)
		return err
	}},
}

// ofCaller are the fields of a body that tell about its caller.
func ofCaller() fields[request] {
	all := fields[request]{
		// OpenAI's name for what belongs together in the cache.
		"prompt_cache_key": func(d *decoder, r *request, t token) (err error) {
			if isText("")(d, t) {
				return nil // some clients send it where there is none
			}
			r.cacheKey, err = d.label(t)
			return err
		},
	}
	for _, f := range callerFields {
		all[f.name] = func(d *decoder, r *request, t token) error { return f.decode(d, &r.caller, t) }
	}
	return all
}

// headerPrefix is that of the headers that are this server's own.
const headerPrefix = "X-Dure-"

// addHeaders puts what the headers tell about the caller to what the body tells,
// and checks the whole. A header that is not known is named in the warnings.
func (r *request) addHeaders(header http.Header) error {
	rest := map[string]bool{}
	for name := range header {
		if strings.HasPrefix(name, headerPrefix) {
			rest[name] = true
		}
	}
	for _, f := range callerFields {
		delete(rest, f.header)
		if err := r.addHeader(f, header[f.header]); err != nil {
			return err
		}
	}
	unknown := slices.Sorted(maps.Keys(rest))
	for i, name := range unknown {
		if i == maxWarnings {
			r.warnings = append(r.warnings, fmt.Sprintf("%d more unknown headers, ignored", len(unknown)-i))
			break
		}
		r.warnings = append(r.warnings, clip(name)+": unknown header, ignored")
	}
	return r.checkCaller()
}

func (r *request) addHeader(f callerField, values []string) error {
	if len(values) == 0 {
		return nil
	}
	d := (&decoder{}).at(f.header)
	if len(values) > 1 {
		return d.invalid("the header is given %d times; send it once", len(values))
	}
	t, ok := f.token(values[0])
	if !ok {
		return d.invalid("the header is not valid UTF-8")
	}
	merged := r.caller
	if err := f.decode(d, &merged, t); err != nil {
		return err
	}
	if r.present[f.name] && merged != r.caller {
		return contradiction(f.name, "the header "+f.header)
	}
	r.caller = merged
	return nil
}

// token is the text of a header as a value of the kind that a body would have.
func (f callerField) token(text string) (token, bool) {
	if !f.text && json.Valid([]byte(text)) {
		return (&scanner{body: []byte(text)}).token(), true
	}
	literal, err := json.Marshal(text)
	return token{kind: kindString, raw: literal}, err == nil && utf8.ValidString(text)
}

// checkCaller looks at what no field alone tells.
func (r *request) checkCaller() error {
	c := &r.caller
	switch {
	case r.cacheKey == "":
	case c.Session == "":
		c.Session = r.cacheKey
	case c.Session != r.cacheKey:
		return contradiction("session", "prompt_cache_key")
	}
	if c.Parent != "" && c.Agent == "" {
		return (&decoder{}).at("parent").invalid("is only allowed beside agent, whose parent it names")
	}
	return nil
}

// contradiction is the error for something that is told in two places, and not
// the same.
func contradiction(name, other string) error {
	return (&decoder{}).at(name).invalid("contradicts %s; send one of them, or the same in both", other)
}

// label returns a name of a caller's own.
func (d *decoder) label(t token) (string, error) {
	s, err := d.text(t)
	switch {
	case err != nil:
		return "", err
	case s == "" || len(s) > maxName:
		return "", d.invalid("a name must have 1 to %d bytes, not %d", maxName, len(s))
	case strings.ContainsFunc(s, unicode.IsControl):
		return "", d.invalid("a name must not hold control characters, such as the end of a line")
	}
	return s, nil
}

// agentName returns a name that can stand in the path of a URL.
func (d *decoder) agentName(t token) (string, error) {
	s, err := d.label(t)
	if err != nil {
		return "", err
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "." || part == ".." {
			return "", d.invalid("the name holds %q between slashes, which clients remove from the path that stops an agent", part)
		}
	}
	return s, nil
}

// oneOf returns a word that is one of those that are known.
func (d *decoder) oneOf(t token, known []string) (string, error) {
	s, err := d.text(t)
	if err == nil && !slices.Contains(known, s) {
		err = d.invalid("%q is not known; it must be one of %s%s", clip(s), strings.Join(known, ", "), nearest(s, known))
	}
	return s, err
}
