package scripted

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// plain does what hold does, the slow way.
type plain struct {
	Cache
	kept []plainSeq // the one used last is last
}

type plainSeq struct {
	name, text string
	states     []int // in bytes
}

func (p *plain) find(text string) int {
	best := 0
	for _, k := range p.kept {
		n := common(k.text, whole(text))
		if p.StateBytes == 0 {
			best = max(best, n)
		}
		for _, at := range k.states {
			if at <= n {
				best = max(best, at)
			}
		}
	}
	return best / tokenBytes
}

func (p *plain) bytes() (n int64) {
	texts, states := map[string]bool{}, map[string]bool{}
	for _, k := range p.kept {
		for i := tokenBytes; i <= len(k.text); i += tokenBytes {
			texts[k.text[:i]] = true
		}
		for _, at := range k.states {
			states[k.text[:at]] = true
		}
	}
	return int64(len(texts))*p.KVBytes + int64(len(states))*p.StateBytes
}

func (p *plain) keep(name, text string, trunk int) {
	for i, k := range p.kept {
		if k.name == name {
			p.kept = append(p.kept[:i:i], p.kept[i+1:]...)
			break
		}
	}
	text = whole(text)
	if text == "" {
		return
	}
	k := plainSeq{name: name, text: text}
	if p.StateBytes > 0 {
		k.states = append(k.states, len(text))
		if n := len(whole(text[:min(trunk, len(text))])); n > 0 {
			k.states = append(k.states, n)
		}
	}
	p.kept = append(p.kept, k)
	for len(p.kept) > p.Slots || p.Bytes > 0 && p.bytes() > p.Bytes {
		p.kept = p.kept[1:]
	}
}

func TestHoldIsWhatThePlainOneIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Cache{Slots: rapid.IntRange(1, 5).Draw(t, "slots"), KVBytes: 1, StateBytes: int64(rapid.IntRange(0, 4).Draw(t, "state")),
			Bytes: int64(rapid.SampledFrom([]int{0, 12, 30}).Draw(t, "bytes"))}
		h, p := newHold(c), &plain{Cache: c}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			var b strings.Builder
			for range rapid.IntRange(0, 6).Draw(t, "words") {
				b.WriteString(rapid.SampledFrom([]string{"aaaa", "aaab", "bbbb", "x"}).Draw(t, "word"))
			}
			text := b.String()
			if got, want := h.find(text), p.find(text); got != want {
				t.Fatalf("find %q: %d, want %d of %+v", text, got, want, p.kept)
			}
			name, trunk := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "name"), rapid.IntRange(0, 12).Draw(t, "trunk")
			h.keep(name, text, trunk)
			p.keep(name, text, trunk)
			if got, want := h.bytes, p.bytes(); got != want {
				t.Fatalf("after keep %s %q: %d bytes, want %d of %+v", name, text, got, want, p.kept)
			}
		}
	})
}
