package prefix

import (
	"dure/kvcache"
	"dure/kvcache/codec"
	"dure/kvcache/store"
)

// Stats is what a cache holds and has done. Sizes are in bytes.
type Stats struct {
	// Alive sessions are known; Resident sequences hold a state in the context,
	// Active ones are run in.
	Alive    int `json:"alive"`
	Resident int `json:"resident"`
	Active   int `json:"active"`
	// Cells of the context that are filled, and those promised to running requests.
	Cells    int `json:"cells"`
	Promised int `json:"promised"`

	// Unsaved idle sequences hold what no copy holds; Unwritten copies in RAM are not
	// on disk yet. Both are what a crash would lose.
	Unsaved   int `json:"unsaved"`
	Unwritten int `json:"unwritten"`

	RAM  Tier `json:"ram"`
	Disk Tier `json:"disk"`

	// Hits are requests by the slowest tier that they reused, None those that
	// reused nothing.
	Hits Hits `json:"hits"`
	// Misses are requests by the reason why no more was reused.
	Misses Misses `json:"misses"`
	// Tokens of prompts that were reused, and that had to be read.
	SavedTokens uint64 `json:"saved_tokens"`
	ReadTokens  uint64 `json:"read_tokens"`
	// Broken prompts left the path of their session. Lost copies went without a
	// lower tier taking them. Declined checkpoints were not worth their bytes.
	// Failed moves of states were made good by reading again.
	Broken   uint64 `json:"broken"`
	Lost     uint64 `json:"lost"`
	Declined uint64 `json:"declined"`
	Failed   uint64 `json:"failed"`
	// Class is the quality class in which the disk tier writes; empty without one.
	Class string `json:"class,omitempty"`
	// Smaller are the classes in which it may write too, and code states anew when room
	// is short; Recoded is how many were.
	Smaller []string `json:"smaller,omitempty"`
	Recoded uint64   `json:"recoded"`
	// Classes are the objects and bytes on disk of each quality class that is held.
	Classes map[string]Held `json:"classes,omitempty"`
	// Refused files of the disk tier, by reason; NoDisk is why there is no such
	// tier although there was to be one.
	Refused map[string]int `json:"refused,omitempty"`
	NoDisk  string         `json:"no_disk,omitempty"`
	// Opaque is why states cannot be cut and shared; empty if they can.
	Opaque string `json:"opaque,omitempty"`
}

// Tier of saved states.
type Tier struct {
	Bytes   int64 `json:"bytes"`
	Budget  int64 `json:"budget"`
	Objects int   `json:"objects"`
}

// Held is a number of objects and their bytes.
type Held struct {
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// Hits by tier.
type Hits struct {
	None uint64 `json:"none"`
	Disk uint64 `json:"disk"`
	RAM  uint64 `json:"ram"`
	Hot  uint64 `json:"hot"`
}

// Misses by reason.
type Misses struct {
	New        uint64 `json:"new"`
	Evicted    uint64 `json:"evicted"`
	Checkpoint uint64 `json:"checkpoint"`
	Slow       uint64 `json:"slow"`
}

// Stats counts in time linear in the number of saved states.
func (c *Cache) Stats() Stats {
	t := c.Tree.Stats()
	tier := func(k kvcache.Tier) Tier { return Tier{Bytes: t.Used[k], Budget: t.Budget[k], Objects: t.Objects[k]} }
	hit := func(k kvcache.Tier) uint64 { return uint64(t.Requests[k]) }
	miss := func(r kvcache.Reason) uint64 { return uint64(t.Misses[r]) }
	s := Stats{
		Alive: t.Sessions, Resident: t.Sequences, Active: t.Leases, Cells: t.Cells, Promised: t.Reserved,
		Unsaved: t.Unsaved, Unwritten: t.Unwritten,
		RAM: tier(kvcache.RAM), Disk: tier(kvcache.Disk),
		Hits: Hits{None: hit(kvcache.Gone), Disk: hit(kvcache.Disk), RAM: hit(kvcache.RAM), Hot: hit(kvcache.Hot)},
		Misses: Misses{New: miss(kvcache.ReasonNew), Evicted: miss(kvcache.ReasonEvicted),
			Checkpoint: miss(kvcache.ReasonCheckpoint), Slow: miss(kvcache.ReasonSlow)},
		SavedTokens: uint64(t.SavedTokens), ReadTokens: uint64(t.ReadTokens),
		Broken: uint64(t.Broken), Lost: uint64(t.Lost), Declined: uint64(t.Declined), Failed: uint64(t.Failed),
	}
	if c.opaque != nil {
		s.Opaque = c.opaque.Error()
	}
	if c.diskless != nil {
		s.NoDisk = c.diskless.Error()
	}
	if c.disk != nil {
		disk := c.disk.Stats()
		s.Class, s.Recoded = max(c.class, codec.Exact).String(), uint64(disk.Changed)
		for _, class := range c.offered {
			s.Smaller = append(s.Smaller, class.String())
		}
		s.Refused, s.Classes = map[string]int{}, map[string]Held{}
		for class, h := range disk.Classes {
			if h.Objects > 0 {
				s.Classes[codec.Class(class).String()] = Held(h)
			}
		}
		for i, n := range disk.Refused {
			if n > 0 {
				s.Refused[store.Reason(i).String()] = n
			}
		}
	}
	return s
}
