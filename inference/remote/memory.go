package remote

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"sync"

	"dure/inference"
)

// maxMemory is how many bytes of blocks are kept: hundreds of long conversations.
const maxMemory = 64 << 20

// memory keeps the blocks of answers that thought, so that they can be sent back with
// their signatures. The oldest are forgotten first.
type memory struct {
	mu    sync.Mutex
	most  int // bytes
	size  int
	known map[memoryKey]kept
	order []memoryKey // from the oldest on
}

// memoryKey is what an answer said: its thinking, its text and its calls.
type memoryKey [sha256.Size]byte

type kept struct {
	blocks []block
	bytes  int
}

func newMemory(most int) *memory { return &memory{most: most, known: map[memoryKey]kept{}} }

func keyOf(m inference.Message) memoryKey {
	h := sha256.New()
	put := func(s string) {
		h.Write(strconv.AppendInt(nil, int64(len(s)), 10))
		h.Write([]byte{':'})
		h.Write([]byte(s))
	}
	put(m.Reasoning)
	put(m.Content)
	for _, c := range m.ToolCalls {
		put(c.Name)
		put(c.Arguments)
	}
	return memoryKey(h.Sum(nil))
}

// find returns the blocks of an answer that said this; nil where they are not known.
func (k *memory) find(m inference.Message) []block {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.known[keyOf(m)].blocks)
}

// keep remembers an answer's blocks.
func (k *memory) keep(m inference.Message, blocks []block) {
	size := 0
	for _, b := range blocks {
		size += len(b.Text) + len(b.Signature) + len(b.Data) + len(b.Name) + len(b.Input)
		if b.Thinking != nil {
			size += len(*b.Thinking)
		}
	}
	key := keyOf(m)
	k.mu.Lock()
	defer k.mu.Unlock()
	if old, ok := k.known[key]; ok {
		k.size += size - old.bytes
		k.known[key] = kept{blocks, size}
		return
	}
	k.known[key] = kept{blocks, size}
	k.order = append(k.order, key)
	k.size += size
	for k.size > k.most && len(k.order) > 0 {
		oldest := k.order[0]
		k.order = k.order[1:]
		k.size -= k.known[oldest].bytes
		delete(k.known, oldest)
	}
}
