package synth

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"dure/gguf"
)

// TestGolden pins the bytes of every model that tests elsewhere rely on. A
// changed sum means that recorded outputs of these models are void.
func TestGolden(t *testing.T) {
	for _, tc := range []struct {
		name  string
		write func(io.Writer, Config) error
		cfg   Config
		sum   string // first 16 hex digits of SHA-256
	}{
		{"llama", Llama, Config{}, "915128adc6ea7b6e"},
		{"llama f16", Llama, Config{Weights: gguf.F16}, "64d8fc4d694c11f2"},
		{"llama bf16", Llama, Config{Weights: gguf.BF16}, "bd48aa2b4690fae9"},
		{"llama q8_0", Llama, Config{Weights: gguf.Q8_0}, "baf8538de530e0b2"},
		{"llama q4_0", Llama, Config{Weights: gguf.Q4_0}, "66cd70fc2868e0e4"},
		{"llama q4_1", Llama, Config{Weights: gguf.Q4_1}, "e0621b9a2c83b0b7"},
		{"llama q4_k", Llama, Config{Weights: gguf.Q4K, Embedding: 256}, "5c6d9c62df3450a7"},
		{"llama q6_k", Llama, Config{Weights: gguf.Q6K, Embedding: 256}, "7b8c01161376f18b"},
		{"llama q4_k_m", Llama, Config{Weights: gguf.Q4K, MoreBits: true, Embedding: 256, Layers: 4}, "aab082055b6b94f0"},
		{"qwen35", Qwen35, Config{}, "d5e7f557894efb96"},
		{"qwen35 with MTP", Qwen35, Config{MTP: 1}, "7c85feaa46ae689f"},
		{"qwen35 chain", Qwen35, Config{MTP: 1, Chain: true, Noise: 0.5}, "5cbce49f82a183ad"},
		{"qwen35 chain q4_1", Qwen35, Config{MTP: 1, Chain: true, Weights: gguf.Q4_1}, "61bd81d77899d590"},
		{"qwen35 q8_0", Qwen35, Config{Weights: gguf.Q8_0}, "9c4cfb42d520498b"},
		{"gemma3", Gemma3, Config{}, "788b1abf9fb6913b"},
		{"bert", BERT, Config{}, "46de6ea63a42b12e"},
		{"llama seed, vocabulary, tied", Llama, Config{Seed: 7, Vocabulary: 2000, Tied: true, Layers: 1}, "0435ddc135e2b084"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var a, b bytes.Buffer
			if err := tc.write(&a, tc.cfg); err != nil {
				t.Fatal(err)
			}
			if err := tc.write(&b, tc.cfg); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Error("two runs differ")
			}
			if a.Len() >= 2e6 {
				t.Errorf("%d bytes, must stay under 2 MB", a.Len())
			}
			h := sha256.Sum256(a.Bytes())
			if got := hex.EncodeToString(h[:8]); got != tc.sum {
				t.Errorf("sum %s, want %s", got, tc.sum)
			}
		})
	}
}

func TestSeedChangesWeightsOnly(t *testing.T) {
	var a, b bytes.Buffer
	if err := Llama(&a, Config{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	if err := Llama(&b, Config{Seed: 2}); err != nil {
		t.Fatal(err)
	}
	if a.Len() != b.Len() || bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Errorf("lengths %d and %d, equal %v", a.Len(), b.Len(), bytes.Equal(a.Bytes(), b.Bytes()))
	}
	const header = 4096
	if !bytes.Equal(a.Bytes()[:header], b.Bytes()[:header]) {
		t.Error("headers differ")
	}
}

func TestRefusals(t *testing.T) {
	for want, c := range map[string]Config{
		"Layers is -1":        {Layers: -1},
		"Heads is -4":         {Heads: -4},
		"Embedding is":        {Embedding: 1 << 30},
		"not a multiple of":   {Heads: 4, KVHeads: 3},
		"no random weights":   {Weights: gguf.IQ2XXS},
		"is not a multiple":   {Weights: gguf.Q4K}, // 128 wide
		"HeadDim is 0, must":  {Embedding: 2, Heads: 4},
		"FeedForward is -256": {FeedForward: -256},
		"MoreBits goes with":  {MoreBits: true},
		"Window is -1":        {Window: -1},
		"Noise 0: must":       {Chain: true, Tied: true},
		"Noise 0.5: must":     {Noise: 0.5},
		"Noise 2: must":       {Chain: true, Noise: 2},
	} {
		if err := Llama(io.Discard, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got error %v, want one with %q", c, err, want)
		}
	}
}

func TestQwen35Refusals(t *testing.T) {
	for want, c := range map[string]Config{
		"Delta.Heads 3 is not": {Delta: Delta{Heads: 3}},
		"multiple of 16":       {HeadDim: 24},
		"Delta.State is -1":    {Delta: Delta{State: -1}},
	} {
		if err := Qwen35(io.Discard, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got error %v, want one with %q", c, err, want)
		}
	}
}

// TestVocabulary: any byte has a token, no token occurs twice (the engine
// aborts on that), every merge joins two tokens into a third.
func TestVocabulary(t *testing.T) {
	for _, size := range []int{BaseVocabulary, 1000, 40000} {
		v := newVocabulary(size)
		if len(v.tokens) != size || len(v.types) != size || len(v.known) != size {
			t.Fatalf("size %d: %d tokens, %d types, %d distinct", size, len(v.tokens), len(v.types), len(v.known))
		}
		for b := range 256 {
			if got, want := v.tokens[FirstByteToken+b], printable(string([]byte{byte(b)})); got != want {
				t.Errorf("byte %#x: token %q, want %q", b, got, want)
			}
		}
		for _, m := range v.merges {
			left, right, ok := strings.Cut(m, " ")
			if !ok || !v.known[left] || !v.known[right] || !v.known[left+right] {
				t.Errorf("size %d: merge %q does not join tokens", size, m)
			}
		}
	}
	for id, s := range map[int]string{EndOfText: "<|endoftext|>", StartOfTurn: "<|im_start|>", EndOfTurn: "<|im_end|>"} {
		if got := newVocabulary(BaseVocabulary).tokens[id]; got != s {
			t.Errorf("token %d is %q, want %q", id, got, s)
		}
	}
}

// TestQwenVocabulary: the ids that Qwen 3.5 and later give to special tokens.
func TestQwenVocabulary(t *testing.T) {
	v := newQwenVocabulary(248320)
	if len(v.tokens) != 248320 || len(v.known) != 248320 {
		t.Fatalf("%d tokens, %d distinct", len(v.tokens), len(v.known))
	}
	for id, want := range map[int]string{
		248044: "<|endoftext|>", 248045: "<|im_start|>", 248046: "<|im_end|>", 248056: "<|image_pad|>",
		248058: "<tool_call>", 248069: "</think>", 248070: "[PAD248070]", 248319: "[PAD248319]",
	} {
		if v.tokens[id] != want {
			t.Errorf("token %d is %q, want %q", id, v.tokens[id], want)
		}
	}
	if v.types[248046] != tokenControl || v.types[248068] != tokenUser || v.types[248319] != tokenUnused || v.types[0] != tokenNormal {
		t.Error("wrong types of special tokens")
	}
	if v.endOfText != 248044 || v.endOfTurn != 248046 {
		t.Errorf("end tokens %d and %d", v.endOfText, v.endOfTurn)
	}
}

// TestPieces: no token twice, a token for every byte, and every piece is made
// of two others, so that it can be reached by merging.
func TestPieces(t *testing.T) {
	for _, size := range []int{BaseVocabulary, 5000} {
		p := newPieces(size)
		if len(p.tokens) != size || len(p.known) != size || len(p.scores) != size || len(p.types) != size {
			t.Fatalf("size %d: %d tokens, %d distinct", size, len(p.tokens), len(p.known))
		}
		if p.tokens[6] != "<0x00>" || p.tokens[261] != "<0xFF>" || p.types[261] != tokenByte || p.types[pieceUnknown] != tokenUnknown {
			t.Errorf("bytes are not where they belong: %q", p.tokens[:8])
		}
		for i := 262; i < size; i++ {
			r := []rune(p.tokens[i])
			if len(r) > 1 && (!p.known[string(r[:len(r)-1])] || p.scores[i] >= p.scores[i-1]) {
				t.Errorf("piece %d %q cannot be reached", i, p.tokens[i])
			}
		}
	}
}

func TestWordPieces(t *testing.T) {
	p := newWordPieces(BaseVocabulary)
	known := map[string]bool{}
	for _, s := range p.tokens {
		known[s] = true
	}
	if len(p.tokens) != BaseVocabulary || len(known) != BaseVocabulary || p.tokens[wordSEP] != "[SEP]" {
		t.Fatalf("%d tokens, %d distinct", len(p.tokens), len(known))
	}
	for c := 'a'; c <= 'z'; c++ {
		if !known[string(c)] || !known[spaceMark+string(c)] {
			t.Errorf("no piece for %q", c)
		}
	}
}

// TestPresets: the sizes that the benchmarks rely on, from the header alone.
func TestPresets(t *testing.T) {
	for _, tc := range []struct {
		name       string
		build      func(Config) (*gguf.Writer, error)
		cfg        Config
		parameters uint64
	}{
		{"llama", NewLlama, SmolShape(), 134515008}, // as the real file
		{"qwen35", NewQwen35, HybridShape(), 118673760},
	} {
		tc.cfg.Sparse = true
		w, err := tc.build(tc.cfg)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "m.gguf")
		if err := w.WriteFile(path); err != nil {
			t.Fatal(err)
		}
		m, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		g, err := m.Geometry()
		if err != nil {
			t.Fatal(err)
		}
		if g.Parameters != tc.parameters || !g.Tied {
			t.Errorf("%s: %d parameters, want %d; tied %v", tc.name, g.Parameters, tc.parameters, g.Tied)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestMoreBits: the layers that the engine's quantiser gives more bits.
func TestMoreBits(t *testing.T) {
	got := ""
	for i := range 16 {
		if moreBits(i, 16) {
			got += "6"
		} else {
			got += "4"
		}
	}
	if want := "6644644644644666"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPrintable: known points of the byte-level alphabet.
func TestPrintable(t *testing.T) {
	for b, want := range map[string]string{" ": "Ġ", "\n": "Ċ", "\t": "ĉ", "\x00": "Ā", "A": "A", "~": "~", "\x7f": "ġ", "\xad": "Ń", "\xff": "ÿ", "\xa0": "ł"} {
		if got := printable(b); got != want {
			t.Errorf("byte %q: %q, want %q", b, got, want)
		}
	}
}
