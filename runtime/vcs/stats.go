package vcs

import "sync/atomic"

// Stats count what the repository has done since it was opened.
type Stats struct {
	Requests int64 // answered without an error
	Batches  int64 // flushes of the log
	Objects  int64 // written
	Bytes    int64 // appended to logs
	Seals    int64 // logs made packs
	Merges   int64 // sets of packs made one
	Repacks  int64 // of these, by git
	Packs    int   // there are now
}

type counters struct{ requests, batches, objects, bytes, seals, merges, repacks atomic.Int64 }

// Stats are the counts until now.
func (r *Repository) Stats() Stats {
	c := &r.counters
	return Stats{
		Requests: c.requests.Load(), Batches: c.batches.Load(), Objects: c.objects.Load(), Bytes: c.bytes.Load(),
		Seals: c.seals.Load(), Merges: c.merges.Load(), Repacks: c.repacks.Load(), Packs: len(r.view.Load().packs),
	}
}
