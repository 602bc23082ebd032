package voice

import (
	"sync"

	"dure/audio"
)

// Phrases keeps the sound of fixed phrases. The zero value is ready; any goroutine may use
// it.
type Phrases struct {
	mu   sync.Mutex
	kept map[Utterance][]float32
}

const (
	mostPhrases   = 256
	longestPhrase = 6 * audio.Rate
)

func (p *Phrases) get(u Utterance) []float32 {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept[u]
}

func (p *Phrases) collect(all, pcm []float32) []float32 {
	if p == nil || len(all) > longestPhrase {
		return all
	}
	return append(all, pcm...)
}

func (p *Phrases) put(u Utterance, pcm []float32) {
	if p == nil || len(pcm) == 0 || len(pcm) > longestPhrase {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil || len(p.kept) >= mostPhrases {
		p.kept = map[Utterance][]float32{}
	}
	p.kept[u] = pcm
}
