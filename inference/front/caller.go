package front

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"dure/inference"
	"dure/inference/front/strict"
)

// callerField is one thing that a request tells about its caller: in its body
// or, for clients whose body is not to be had, in a header.
type callerField struct {
	name, header string
	text         bool // in a body it is a string
	decode       strict.Field[inference.Caller]
}

var (
	priorities = []string{string(inference.PriorityInteractive), string(inference.PriorityPlanner), string(inference.PriorityMerge),
		string(inference.PriorityWorker), string(inference.PriorityBackground)}
	phases = []string{string(inference.PhaseWaiting), string(inference.PhaseIdle), string(inference.PhaseEnded)}
)

var callerFields = []callerField{
	{"session", "X-Dure-Session", true, func(d *strict.Decoder, c *inference.Caller, v strict.Value) (err error) {
		c.Session, err = d.Label(v)
		return err
	}},
	{"agent", "X-Dure-Agent", true, func(d *strict.Decoder, c *inference.Caller, v strict.Value) (err error) {
		c.Agent, err = agentName(d, v)
		return err
	}},
	{"parent", "X-Dure-Parent", true, func(d *strict.Decoder, c *inference.Caller, v strict.Value) (err error) {
		c.Parent, err = agentName(d, v)
		return err
	}},
	{"priority", "X-Dure-Priority", true, func(d *strict.Decoder, c *inference.Caller, v strict.Value) error {
		word, err := d.OneOf(v, priorities)
		c.Priority = inference.Priority(word)
		return err
	}},
	{"deadline_ms", "X-Dure-Deadline-Ms", false, strict.Integer(1, math.MaxInt32, func(c *inference.Caller, i int64) { c.DeadlineMS = int(i) })},
	{"next", "X-Dure-Next", true, func(d *strict.Decoder, c *inference.Caller, v strict.Value) error {
		word, err := d.OneOf(v, phases)
		c.Next = inference.Phase(word)
		return err
	}},
	{"pin_prefix", "X-Dure-Pin-Prefix", false, strict.Boolean(func(c *inference.Caller, b bool) { c.PinPrefix = b })},
	{"keep_alive", "X-Dure-Keep-Alive", false, func(d *strict.Decoder, c *inference.Caller, v strict.Value) (err error) {
		c.KeepAlive, err = KeepAlive(d, v)
		return err
	}},
}

// CallerFields are the fields of a body that tell about its caller; of says where
// in a request that is kept.
func CallerFields[R any](of func(*R) *inference.Caller) strict.Fields[R] {
	all := strict.Fields[R]{}
	for _, f := range callerFields {
		all[f.name] = func(d *strict.Decoder, r *R, v strict.Value) error { return f.decode(d, of(r), v) }
	}
	return all
}

// headerPrefix is that of the headers that are this server's own.
const headerPrefix = "X-Dure-"

// AddHeaders puts what the headers of a request tell about its caller to what its
// body told, whose members are told, and checks the whole. It returns warnings for
// the answer: the headers of the family that are not known.
func AddHeaders(c *inference.Caller, told map[string]bool, header http.Header) (warnings []string, err error) {
	rest := map[string]bool{}
	for name := range header {
		if strings.HasPrefix(name, headerPrefix) {
			rest[name] = true
		}
	}
	for _, f := range callerFields {
		delete(rest, f.header)
		if err := addHeader(c, told, f, header[f.header]); err != nil {
			return nil, err
		}
	}
	unknown := slices.Sorted(maps.Keys(rest))
	for i, name := range unknown {
		if i == strict.MaxWarnings {
			warnings = append(warnings, fmt.Sprintf("%d more unknown headers, ignored", len(unknown)-i))
			break
		}
		warnings = append(warnings, strict.Clip(name)+": unknown header, ignored")
	}
	if c.Parent != "" && c.Agent == "" {
		return nil, strict.At("parent").Invalid("is only allowed beside agent, whose parent it names")
	}
	return warnings, nil
}

func addHeader(c *inference.Caller, told map[string]bool, f callerField, values []string) error {
	if len(values) == 0 {
		return nil
	}
	d := strict.At(f.header)
	if len(values) > 1 {
		return d.Invalid("the header is given %d times; send it once", len(values))
	}
	v, ok := strict.Loose(values[0], f.text)
	if !ok {
		return d.Invalid("the header is not valid UTF-8")
	}
	merged := *c
	if err := f.decode(d, &merged, v); err != nil {
		return err
	}
	if told[f.name] && merged != *c {
		return Contradiction(f.name, "the header "+f.header)
	}
	*c = merged
	return nil
}

// Contradiction is the error for something that is told in two places, and not
// the same.
func Contradiction(name, other string) error {
	return strict.At(name).Invalid("contradicts %s; send one of them, or the same in both", other)
}

// agentName returns a name that can stand in the path of a URL.
func agentName(d *strict.Decoder, v strict.Value) (string, error) {
	s, err := d.Label(v)
	if err != nil {
		return "", err
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "." || part == ".." {
			return "", d.Invalid("the name holds %q between slashes, which clients remove from the path that stops an agent", part)
		}
	}
	return s, nil
}
