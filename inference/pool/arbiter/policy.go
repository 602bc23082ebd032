package arbiter

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Class is what a turn is for; a smaller one goes first.
type Class uint8

// The classes.
const (
	Voice   Class = iota // a frame of a voice, which has a due time
	Decode               // the next tokens of running answers
	Prompt               // a piece of a prompt, and whatever else can wait
	classes = iota
)

var classNames = [classes]string{"voice", "decode", "prompt"}

// String is the class's name in metrics.
func (c Class) String() string { return classNames[c] }

// Rules of an arbiter. A zero field is its default.
type Rules struct {
	// Slice is how long a call should take at most where a device is shared.
	// Default 40 ms.
	Slice time.Duration
	// Silent is how long a lease that others wait for may last until its process is
	// presumed stuck. Default 25 slices, at least one.
	Silent time.Duration
	// Age is how long one waits until it goes before all others, once. Default five
	// slices.
	Age time.Duration
	// Holders is how many processes may compute on a device at once. Default 1.
	Holders int
}

func (r Rules) withDefaults() (Rules, error) {
	r.Slice = cmp.Or(r.Slice, 40*time.Millisecond)
	r.Silent = cmp.Or(r.Silent, 25*r.Slice)
	r.Age = cmp.Or(r.Age, 5*r.Slice)
	r.Holders = cmp.Or(r.Holders, 1)
	if r.Slice < 0 || r.Silent < r.Slice || r.Age < 0 || r.Holders < 0 || r.Silent > maxDuration {
		return r, fmt.Errorf("arbiter: rules %+v: nothing may be negative, and Silent must be from Slice to %v", r, maxDuration)
	}
	return r, nil
}

// tick is a time in ns.
type tick = int64

const never tick = math.MaxInt64

type memberID uint64

// member is a process on one or more devices.
type member struct {
	id      memberID
	name    string
	devices []string
	told    tick   // the slice it was told, 0 = none
	ask     *ask   // nil = wants nothing
	lease   *lease // nil = has nothing
	// used is the time of calls that others waited for, by class; whoever comes late
	// begins where those who waited meanwhile are.
	used [classes]tick
}

type ask struct {
	serial uint64
	class  Class
	due    tick
	since  tick
	passed bool // an older one of a lower class went before it
}

type lease struct {
	serial   uint64
	begun    tick
	keep     bool
	recalled bool
	// over is when its process is presumed stuck if somebody waits for it then.
	over  tick
	stuck bool
}

type effectKind uint8

const (
	share  effectKind = iota // tell the slice
	grant                    // a lease
	recall                   // a lease that was kept
	stuck                    // it is passed over
)

// effect is what is to be told to a member, or of it.
type effect struct {
	kind   effectKind
	to     memberID
	serial uint64
	slice  tick
	keep   bool
}

// policy decides whose turn it is. Events change it, then next says what follows.
type policy struct {
	rules   Rules
	members []*member // by id
	// floors are by device and class what the last that got a turn had used.
	floors map[string]*[classes]tick
	stats  Stats
}

func newPolicy(r Rules) *policy {
	return &policy{rules: r, floors: map[string]*[classes]tick{}}
}

// join adds a member; ids ascend.
func (p *policy) join(id memberID, name string, devices []string) {
	p.members = append(p.members, &member{id: id, name: name, devices: devices})
	for _, d := range devices {
		if p.floors[d] == nil {
			p.floors[d] = new([classes]tick)
		}
	}
}

// leave forgets a member, and takes back what it has.
func (p *policy) leave(id memberID) {
	i := slices.IndexFunc(p.members, func(m *member) bool { return m.id == id })
	if i < 0 {
		return
	}
	m := p.members[i]
	p.members = slices.Delete(p.members, i, i+1)
	if m.lease != nil {
		p.stats.Dead++
	}
	for _, d := range m.devices {
		if p.on(d) == 0 {
			delete(p.floors, d)
		}
	}
}

// errProtocol is for a member that does what no member may.
var errProtocol = errors.New("it does not keep to the protocol")

// wants records that a member asks for its devices. It may still have a lease that
// is on its way back.
func (p *policy) wants(now tick, id memberID, serial uint64, c Class, due tick) error {
	m := p.find(id)
	if m.ask != nil {
		return fmt.Errorf("%w: it asks twice", errProtocol)
	}
	m.ask = &ask{serial: serial, class: c, due: due, since: now}
	for _, d := range m.devices {
		m.used[c] = max(m.used[c], p.floors[d][c])
	}
	return nil
}

// done takes a lease back. took is the call that ended it; 0 where none ran.
func (p *policy) done(now tick, id memberID, serial uint64, c Class, took tick) error {
	m := p.find(id)
	if m.lease == nil || m.lease.serial != serial {
		return fmt.Errorf("%w: it gives back what it does not have", errProtocol)
	}
	took = min(took, now-m.lease.begun)
	m.used[c] += took
	if m.told > 0 && took > int64(p.rules.Slice) {
		p.stats.Overruns++
	}
	m.lease = nil
	return nil
}

// next is what follows from all that happened.
func (p *policy) next(now tick) []effect {
	out := p.presume(now, nil)
	out = p.share(out)
	out = p.grant(now, out)
	return p.recall(now, out)
}

// wake is when time alone changes something.
func (p *policy) wake() tick {
	at := never
	for _, m := range p.members {
		if m.lease != nil && !m.lease.stuck && p.wanted(m) {
			at = min(at, m.lease.over)
		}
	}
	return at
}

// presume passes over those that are silent for too long.
func (p *policy) presume(now tick, out []effect) []effect {
	for _, m := range p.members {
		if l := m.lease; l != nil && !l.stuck && now >= l.over && p.wanted(m) {
			l.stuck = true
			p.stats.Stuck++
			out = append(out, effect{kind: stuck, to: m.id})
		}
	}
	return out
}

// share tells members whose devices others came to, or are left alone.
func (p *policy) share(out []effect) []effect {
	for _, m := range p.members {
		slice := tick(0)
		if slices.ContainsFunc(m.devices, func(d string) bool { return p.on(d) > 1 }) {
			slice = int64(p.rules.Slice)
		}
		if slice != m.told {
			m.told = slice
			out = append(out, effect{kind: share, to: m.id, slice: slice})
		}
	}
	return out
}

// on is how many members a device has.
func (p *policy) on(device string) (n int) {
	for _, m := range p.members {
		if slices.Contains(m.devices, device) {
			n++
		}
	}
	return n
}

func (p *policy) find(id memberID) *member {
	i, ok := slices.BinarySearchFunc(p.members, id, func(m *member, id memberID) int { return cmp.Compare(m.id, id) })
	if !ok {
		panic(fmt.Sprintf("arbiter: member %d is not known", id)) // its owner drops what comes from those that left
	}
	return p.members[i]
}
