package vcs

import (
	"sync"

	"dure/runtime/vcs/object"
)

// A cache keeps trees and commits in memory, up to a bound in bytes: what was used
// since the older half was thrown away stays. Lookups of one shard wait for each
// other only.
type cache struct {
	shards [8]shard
}

type shard struct {
	mu         sync.Mutex
	young, old map[object.ID]cached
	bytes      int64 // of young
	half       int64
}

type cached struct {
	typ  object.Type
	data []byte
}

// perEntry is what an entry costs beside its bytes.
const perEntry = 96

func newCache(bytes int64) *cache {
	c := new(cache)
	for i := range c.shards {
		c.shards[i].half = bytes / 2 / int64(len(c.shards))
		c.shards[i].young = map[object.ID]cached{}
	}
	return c
}

func (c *cache) shard(id object.ID) *shard { return &c.shards[id[0]%byte(len(c.shards))] }

func (c *cache) get(id object.ID) (object.Type, []byte, bool) {
	s := c.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.young[id]
	if !ok {
		if e, ok = s.old[id]; ok {
			s.put(id, e)
		}
	}
	return e.typ, e.data, ok
}

func (c *cache) put(id object.ID, t object.Type, data []byte) {
	s := c.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.young[id]; !ok {
		s.put(id, cached{t, data})
	}
}

// put enters what is not in young. Something larger than half a shard is not kept.
func (s *shard) put(id object.ID, e cached) {
	size := int64(len(e.data)) + perEntry
	if size > s.half {
		return
	}
	if s.bytes+size > s.half {
		s.old, s.young, s.bytes = s.young, map[object.ID]cached{}, 0
	}
	s.young[id] = e
	s.bytes += size
}
