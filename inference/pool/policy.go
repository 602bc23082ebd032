package pool

import (
	"cmp"
	"math"
	"time"
)

// tick is a point in time or a duration in nanoseconds of the caller's clock.
type tick = int64

const never tick = math.MaxInt64

// askID names one who wants a model, from the asking until it is given back.
type askID uint64

// Spec is what is known of a model before it is loaded.
type Spec struct {
	Name string
	// KeepAlive is how long it stays without a request; 0 is Rules.KeepAlive, negative
	// is for ever.
	KeepAlive time.Duration
	// Pinned models are never unloaded to make room.
	Pinned bool
	// Turns are groups of whose members one is loaded at a time; Together groups whose
	// members never give way to each other, and are loaded together.
	Turns, Together []string
}

// Rules of a pool. Zero fields get the default.
type Rules struct {
	// Most models are loaded at once; 0 is as many as fit.
	Most int
	// KeepAlive of models that name none; 0 and less is for ever.
	KeepAlive time.Duration
	// Turn is how long a model may stay busy while another waits for its room: from
	// then on it takes no new requests until the other was loaded. Default 10 s.
	Turn time.Duration
}

const defaultTurn = 10 * time.Second

type phase uint8

const (
	absent phase = iota
	loading
	ready
	leaving
)

func (p phase) String() string { return [...]string{"absent", "loading", "loaded", "unloading"}[p] }

// model is what the policy knows of one.
type model struct {
	Spec
	phase   phase
	waiting []wanter // in order of arrival
	users   map[askID]bool
	wanted  bool // to be loaded though nobody waits
	// Of what is loaded.
	bytes      int64
	loadedAt   tick
	lastUse    tick
	keep       time.Duration // as the latest request wanted it
	took       tick          // the latest load
	uses       float64       // requests, halved each halfLife
	draining   bool          // takes no new requests: it is to leave
	doomed     bool          // leaves as soon as nobody uses it
	shrink     int           // how often the load was made smaller
	refusal    error         // why the latest attempt did not fit
	missing    int64         // bytes that it lacked; 0 = not known
	trouble    trouble
	remembered bool // was loaded when the pool was paused
	loads      int  // that ended well
	unloads    int
}

type wanter struct {
	id askID
	at tick
	// keep is the time to stay afterwards that this one asks for; 0 = the model's.
	keep time.Duration
}

// effect is what the loop is to do.
type effect struct {
	kind   effectKind
	name   string
	id     askID
	shrink int
	now    bool // do not wait for requests that run
	err    error
}

type effectKind uint8

const (
	grant  effectKind = iota // id may use the model
	reject                   // id gets err
	start                    // load the model, made smaller shrink times
	stop                     // unload it
)

// policy decides which models are loaded. It is pure: the loop tells it what
// happened, with the time, and does what next says.
//
// One model is loaded at a time: two plans would count the same free memory.
type policy struct {
	rules  Rules
	models []*model // in the catalogue's order
	by     map[string]*model
	asked  map[askID]*model
	out    []effect
	paused bool
	now    tick
}

func newPolicy(rules Rules, specs []Spec) *policy {
	rules.Turn = cmp.Or(rules.Turn, defaultTurn)
	p := &policy{rules: rules, by: map[string]*model{}, asked: map[askID]*model{}}
	for _, s := range specs {
		m := &model{Spec: s, users: map[askID]bool{}}
		p.models = append(p.models, m)
		p.by[s.Name] = m
	}
	return p
}

func (p *policy) tick(now tick) { p.now = max(p.now, now) }

// next hands out what is to be done since it was last called.
func (p *policy) next(now tick) []effect {
	p.tick(now)
	p.settle()
	out := p.out
	p.out = nil
	return out
}

func (p *policy) do(e effect) { p.out = append(p.out, e) }
