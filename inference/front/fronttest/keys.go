package fronttest

import (
	"net/http"
	"sync"

	"dure/inference"
	"dure/inference/front"
)

// Keys are the keys of a server, by their secrets.
type Keys map[string]*Key

// Key is one of them, and what was asked of it.
type Key struct {
	Called   string   // its name
	Right    bool     // it is an admin's
	Models   []string // that it may use; none listed is all
	Priority inference.Priority
	Refuse   error // of Admit, if not nil

	mu      sync.Mutex
	asks    []Ask
	settled []inference.Usage
}

// Ask is what a key was asked to admit.
type Ask struct {
	Model    string
	Priority inference.Priority
	Tokens   int64
}

// OneKey is an admin's key without a name.
func OneKey(secret string) Keys { return Keys{secret: {Right: true}} }

// Required implements front.Keys.
func (k Keys) Required() bool { return true }

// Identify implements front.Keys.
func (k Keys) Identify(secret string) (front.Holder, error) {
	if key, ok := k[secret]; ok {
		return holder{key}, nil
	}
	f := front.Refuse(http.StatusUnauthorized, front.CodeKey, "the API key is not one of this server's")
	f.Header("WWW-Authenticate", "Bearer")
	return nil, f
}

type holder struct{ *Key }

func (h holder) Name() string { return h.Called }
func (h holder) Admin() bool  { return h.Right }

func (h holder) Allows(model string) bool {
	for _, m := range h.Models {
		if m == model {
			return true
		}
	}
	return len(h.Models) == 0
}

func (h holder) Admit(model string, p inference.Priority, tokens int64) (front.Visit, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asks = append(h.asks, Ask{model, p, tokens})
	if h.Refuse != nil {
		return nil, h.Refuse
	}
	if p == "" {
		p = h.Key.Priority
	}
	return visit{h.Key, p}, nil
}

type visit struct {
	key      *Key
	priority inference.Priority
}

func (v visit) Priority() inference.Priority { return v.priority }

func (v visit) Settle(u inference.Usage) {
	v.key.mu.Lock()
	defer v.key.mu.Unlock()
	v.key.settled = append(v.key.settled, u)
}

// Asks is what the key was asked to admit, in order.
func (k *Key) Asks() []Ask {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]Ask(nil), k.asks...)
}

// Settled is what its requests took, in the order in which they ended.
func (k *Key) Settled() []inference.Usage {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]inference.Usage(nil), k.settled...)
}
