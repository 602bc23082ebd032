package engine_test

import (
	"testing"

	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// The table against the engine's own answers, token by token.
func TestVocabularyIsTheEngines(t *testing.T) {
	for name, path := range map[string]string{
		"tiny": enginetest.Llama(t, synth.Config{}), "demo": enginetest.DemoModel(t),
	} {
		t.Run(name, func(t *testing.T) { checkVocabulary(t, enginetest.Load(t, path)) })
	}
}

func checkVocabulary(t *testing.T, m *engine.Model) {
	vocab, v := engine.VocabOf(m), m.Vocabulary()
	buf := make([]byte, 4096)
	text, ends := v.Pieces()
	eog, start := 0, uint32(0)
	for i := range engine.Token(v.Size()) {
		for _, special := range []bool{false, true} {
			n := llama.TokenToPiece(vocab, llama.Token(i), buf, 0, special)
			if want, got := string(buf[:max(n, 0)]), v.Piece(i, special); n < 0 || got != want {
				t.Fatalf("token %d, special %t: %q, the engine says %q (%d)", i, special, got, want, n)
			}
		}
		if text[start:ends[i]] != v.Piece(i, true) {
			t.Fatalf("token %d: pieces are out of step", i)
		}
		start = ends[i]
		if got, want := v.IsEOG(i), llama.VocabIsEOG(vocab, llama.Token(i)); got != want {
			t.Fatalf("token %d: end of generation %t, the engine says %t", i, got, want)
		} else if want {
			eog++
		}
	}
	if eog == 0 {
		t.Error("no token ends a generation")
	}
}
