package catalog

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"dure/inference"
)

// Team says which model each role of a swarm works with; nil is the default model.
type Team struct {
	Lead    *Assignment `yaml:"lead"`
	Planner *Assignment `yaml:"planner"`
	Worker  *Assignment `yaml:"worker"`
	Judge   *Assignment `yaml:"judge"`
	Merger  *Assignment `yaml:"merger"`
	// Guard judges calls before they are carried out, where rules leave them open; nil is
	// none.
	Guard *Assignment `yaml:"guard"`
}

// TeamRoles are the roles of a Team.
var TeamRoles = []string{"lead", "planner", "worker", "judge", "merger"}

// RoleGuard is the role of who judges calls of tools. It is no agent of the team, and has
// no default.
const RoleGuard = "guard"

// named are the roles that a file may name.
var named = append(slices.Clone(TeamRoles), RoleGuard)

// of is the place of a role; nil where there is no such role.
func (t *Team) of(role string) **Assignment {
	return map[string]**Assignment{"lead": &t.Lead, "planner": &t.Planner, "worker": &t.Worker, "judge": &t.Judge, "merger": &t.Merger, RoleGuard: &t.Guard}[role]
}

// Assignment is the model of a role: one of the catalogue, or one that another server
// runs.
type Assignment struct {
	// Model is an entry's name, or beside Endpoint the name on that server.
	Model string `yaml:"model"`
	// Endpoint is the base address of another server, up to /v1. API, KeyEnv, KeyFile,
	// Local and Context are of it, as in Endpoint.
	Endpoint string `yaml:"endpoint"`
	API      string `yaml:"api"`
	KeyEnv   string `yaml:"key_env"`
	KeyFile  string `yaml:"key_file"`
	Local    *bool  `yaml:"local"`
	Context  int    `yaml:"context"`
	// Price is what the model costs in this role; nil is what its entry says.
	Price *RolePrice `yaml:"price"`
	// MaxTokens limits one answer; 0 is the model's own limit.
	MaxTokens int `yaml:"max_tokens"`
	// Thinking is an effort, such as high, or a number of tokens; empty is the model's
	// own.
	Thinking string `yaml:"thinking"`
}

// RolePrice is in US dollars per million tokens, with six decimals at most.
type RolePrice struct {
	Input float64 `yaml:"input"`
	// CachedInput is for input that the server had in its cache; nil is as Input.
	CachedInput *float64 `yaml:"cached_input"`
	// CacheWrite is for input that the server puts into its cache; nil is as Input.
	CacheWrite *float64 `yaml:"cache_write"`
	Output     float64  `yaml:"output"`
	Currency   string   `yaml:"currency"` // USD, or empty
}

// Rates are prices as whole numbers: millionths of a US dollar per million tokens.
type Rates struct {
	Input, Cached, Output int64
	Write                 int64 // into the cache; 0: as Input
}

// micro is a price in millionths of a dollar.
func micro(dollars float64) int64 { return int64(math.Round(dollars * 1e6)) }

// exact reports whether a price is a number of millionths of a dollar that can be meant.
func exact(dollars float64) bool {
	return dollars >= 0 && dollars < 1e6 && math.Abs(dollars*1e6-math.Round(dollars*1e6)) < 1e-3
}

func (p RolePrice) rates() Rates {
	r := Rates{Input: micro(p.Input), Cached: micro(p.Input), Output: micro(p.Output)}
	if p.CachedInput != nil {
		r.Cached = micro(*p.CachedInput)
	}
	if p.CacheWrite != nil {
		r.Write = micro(*p.CacheWrite)
	}
	return r
}

// Rates are the prices as whole numbers.
func (p Price) Rates() Rates {
	return Rates{Input: micro(p.Input), Cached: micro(p.Cached), Output: micro(p.Output)}
}

// Here reports whether the endpoint is one's own: on this machine, or said to be.
func (e Endpoint) Here() bool {
	if e.Local != nil {
		return *e.Local
	}
	u, err := url.Parse(e.URL)
	return err == nil && loopback(u.Hostname())
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Assigned is what a role works with.
type Assigned struct {
	Role string
	// Given says that the file names the role; without it is the default model.
	Given bool
	// Entry is the model of the catalogue; its name is empty where the role names an
	// endpoint itself.
	Entry Entry
	// Endpoint is the other server; nil where this machine loads Entry.
	Endpoint  *Endpoint
	Rates     Rates
	MaxTokens int // 0 is no limit of the role's own
	Reasoning inference.Reasoning
}

// Local reports whether the model is one's own.
func (a Assigned) Local() bool { return a.Endpoint == nil || a.Endpoint.Here() }

// Assigned returns what a role works with. Errors are *inference.Error with
// CodeModelNotFound; of a merged catalog only where it has no default.
func (c *Catalog) Assigned(role string) (Assigned, error) {
	place := c.Roles.of(role)
	if place == nil {
		return Assigned{}, fmt.Errorf("catalog: there is no role %q; there are %s", role, strings.Join(named, ", "))
	}
	a := Assigned{Role: role, Given: *place != nil}
	given := Assignment{}
	if a.Given {
		given = **place
	}
	if given.Endpoint != "" {
		a.Endpoint = given.endpoint()
	} else {
		entry, err := c.Resolve(given.Model)
		if err != nil {
			return Assigned{}, err
		}
		a.Entry, a.Endpoint = entry, entry.Source.Endpoint
		if a.Endpoint != nil {
			a.Rates = a.Endpoint.Price.Rates()
		}
	}
	if given.Price != nil {
		a.Rates = given.Price.rates()
	}
	a.MaxTokens = given.MaxTokens
	a.Reasoning, _ = reasoningOf(given.Thinking) // it was checked when the file was read
	return a, nil
}

func (a Assignment) endpoint() *Endpoint {
	return &Endpoint{URL: a.Endpoint, API: a.API, Model: a.Model, KeyEnv: a.KeyEnv, KeyFile: a.KeyFile, Local: a.Local, Context: a.Context}
}

// efforts are the words of thinking.
var efforts = []string{string(inference.EffortNone), string(inference.EffortMinimal), string(inference.EffortLow), string(inference.EffortMedium),
	string(inference.EffortHigh), string(inference.EffortXHigh), string(inference.EffortMax)}

func reasoningOf(text string) (inference.Reasoning, bool) {
	if text == "" || slices.Contains(efforts, text) {
		return inference.Reasoning{Effort: inference.Effort(text)}, true
	}
	n, err := strconv.Atoi(text)
	return inference.Reasoning{Budget: n}, err == nil && n > 0
}

// mergeRoles puts the roles of over in place of those of base, and checks that what
// they name is there.
func (c *Catalog) mergeRoles(base, over *Catalog) error {
	c.Roles, c.rolesAt = base.Roles, map[string]position{}
	for _, role := range named {
		c.rolesAt[role] = base.rolesAt[role]
		if over != nil && *over.Roles.of(role) != nil {
			*c.Roles.of(role), c.rolesAt[role] = *over.Roles.of(role), over.rolesAt[role]
		}
		a := *c.Roles.of(role)
		if a == nil || a.Endpoint != "" {
			continue
		}
		if err := c.checkRole(role, a); err != nil {
			return err
		}
	}
	return nil
}

// checkRole checks a role whose model is an entry.
func (c *Catalog) checkRole(role string, a *Assignment) error {
	at := c.rolesAt[role]
	e, ok := c.Find(a.Model)
	if !ok {
		return at.errorf("roles.%s.model: there is no model %q%s; there are %s", role, a.Model, DidYouMean(a.Model, c.Names()), strings.Join(c.Names(), ", "))
	}
	p := e.Source.Endpoint
	switch {
	case p == nil:
		return nil
	case a.MaxTokens == 0 && p.API == APIAnthropic:
		return at.errorf("roles.%s.max_tokens is missing: the API of %s wants the most tokens of one answer", role, e.Name)
	case a.Price == nil && p.Price == (Price{}) && !p.Here():
		return at.errorf("roles.%s.price is missing, and %s has none: US dollars per million tokens, 0 where it costs nothing", role, e.Name)
	}
	return nil
}

func (w *walker) validateRoles(c *Catalog) {
	c.rolesAt = map[string]position{}
	for _, role := range named {
		if a := *c.Roles.of(role); a != nil {
			at := "roles." + role
			c.rolesAt[role] = position{w.file, w.line(at)}
			w.validateAssignment(*a, at)
		}
	}
}

func (w *walker) validateAssignment(a Assignment, at string) {
	w.need(at+".model", a.Model == "", true, "the name of a model of this file, or beside endpoint its name on that server")
	w.need(at+".max_tokens", false, a.MaxTokens >= 0, "the most tokens of one answer")
	_, ok := reasoningOf(a.Thinking)
	w.need(at+".thinking", false, ok, "one of "+strings.Join(efforts, ", ")+", or a number of tokens")
	if p := a.Price; p != nil {
		w.need(at+".price.input", false, exact(p.Input), wantPrice)
		w.need(at+".price.cached_input", false, p.CachedInput == nil || exact(*p.CachedInput), wantPrice)
		w.need(at+".price.cache_write", false, p.CacheWrite == nil || exact(*p.CacheWrite), wantPrice)
		w.need(at+".price.output", false, exact(p.Output), wantPrice)
		w.need(at+".price.currency", false, p.Currency == "" || p.Currency == "USD", "USD, the only one")
	}
	if a.Endpoint == "" {
		for key, given := range map[string]bool{"api": a.API != "", "key_env": a.KeyEnv != "", "key_file": a.KeyFile != "", "local": a.Local != nil, "context": a.Context != 0} {
			if given {
				w.complain(w.line(at+"."+key), "%s.%s: it is of an endpoint, and the role names none; leave it out, or put it into the model's entry", at, key)
			}
		}
		return
	}
	e := *a.endpoint()
	w.need(at+".endpoint", false, endpointURL(e.URL), wantEndpoint)
	w.validateServer(e, at)
	w.need(at+".price", a.Price == nil && !e.Here(), true, "input and output, US dollars per million tokens, 0 where it costs nothing")
	w.need(at+".max_tokens", a.MaxTokens == 0 && a.API == APIAnthropic, true, "that API wants the most tokens of one answer")
}

const (
	wantPrice    = "0 or more US dollars per million tokens, with six decimals at most"
	wantEndpoint = "the server's https address up to /v1, http only on this machine"
)
