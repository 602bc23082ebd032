package prefix

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"dure/gguf"
	"dure/kvcache"
	"dure/kvcache/codec"
	"dure/kvcache/store"
)

// Disk describes the tier below RAM. Without bytes there is none.
type Disk struct {
	// Dir holds a folder for each kind of state.
	Dir   string
	Bytes int64
	// Model is the fingerprint of the model's weights, Engine the version of the
	// libraries: states of others are not taken.
	Model  []byte
	Engine string
	// Class of loss for what is written, 0 for none, without more ado; Basis is the
	// file of the model's basis, for codec.Calibrated. Files of any class are read.
	Class codec.Class
	Basis []byte
	// Smaller are the classes that states may be coded anew in when Bytes are short,
	// instead of being dropped, and in which those that nobody waits for are written:
	// what was found good enough for the model.
	Smaller []kvcache.Coding
	// Auto says that Smaller was left to what was found, which may be nothing.
	Auto bool
}

// recodeRoom is the share of a disk tier that is kept free where states are coded anew:
// for a while both files are there.
const recodeRoom = 8

// fetching is a restore that waits for bytes from the disk.
type fetching struct {
	action kvcache.Action
	wait   int
	read   map[kvcache.ObjectID][]byte
	bad    kvcache.ObjectID
	loss   codec.Class // of what was read, the worst
	err    error
}

// diskPatience is more than a process that lost its server takes to write what it
// has and to end.
const diskPatience = 5 * time.Second

// openDisk opens the folder of this context's states and says what was found. A
// tier that cannot be opened is done without.
func (c *Cache) openDisk(d Disk, g *gguf.Geometry, cfg *kvcache.Config) []kvcache.Stored {
	if d.Bytes <= 0 || g == nil {
		return nil
	}
	id, err := c.identity(d, g)
	var key string
	if err == nil {
		key, err = id.Key()
	}
	var found []kvcache.Stored
	if err == nil {
		err = store.Prune(d.Dir, key, d.Bytes)
	}
	if err == nil {
		to := store.Config{Dir: filepath.Join(d.Dir, key), Identity: id, Budget: d.Bytes, Codec: store.Planes, Log: c.log, Wait: diskPatience}
		if err = c.classes(&to, d, g); err == nil {
			c.disk, found, err = store.Open(to)
		}
	}
	if err != nil {
		c.diskless = err
		c.log.Warn("states are not kept on disk", "error", err)
		return nil
	}
	c.class = d.Class
	c.folder = filepath.Join(d.Dir, key)
	cfg.DiskBytes = store.Usable(d.Bytes)
	if c.opaque == nil && len(d.Smaller) > 0 {
		cfg.Smaller = d.Smaller
		cfg.DiskBytes -= d.Bytes / recodeRoom
	}
	for _, s := range cfg.Smaller {
		c.offered = append(c.offered, codec.Class(s.Class))
	}
	return found
}

func (c *Cache) identity(d Disk, g *gguf.Geometry) (id store.Identity, err error) {
	o := c.ctx.Options()
	id = store.Identity{
		Model: d.Model, Architecture: g.Architecture, Engine: d.Engine, Rope: g.Rope,
		Layers: layers(g), Layout: c.kept, Opaque: c.opaque != nil,
	}
	if id.Opaque { // the engine's own bytes, streams and all
		id.Layout = c.layout
	}
	if id.Keys, err = cacheType(o.KeyType); err != nil {
		return id, err
	}
	id.Values, err = cacheType(o.ValueType)
	id.Rotated = id.Keys.BlockSize() > 1 || id.Values.BlockSize() > 1
	return id, err
}

func layers(g *gguf.Geometry) string {
	var out []byte
	for _, l := range g.Layers {
		switch {
		case l.Recurrent:
			out = append(out, 'r')
		case l.Window > 0:
			out = append(out, 'w')
		default:
			out = append(out, 'a')
		}
	}
	return string(out)
}

// fetch begins an action that needs the disk; false if it does not.
func (c *Cache) fetch(now kvcache.Tick, a kvcache.Action) bool {
	if c.disk == nil {
		return false
	}
	var jobs []store.Job
	switch {
	case a.Kind == kvcache.Write:
		// The path of what is made: its source may have left the tree already.
		o := a.Objects[0]
		jobs = []store.Job{{Kind: store.Write, Object: o.ID, Path: c.Path(o.ID), From: o.From, State: o.State, Last: now,
			Data: c.ram[a.Source].data, Class: c.writes(a)}}
	case a.Kind == kvcache.Drop && a.Objects[0].Tier == kvcache.Disk:
		jobs = []store.Job{{Kind: store.Drop, Object: a.Objects[0].ID}}
	case a.Kind == kvcache.Shrink:
		jobs = []store.Job{{Kind: store.Change, Object: a.Objects[0].ID, Class: codec.Class(a.Class)}}
	case a.Kind == kvcache.Restore:
		for _, id := range c.absent(a) {
			jobs = append(jobs, store.Job{Kind: store.Read, Object: id})
		}
	}
	if len(jobs) == 0 {
		return false
	}
	c.jobs[a.ID] = &fetching{action: a, wait: len(jobs), read: map[kvcache.ObjectID][]byte{}}
	for _, j := range jobs {
		j.Tag = uint64(a.ID)
		queue := &c.changes
		if j.Kind == store.Read {
			queue = &c.reads
		}
		*queue = append(*queue, j)
	}
	c.feed()
	return true
}

// feed hands jobs to the store as far as it takes them, reads first. What the
// store has no place for waits: a long conversation is in more pieces than that.
func (c *Cache) feed() {
	for _, queue := range []*[]store.Job{&c.reads, &c.changes} {
		for len(*queue) > 0 {
			if !c.disk.Submit((*queue)[0]) {
				return // a completion makes room
			}
			*queue = (*queue)[1:]
		}
	}
}

// absent are the objects of a restore that are not in memory.
func (c *Cache) absent(a kvcache.Action) (ids []kvcache.ObjectID) {
	for _, p := range a.Pieces {
		if _, ok := c.ram[p.ID]; !ok {
			ids = append(ids, p.ID)
		}
	}
	if _, ok := c.ram[a.State]; !ok && a.State != 0 {
		ids = append(ids, a.State)
	}
	return ids
}

// Fetched is where results for Completed come from; nil without a disk.
func (c *Cache) Fetched() <-chan store.Completion {
	if c.disk == nil {
		return nil
	}
	return c.disk.Done()
}

// Completed takes a result from Fetched. Pump is to follow.
func (c *Cache) Completed(now kvcache.Tick, r store.Completion) {
	c.feed()
	f := c.jobs[kvcache.ActionID(r.Tag)]
	if f == nil {
		return
	}
	f.wait--
	switch {
	case r.Err == nil && r.Kind == store.Read:
		f.read[r.Object] = r.Data
		f.loss = max(f.loss, r.Class)
		c.prices.disk.add(r.Took, len(r.Data))
	case r.Err == nil && (r.Kind == store.Write || r.Kind == store.Change):
		f.action.Objects[0].Bytes, f.loss = r.Bytes, r.Class
	case r.Err != nil:
		f.err = fmt.Errorf("%s of a stored state: %w", r.Kind, r.Err)
		if errors.Is(r.Err, store.ErrBad) {
			f.bad = r.Object
		}
	}
	if f.wait == 0 {
		c.settle(now, f)
	}
}

// settle ends an action of the disk.
func (c *Cache) settle(now kvcache.Tick, f *fetching) {
	delete(c.jobs, f.action.ID)
	r := kvcache.Result{Err: f.err, Bad: f.bad}
	switch {
	case f.err != nil && f.action.Kind == kvcache.Restore: // it may have been to be cut back
		r.Err = errors.Join(f.err, c.empty(f.action.Seq))
	case f.err != nil:
	case f.action.Kind == kvcache.Restore:
		r = c.restore(f.action, f.read, f.loss)
	case f.action.Kind == kvcache.Write || f.action.Kind == kvcache.Shrink:
		r.Bytes, r.Class = []int64{f.action.Objects[0].Bytes}, uint8(f.loss)
	}
	if f.action.Kind == kvcache.Shrink && (errors.Is(r.Err, store.ErrBusy) || errors.Is(r.Err, store.ErrBudget)) {
		c.log.Debug("prefix cache: a state is not coded anew: it is read, or there is no room for both files", "error", r.Err)
	} else if r.Err != nil {
		c.log.Warn("prefix cache", "action", f.action.Kind.String(), "error", r.Err)
	}
	c.done(now, f.action.ID, r)
}

// Busy reports whether something is being read or written.
func (c *Cache) Busy() bool { return len(c.jobs) > 0 }

// price is a moving mean of what something costs, in nanoseconds for each unit.
type price struct{ ns float64 }

const priceWeight = 0.2 // of the newest

func (p *price) observe(ns float64) {
	if p.ns == 0 {
		p.ns = ns
		return
	}
	p.ns += priceWeight * (ns - p.ns)
}

// add takes the time that bytes took; few of them tell nothing of the rate.
func (p *price) add(took time.Duration, bytes int) {
	const mib, least = 1 << 20, 1 << 18
	if bytes >= least {
		p.observe(float64(took) * mib / float64(bytes))
	}
}

type prices struct{ prefill, ram, disk price }

// Read tells what reading tokens took.
func (c *Cache) Read(tokens int, took time.Duration) {
	c.prices.prefill.observe(float64(took) / float64(tokens))
}

// Reprice tells the tree what was measured.
func (c *Cache) Reprice() {
	set := func(to *int64, p price) {
		if p.ns >= 1 {
			*to = int64(p.ns)
		}
	}
	set(&c.cost.Prefill, c.prices.prefill)
	set(&c.cost.RAM, c.prices.ram)
	set(&c.cost.Hot, c.prices.ram)
	set(&c.cost.Disk, c.prices.disk)
	if err := c.SetCost(c.cost); err != nil {
		c.log.Error("prefix cache", "error", err)
	}
}
