package reuse

import (
	"errors"
	"slices"

	"dure/kvcache"
)

// pump carries out what the tree asks for. What moves between engine and RAM is done at
// once, and costs the engine its time; the disk works beside it, one thing at a time.
func (o *owner) pump() error {
	o.tree.Balance(o.now)
	for {
		a, ok := o.tree.Next()
		if !ok {
			return nil
		}
		ram, disk := o.moved(a)
		o.now += o.price(ram, o.server.RAMMiB)
		if disk == 0 {
			if err := o.tree.Done(o.now, a.ID, kvcache.Result{}); err != nil {
				return err
			}
			continue
		}
		o.disk = max(o.disk, o.now) + o.price(disk, o.server.DiskMiB)
		o.slow = append(o.slow, slow{a, o.disk})
	}
}

func (o *owner) price(bytes int64, mib Tick) Tick {
	return Tick(float64(bytes) / (1 << 20) * float64(mib))
}

// moved is how many bytes an action moves between the engine and RAM, and to or from
// the disk.
func (o *owner) moved(a kvcache.Action) (ram, disk int64) {
	switch a.Kind {
	case kvcache.Save:
		for _, t := range a.Objects {
			ram += t.Bytes
		}
	case kvcache.Write:
		disk = a.Objects[0].Bytes
	case kvcache.Restore:
		ram = int64(a.Shared)*o.server.KVBytes + o.server.StateBytes
		if a.From == a.Seq {
			ram = 0 // it is cut where it lies
		}
		for _, t := range a.Pieces {
			if t.Tier == kvcache.Disk {
				disk += t.Bytes
			}
			ram += t.Bytes
		}
	}
	return ram, disk
}

// finishSlow tells the tree what the disk has done by now.
func (o *owner) finishSlow() {
	for len(o.slow) > 0 && o.slow[0].end <= o.now {
		a := o.slow[0]
		o.slow = o.slow[1:]
		if err := o.tree.Done(o.now, a.ID, kvcache.Result{}); err != nil {
			panic(err) // the action was handed out, and is told of once
		}
		o.sched.Room()
	}
}

var errStill = errors.New("nothing runs, and nothing will happen")

// sleep lets time pass until something happens.
func (o *owner) sleep() error {
	var next []Tick
	if len(o.coming) > 0 {
		next = append(next, o.coming[0].arrived)
	}
	if len(o.slow) > 0 {
		next = append(next, o.slow[0].end)
	}
	if at, ok := o.sched.WaitUntil(o.now); ok {
		next = append(next, at)
	}
	if len(next) == 0 {
		return errStill
	}
	o.now = max(slices.Min(next), o.now+1)
	return o.pump()
}
