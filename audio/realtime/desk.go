package realtime

import (
	"fmt"
	"sync"

	"dure/audio/realtime/wire"
	"dure/audio/turn"
	"dure/audio/voice"
)

// desk is what the wire knows of a session beside the session itself. It outlives the
// connection.
type desk struct {
	mu     sync.Mutex
	told   wire.Session // as the client was told last
	wanted wire.Session // with updates that were not answered yet
	asked  []string     // ids of those updates
	named  string       // the model as the client named it; clients repeat it in updates
	leave  func()
}

func (d *desk) now() wire.Session {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.told
}

func (d *desk) want() wire.Session {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wanted
}

// ask notes an update that the session will answer.
func (d *desk) ask(id string, s wire.Session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted, d.asked = s, append(d.asked, id)
}

// agreed is SessionUpdated: updates are answered in their order.
func (d *desk) agreed(c turn.Config) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told.Config = c
	if len(d.asked) > 0 {
		d.asked = d.asked[1:]
	}
}

// refused is Failed: of an update, if it was the next to be answered.
func (d *desk) refused(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.asked) > 0 && d.asked[0] == id {
		d.asked = d.asked[1:]
		d.wanted = d.told
	}
}

// known are the sessions that have a desk, and how many each holder has.
type known struct {
	mu      sync.Mutex
	desks   map[string]*desk
	holders map[string]int
}

func newKnown() *known { return &known{desks: map[string]*desk{}, holders: map[string]int{}} }

// enter counts a session of the holder.
func (k *known) enter(holder string, most int) (leave func(), err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.holders[holder] >= most {
		return nil, &wire.Error{Type: wire.TypeRateLimit, Code: "rate_limit_exceeded", Message: fmt.Sprintf("this key has %d sessions open, and %d are the most", k.holders[holder], most)}
	}
	k.holders[holder]++
	return sync.OnceFunc(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.holders[holder]--; k.holders[holder] == 0 {
			delete(k.holders, holder)
		}
	}), nil
}

// keep holds the desk until the session has ended.
func (k *known) keep(s *voice.Session, d *desk) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.desks[s.ID()] = d
	go func() {
		<-s.Ended()
		d.leave()
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.desks, s.ID())
	}()
}

func (k *known) desk(s *voice.Session) *desk {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d := k.desks[s.ID()]; d != nil {
		return d
	}
	return &desk{leave: func() {}}
}
