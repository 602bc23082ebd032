package kvcache

// Tree is the prefix store of one loaded model. It is not safe for concurrent
// use.
type Tree struct {
	cfg  Config
	root *node
	now  Tick

	slots    []slot
	leases   map[LeaseID]*lease
	objects  map[ObjectID]*object
	sessions map[SessionID]*session
	recent   sessionList
	pins     map[PinID]*node
	heaps    [tiers]objectHeap

	budget, used [tiers]int64 // RAM and disk, bytes
	// remains is the part of objects on disk, rows or states, that coding them anew left, by
	// the levels before and after.
	remains  map[recoding]float64
	cells    int // filled, each physical one once
	reserved int // sum of what leases may still fill, less their credit
	nodes    int

	runnable  []*job
	flight    map[ActionID]*job
	unwritten []ObjectID // in RAM, perhaps not yet on disk
	stuck     []ObjectID // could not be dropped
	writing   int        // jobs of Balance in progress

	lastObject ObjectID
	lastLease  LeaseID
	lastAction ActionID
	lastPin    PinID
	counts     Counts
}

func (t *Tree) tick(now Tick) { t.now = max(t.now, now) }
