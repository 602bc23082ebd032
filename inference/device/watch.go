package device

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// ChangeKind is what happened to a device.
type ChangeKind string

// The kinds of changes.
const (
	OthersChanged ChangeKind = "others"   // other programs took or gave back memory
	DeviceLost    ChangeKind = "lost"     // it fell off the bus, or is not there any more
	DeviceBack    ChangeKind = "back"     // a lost one answers again
	DeviceAdded   ChangeKind = "appeared" // one that was not there at the first look
)

// Change is what a Tracker noticed. Before and After are the bytes that other
// programs hold, for OthersChanged.
type Change struct {
	Kind   ChangeKind `json:"kind"`
	Device string     `json:"device"` // Device.ID
	Name   string     `json:"name"`
	Before uint64     `json:"before_bytes,omitempty"`
	After  uint64     `json:"after_bytes,omitempty"`
	What   string     `json:"what"` // one sentence without a full stop
}

// Tracker compares looks at the devices. It is pure: no clock, no reading. The
// zero value waits for its first look; set Threshold before that.
type Tracker struct {
	// Threshold is by how many bytes other programs' memory must have moved since
	// it was last reported, so that slow growth is noticed and jitter is not.
	Threshold uint64

	started bool
	known   map[string]tracked
}

type tracked struct {
	name   string
	lost   bool
	others Reading[uint64] // as last reported
}

// Observe takes the next look and returns what changed, in the list's order, gone
// devices last in the order of their IDs. The first look changes nothing.
func (t *Tracker) Observe(devices []Device) []Change {
	var changes []Change
	next := make(map[string]tracked, len(devices))
	for _, d := range devices {
		before, was := t.known[d.ID]
		now := tracked{name: d.Name, lost: d.Lost != "", others: d.Others}
		switch {
		case !was && t.started:
			changes = append(changes, Change{Kind: DeviceAdded, Device: d.ID, Name: d.Name, What: d.label() + " appeared"})
		case !was:
		case now.lost && !before.lost:
			changes = append(changes, Change{Kind: DeviceLost, Device: d.ID, Name: d.Name, What: d.label() + " is lost: " + d.Lost})
		case !now.lost && before.lost:
			changes = append(changes, Change{Kind: DeviceBack, Device: d.ID, Name: d.Name, What: d.label() + " is back"})
		}
		if was && !now.lost && before.others.Known {
			if moved(before.others, now.others, t.Threshold) {
				changes = append(changes, othersChange(d, before.others.Value))
			} else {
				now.others = before.others
			}
		}
		next[d.ID] = now
	}
	changes = append(changes, t.gone(next)...)
	t.known, t.started = next, true
	return changes
}

func moved(before, now Reading[uint64], threshold uint64) bool {
	if !now.Known {
		return false
	}
	return max(before.Value, now.Value)-min(before.Value, now.Value) >= max(threshold, 1)
}

func othersChange(d Device, before uint64) Change {
	const mib = 1 << 20
	verb, by := "took", d.Others.Value-before
	if d.Others.Value < before {
		verb, by = "gave back", before-d.Others.Value
	}
	return Change{Kind: OthersChanged, Device: d.ID, Name: d.Name, Before: before, After: d.Others.Value,
		What: fmt.Sprintf("other programs %s %d MiB on %s and hold %d MiB now", verb, by/mib, d.label(), d.Others.Value/mib)}
}

// gone are the devices that were there and are not in the next look; they are
// remembered as lost.
func (t *Tracker) gone(next map[string]tracked) []Change {
	var changes []Change
	for _, id := range slices.Sorted(maps.Keys(t.known)) {
		before := t.known[id]
		if _, there := next[id]; there {
			continue
		}
		if !before.lost {
			changes = append(changes, Change{Kind: DeviceLost, Device: id, Name: before.name, What: before.name + " (" + id + ") is not there any more"})
		}
		before.lost = true
		next[id] = before
	}
	return changes
}

// Watch looks at once and then every interval until ctx ends, and hands each look
// to report with what changed since the one before; nothing has changed at the
// first. It runs in the caller's goroutine and starts none, so nothing is left
// behind when it returns. A look that takes longer than the interval delays the
// next one. The error is ctx's.
func Watch(ctx context.Context, interval time.Duration, threshold uint64, look func(context.Context) []Device, report func([]Device, []Change)) error {
	if interval <= 0 {
		return fmt.Errorf("watch the devices: an interval of %v", interval)
	}
	t := Tracker{Threshold: threshold}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		devices := look(ctx)
		if ctx.Err() != nil { // the look was cut short
			return ctx.Err()
		}
		report(devices, t.Observe(devices))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
