package llm

import (
	"slices"
	"testing"

	"dure/kvcache"
)

// ledger is a cache that only knows what is pinned, a byte for each token.
type ledger struct {
	last kvcache.PinID
	live map[kvcache.PinID]int
}

func (l *ledger) Pin(_ kvcache.Tick, tokens []kvcache.Token) (kvcache.PinID, error) {
	l.last++
	l.live[l.last] = len(tokens)
	return l.last, nil
}
func (l *ledger) Unpin(id kvcache.PinID) { delete(l.live, id) }
func (l *ledger) Size(tokens int) int64  { return int64(tokens) }

func stats(hot, ram int64) (s kvcache.Stats) {
	s.Budget[kvcache.Hot], s.Budget[kvcache.RAM] = hot, ram
	return s
}

// However many prefixes are pinned, half of the memory stays everybody's; of the
// same prefix there is one pin.
func TestPinsAreBounded(t *testing.T) {
	l, p := &ledger{live: map[kvcache.PinID]int{}}, newPins(stats(1000, 200), 8)
	for i := range int32(1000) {
		if _, kept, err := p.add(l, 0, slices.Repeat([]int32{i}, 1+int(i)%30)); err != nil || !kept {
			t.Fatalf("pin %d: kept %v, %v", i, kept, err)
		}
		sum := 0
		for _, n := range l.live {
			sum += n
		}
		if sum > 100 || int64(sum) != p.used || len(l.live) != len(p.held) {
			t.Fatalf("pin %d: %d bytes in %d pins, want 100 at most; the account says %d in %d", i, sum, len(l.live), p.used, len(p.held))
		}
	}
	if _, kept, _ := p.add(l, 0, make([]int32, 101)); kept {
		t.Error("a prefix larger than all that may be pinned was")
	}
	first := p.held[0].id
	if gone, _, _ := p.add(l, 0, slices.Clone(p.held[0].tokens)); gone != 0 || p.held[len(p.held)-1].id != first {
		t.Errorf("pinned again: %d went, %+v", gone, p.held)
	}
	for p.dropOldest(l) {
	}
	if len(l.live) != 0 || p.used != 0 {
		t.Errorf("%v left of %d bytes", l.live, p.used)
	}
}

// Without memory a pinned prefix takes a sequence.
func TestPinsWithoutMemory(t *testing.T) {
	l, p := &ledger{live: map[kvcache.PinID]int{}}, newPins(stats(1000, 0), 4)
	for i := range int32(9) {
		p.add(l, 0, []int32{i})
	}
	if len(l.live) != 2 {
		t.Errorf("%d sequences of 4 are pinned", len(l.live))
	}
	if p = newPins(stats(1000, 0), 1); p.many != 0 {
		t.Error("the only sequence may be pinned")
	}
}
