package llm

import (
	"slices"

	"dure/inference/engine"
	"dure/kvcache"
)

// pins are the prefixes that callers asked to keep, the one that was asked for
// longest ago first. They are bounded: no room is made of what is pinned, and
// callers could else take all there is from everybody.
type pins struct {
	bytes int64 // the most that they may take
	many  int   // the most there may be
	used  int64
	held  []pinned
}

type pinned struct {
	id     kvcache.PinID
	tokens []engine.Token
	bytes  int64
}

// pinner is what pins need of the cache.
type pinner interface {
	Pin(now kvcache.Tick, tokens []kvcache.Token) (kvcache.PinID, error)
	Unpin(id kvcache.PinID)
	Size(tokens int) int64
}

// mostPins are more than a team has trunks, and few enough to look through.
const mostPins = 1024

// newPins bounds them for a cache. Half of the memory is theirs, so that a pinned
// sequence can always be moved there; without memory each stands in a sequence of
// the context, and half of these are theirs.
func newPins(s kvcache.Stats, sequences int) pins {
	if ram := s.Budget[kvcache.RAM]; ram > 0 {
		return pins{bytes: ram / 2, many: mostPins}
	}
	return pins{bytes: s.Budget[kvcache.Hot] / 2, many: sequences / 2}
}

// add pins a prefix, or makes it the latest if it is pinned, and lets the oldest
// go that are too many then. It reports how many went; kept is false where the
// prefix alone is more than may be.
func (p *pins) add(c pinner, now kvcache.Tick, tokens []engine.Token) (gone int, kept bool, err error) {
	if i := slices.IndexFunc(p.held, func(h pinned) bool { return slices.Equal(h.tokens, tokens) }); i >= 0 {
		again := p.held[i]
		p.held = append(slices.Delete(p.held, i, i+1), again)
		return 0, true, nil
	}
	bytes := c.Size(len(tokens))
	if bytes > p.bytes || p.many < 1 {
		return 0, false, nil
	}
	for p.used+bytes > p.bytes || len(p.held) >= p.many {
		p.dropOldest(c)
		gone++
	}
	id, err := c.Pin(now, tokens)
	if err != nil {
		return gone, false, err
	}
	p.held = append(p.held, pinned{id, slices.Clone(tokens), bytes})
	p.used += bytes
	return gone, true, nil
}

// dropOldest lets one go; false if there is none.
func (p *pins) dropOldest(c pinner) bool {
	if len(p.held) == 0 {
		return false
	}
	c.Unpin(p.held[0].id)
	p.used -= p.held[0].bytes
	p.held = slices.Delete(p.held, 0, 1)
	return true
}

// pin keeps the part of a prompt that its caller asked for.
func (o *owner) pin(r *request) {
	n := r.caller.pin
	if n == 0 {
		return
	}
	r.caller.pin = 0
	gone, kept, err := o.pins.add(o.cache, o.now(), r.all[:n])
	if err != nil {
		o.l.log.Error("pin", "request_id", r.name, "error", err)
		return
	}
	if !kept {
		o.l.log.Warn("prefix not pinned: it is more than half of what --cache-ram holds", "request_id", r.name, "tokens", n)
	}
	if gone > 0 {
		o.l.log.Info("the oldest pinned prefixes were let go for a new one", "request_id", r.name, "count", gone)
	}
}
