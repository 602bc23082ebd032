package main

import (
	"fmt"

	"dure/inference/device"
)

// taken is what other programs took of a card since a model was loaded there.
type taken struct {
	Device string  `json:"device"` // the engine's name
	Bytes  float64 `json:"bytes"`
	Free   float64 `json:"free_bytes"` // now
}

// String says what it means and what can be done.
func (t taken) String() string {
	return fmt.Sprintf("other programs took %s of %s since it was loaded, %s are free: end them if it gets slow or fails, or leave the card to them with `dure unload --now`",
		size(int64(t.Bytes)), t.Device, size(int64(t.Free)))
}

// taken compares the cards of a load with what they were before it. Less than
// watchBytes is a desktop's coming and going.
func (p placement) taken(now []device.Device) (all []taken) {
	if p.plan == nil {
		return nil
	}
	for i := range p.plan.Devices {
		a := &p.plan.Devices[i]
		if !usedCard(*a) {
			continue
		}
		was, before := seenAs(a.Device.Name, p.before)
		is, after := seenAs(a.Device.Name, now)
		switch {
		case !before || !after || was.ID != is.ID || !was.Others.Known || !is.Others.Known:
		case is.Others.Value >= was.Others.Value+watchBytes:
			all = append(all, taken{a.Device.Name, float64(is.Others.Value - was.Others.Value), float64(is.Free.Value)})
		}
	}
	return all
}

// takenFrom is what other programs took of a loaded model's cards.
func (h *host) takenFrom(name string, now []device.Device) []taken {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.placed[name].taken(now)
}
