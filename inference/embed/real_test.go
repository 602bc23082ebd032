package embed_test

import (
	"math"
	"slices"
	"testing"

	"dure/inference"
	"dure/inference/embed"
	"dure/inference/engine/enginetest"
)

// TestRealModel: the real model, converted from what its makers published, gives the
// similarities that its makers' own library is documented with (sbert.net, quickstart).
func TestRealModel(t *testing.T) {
	e := open(t, enginetest.RealModel(t, "all-minilm-l6-v2"), embed.Config{})
	out := ask(t, e, &inference.EmbedRequest{Inputs: texts("The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.")})
	for i, row := range [][]float64{{1, 0.6660, 0.1046}, {0.6660, 1, 0.1411}, {0.1046, 0.1411, 1}} {
		for j, want := range row {
			if got := dot(out.Vectors[i], out.Vectors[j]); math.Abs(got-want) > 5e-4 {
				t.Errorf("texts %d and %d: cosine %.4f, want %.4f", i, j, got, want)
			}
		}
	}
}

// TestRealTokens: words, pieces of words, case, accents, signs, Chinese characters and
// what the vocabulary lacks become the tokens that BERT was trained with.
func TestRealTokens(t *testing.T) {
	e := open(t, enginetest.RealModel(t, "all-minilm-l6-v2"), embed.Config{})
	for text, want := range map[string][]int32{
		"hello world":   {101, 7592, 2088, 102},
		"Héllo, WORLD!": {101, 7592, 1010, 2088, 999, 102},
		"embeddings":    {101, 7861, 8270, 4667, 2015, 102},
		"東京":            {101, 1879, 1755, 102},
		"a [SEP] b":     nil, // no control token is read from a text
		"don't":         {101, 2123, 1005, 1056, 102},
	} {
		got, err := e.Tokenize(t.Context(), text, true)
		if err != nil || want != nil && !slices.Equal(got, want) || slices.Contains(got[1:len(got)-1], 102) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestRealQuestions finds the sentence that answers, among others.
func TestRealQuestions(t *testing.T) {
	e := open(t, enginetest.RealModel(t, "all-minilm-l6-v2"), embed.Config{})
	answers := []string{
		"The Han river flows through Seoul.", "Photosynthesis turns light into sugar.", "A mutex keeps two threads from writing at once.",
		"The recipe needs two eggs and a cup of flour.", "Interest rates were raised by half a percent.",
	}
	questions := []string{
		"Which river runs through the Korean capital?", "How do plants make food?", "How can I prevent a data race?",
		"What do I need to bake a cake?", "What did the central bank decide?",
	}
	a, q := ask(t, e, &inference.EmbedRequest{Inputs: texts(answers...)}), ask(t, e, &inference.EmbedRequest{Inputs: texts(questions...)})
	for i := range questions {
		best := 0
		for j := range answers {
			if dot(q.Vectors[i], a.Vectors[j]) > dot(q.Vectors[i], a.Vectors[best]) {
				best = j
			}
		}
		if best != i {
			t.Errorf("%q is answered by %q", questions[i], answers[best])
		}
	}
}
