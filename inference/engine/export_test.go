package engine

import "github.com/hybridgroup/yzma/pkg/llama"

// VocabOf lets tests ask the engine itself.
func VocabOf(m *Model) llama.Vocab { return m.vocab }
