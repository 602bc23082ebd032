package key

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"dure/inference"
)

// Options of Open.
type Options struct {
	// File of the keys, for example DURE_HOME/FileName.
	File string
	// Given says that a person named the file: then it has to be there, and keys
	// are demanded also while it holds none.
	Given bool
	// Unnamed are keys with all rights, no limits and no account.
	Unnamed []string
	// Log gets what concerns the files; nil discards it.
	Log *slog.Logger
}

// Ring is the keys of a running server. It is safe for concurrent use.
type Ring struct {
	file    string
	usage   ledger
	unnamed []Hash
	log     *slog.Logger
	now     func() time.Time

	// work is held around the files: only one at a time reads or writes them.
	work sync.Mutex
	seen fs.FileInfo // of the file that was read last, or tried
	said string      // the last error of writing usage

	// mu is held around decisions.
	mu     sync.Mutex
	keys   []Key
	demand bool              // keys are demanded, until the process ends
	meters map[string]*meter // by Key.ID

	stop, stopped chan struct{}
	once          sync.Once
}

// Open reads the files. It returns a *FileError or *fetch.NewerError where the
// keys cannot be known: no server should start then. The ring is closed with
// Close, after the last request.
func Open(o Options) (*Ring, error) {
	r, err := open(o, time.Now)
	if err != nil {
		return nil, err
	}
	go r.loop()
	return r, nil
}

// open is Open without the goroutine.
func open(o Options, now func() time.Time) (*Ring, error) {
	r := &Ring{
		file: o.File, log: o.Log, now: now, demand: o.Given || len(o.Unnamed) > 0,
		meters: map[string]*meter{}, stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.usage = ledger{UsageFile(o.File), r.log}
	for _, secret := range o.Unnamed {
		r.unnamed = append(r.unnamed, sha256.Sum256([]byte(secret)))
	}
	if err := r.Reload(); err != nil {
		if !missing(err) {
			return nil, err
		}
		if o.Given {
			return nil, fmt.Errorf("%w; `dure key add NAME --keys %s` makes it", err, o.File)
		}
	}
	accounts, _, err := usableUsage(r.usage.file, r.log)
	if err != nil {
		return nil, err
	}
	for _, k := range r.keys {
		if a, ok := accounts[k.ID()]; ok {
			r.meters[k.ID()] = &meter{live: a}
		}
	}
	return r, nil
}

// Required reports whether a request needs a key. Once it does, it does until the
// process ends.
func (r *Ring) Required() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.demand
}

// Identify returns the key that a secret is, or a *Refusal. Where no key is
// required, anything else is the zero Key, which may do everything.
func (r *Ring) Identify(secret string) (Key, error) {
	given := sha256.Sum256([]byte(secret))
	r.mu.Lock()
	defer r.mu.Unlock()
	found, nameless := -1, 0
	for i := range r.keys { // all of them, see the package
		if subtle.ConstantTimeCompare(given[:], r.keys[i].Hash[:]) == 1 {
			found = i
		}
	}
	for i := range r.unnamed {
		nameless |= subtle.ConstantTimeCompare(given[:], r.unnamed[i][:])
	}
	switch {
	case found >= 0:
		k := r.keys[found]
		if no := k.inactive(r.now()); no != nil {
			r.refuse(k)
			return Key{}, no
		}
		return k, nil
	case nameless == 1 || !r.demand:
		return Key{Admin: true}, nil
	case secret == "":
		return Key{}, refused(ReasonMissing, "this server needs an API key")
	}
	return Key{}, refused(ReasonUnknown, "the API key is not one of this server's")
}

// Ask is what a request wants.
type Ask struct {
	Model    string             // its name in the catalogue
	Priority inference.Priority // as the request has it; empty where it names none
	// Tokens that it may take: those of the prompt, as far as they can be told, and
	// of the longest answer if it has a limit. 0 where nothing is known.
	Tokens int64
}

// Admit decides whether a key may make a request of a model now, and counts it if
// so. The error is a *Refusal. The key is looked up again: it may have been
// removed, disabled or limited since it was identified.
func (r *Ring) Admit(k Key, a Ask) (*Visit, error) {
	if k.Name == "" {
		return &Visit{priority: a.Priority}, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, no := r.admit(k, a)
	if no != nil {
		return nil, no
	}
	return v, nil
}

func (r *Ring) admit(k Key, a Ask) (*Visit, *Refusal) {
	now := r.now()
	k, ok := r.current(k)
	if !ok {
		return nil, refused(ReasonUnknown, "the API key is no longer one of this server's")
	}
	no := k.inactive(now)
	priority, ok := k.grant(a.Priority)
	switch {
	case no != nil:
	case !k.Allows(a.Model):
		no = k.wrongModel(a.Model)
	case !ok:
		no = k.wrongPriority(a.Priority)
	}
	if no != nil {
		r.refuse(k)
		return nil, no
	}
	m := r.meter(k)
	h, d := m.admit(k.Limits, now, a.Tokens)
	if !d.OK {
		r.refuse(k)
		return nil, k.overLimit(d, a.Tokens)
	}
	m.note(now, Counts{Requests: 1})
	return &Visit{ring: r, id: k.ID(), hold: h, priority: priority}, nil
}

// current is the key as the file has it now.
func (r *Ring) current(k Key) (Key, bool) {
	for i := range r.keys {
		if r.keys[i].Hash == k.Hash {
			return r.keys[i], true
		}
	}
	return Key{}, false
}

// meter of a key, made when it is first needed.
func (r *Ring) meter(k Key) *meter {
	m, ok := r.meters[k.ID()]
	if !ok {
		m = &meter{}
		r.meters[k.ID()] = m
	}
	m.live.name, m.fresh.name = k.Name, k.Name
	return m
}

func (r *Ring) refuse(k Key) { r.meter(k).note(r.now(), Counts{Refused: 1}) }

// Visit is an admitted request.
type Visit struct {
	ring     *Ring // nil for a key without a name
	id       string
	hold     hold
	priority inference.Priority
	once     sync.Once
}

// Priority is the one that the request has: what it asked for, or the key's cap
// where it named none.
func (v *Visit) Priority() inference.Priority { return v.priority }

// Settle ends the request with what it took, summed over its choices and prompts;
// all zero where nothing was computed. It is called once for every visit; further
// calls do nothing.
func (v *Visit) Settle(u inference.Usage) {
	if v.ring == nil {
		return
	}
	v.once.Do(func() {
		v.ring.mu.Lock()
		defer v.ring.mu.Unlock()
		m, now := v.ring.meters[v.id], v.ring.now()
		m.settle(v.hold, now, int64(u.PromptTokens)+int64(u.CompletionTokens))
		m.note(now, Counts{
			PromptTokens: int64(u.PromptTokens), CachedTokens: int64(u.CachedTokens), CompletionTokens: int64(u.CompletionTokens),
		})
	})
}
