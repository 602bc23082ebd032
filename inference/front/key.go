package front

import (
	"cmp"
	"net/http"
	"strings"

	"dure/inference"
)

// Keys is what the front needs of whoever knows who may use the server. It is safe
// for concurrent use. Its errors are best a *Failure.
type Keys interface {
	// Required reports whether a request needs a key.
	Required() bool
	// Identify returns whose key a secret is. Where none is required it knows
	// everybody, also by an empty secret or a wrong one.
	Identify(secret string) (Holder, error)
}

// Holder is whoever shows a key.
type Holder interface {
	// Name of the key, without a slash; empty for one that has none.
	Name() string
	// Admin may also do what concerns the server as a whole, and others.
	Admin() bool
	// Allows reports whether the holder may use a model of the catalogue.
	Allows(model string) bool
	// Admit decides whether a request may go on now, which is counted then. tokens
	// is what it may take, as far as that can be told; 0 is not known.
	Admit(model string, p inference.Priority, tokens int64) (Visit, error)
}

// Visit is an admitted request.
type Visit interface {
	// Priority is the one that the request has.
	Priority() inference.Priority
	// Settle ends the request with what it took; it is called once.
	Settle(u inference.Usage)
}

// nobody is the Keys of a server that needs none.
type nobody struct{}

func (nobody) Required() bool                  { return false }
func (nobody) Identify(string) (Holder, error) { return anybody{}, nil }

// anybody is who has shown no key, where none is needed.
type anybody struct{}

func (anybody) Name() string       { return "" }
func (anybody) Admin() bool        { return true }
func (anybody) Allows(string) bool { return true }
func (anybody) Admit(_ string, p inference.Priority, _ int64) (Visit, error) {
	return visitor(p), nil
}

// visitor is the visit of anybody.
type visitor inference.Priority

func (v visitor) Priority() inference.Priority { return inference.Priority(v) }
func (visitor) Settle(inference.Usage)         {}

// givenKey is the key that a request shows, in one of the two ways that clients
// know; empty where there is none.
func givenKey(r *http.Request) string {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if scheme == "" {
		return strings.TrimSpace(r.Header.Get("X-Api-Key"))
	}
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

// identify finds out who asks.
func (x *Exchange) identify(r *http.Request) error {
	secret := givenKey(r)
	if secret == "" && x.h.keys.Required() {
		f := Refuse(http.StatusUnauthorized, CodeKey,
			`this server needs an API key: send it as "Authorization: Bearer KEY" or as "X-Api-Key: KEY"`)
		f.Header("WWW-Authenticate", "Bearer")
		return f
	}
	holder, err := x.h.keys.Identify(secret)
	if err == nil {
		x.holder = holder
	}
	return err
}

// mustAdmin refuses holders without that right.
func (x *Exchange) mustAdmin() error {
	if x.holder.Admin() {
		return nil
	}
	return Refuse(http.StatusForbidden, CodeAdmin,
		"the key %q may not do this, which concerns the whole server: use one that was made with `dure key add NAME --admin`", x.holder.Name())
}

// KeyName names the key that the request showed; empty for one without a name, or
// none. Names hold no slash. What a surface keeps of a request for later ones is for
// that key only.
func (x *Exchange) KeyName() string { return x.holder.Name() }

// Allows reports whether the request may ask for a model of the catalogue.
func (x *Exchange) Allows(model string) bool { return x.holder.Allows(model) }

// Admit asks whether a generation may go on, and gives it the priority that it has
// and names of its key's own. [Exchange.Generate] and [Exchange.Run] do that where it
// was not done. It is for the exchange that [Exchange.Apart] made, while the client
// can still be refused; Run must follow.
func (x *Exchange) Admit(g *Generation) error {
	visit, caller, err := x.admit(g.Model, g.Caller, g.expected())
	if err != nil {
		return err
	}
	x.visit, g.Caller = visit, caller
	return nil
}

// admit asks for a request of a model. It returns the caller as the model is to know
// it.
func (x *Exchange) admit(l Listing, c inference.Caller, tokens int64) (Visit, inference.Caller, error) {
	visit, err := x.holder.Admit(l.Name, c.Priority, tokens)
	if err != nil {
		return nil, c, err
	}
	c = x.apart(c)
	c.Priority = visit.Priority()
	return visit, c, nil
}

// apart gives a caller's names to its key, so that no other key meets them.
func (x *Exchange) apart(c inference.Caller) inference.Caller {
	for _, name := range []*string{&c.Session, &c.Agent, &c.Parent} {
		if *name != "" {
			*name = x.ownPrefix() + *name
		}
	}
	return c
}

// ownPrefix is what the names of the request's key begin with.
func (x *Exchange) ownPrefix() string {
	if name := x.holder.Name(); name != "" {
		return name + "/"
	}
	return ""
}

// bytesPerToken is few enough to expect rather too many tokens than too few: what was
// expected in vain is given back.
const bytesPerToken = 3

// expected is how many tokens a generation may take, as far as that can be told: a
// prompt that was asked several times counts once, an answer without a limit not.
func (g *Generation) expected() int64 {
	each := cmp.Or(g.Each, len(g.Requests))
	sum := int64(0)
	for i, req := range g.Requests {
		if i%each == 0 {
			sum += promptTokens(req)
		}
		answer := int64(req.Params.MaxTokens)
		if most := int64(g.Model.Context); most > 0 {
			answer = min(answer, most)
		}
		sum += answer
	}
	return sum
}

func promptTokens(req *inference.Request) int64 {
	if req.Prompt != nil {
		return int64(len(req.Prompt.Tokens)) + int64(len(req.Prompt.Text))/bytesPerToken
	}
	bytes := 0
	for _, m := range req.Messages {
		bytes += len(m.Content) + len(m.Reasoning)
		for _, call := range m.ToolCalls {
			bytes += len(call.Name) + len(call.Arguments)
		}
	}
	for _, tool := range req.Tools {
		bytes += len(tool.Name) + len(tool.Description) + len(tool.Parameters)
	}
	return int64(bytes) / bytesPerToken
}
