package sample

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"dure/inference"
)

// rows are shapes a model or a bug can produce.
func rows(n int) map[string][]float32 {
	random := rand.New(rand.NewPCG(1, 2))
	normal := make([]float32, n)
	for i := range normal {
		normal[i] = float32(random.NormFloat64() * 3)
	}
	rising := slices.Clone(normal)
	slices.Sort(rising)
	return map[string][]float32{"normal": normal, "rising": rising, "equal": make([]float32, n)}
}

func BenchmarkSample(b *testing.B) {
	params := map[string]inference.Params{
		"greedy":   {TopP: 1},
		"top40":    {Temperature: 1, TopP: 0.95, MinP: 0.05},
		"top1024":  {Temperature: 1, TopP: 0.95, TopK: 1024},
		"all_of_k": {Temperature: 1, TopP: 1},
	}
	for _, n := range []int{49152, 248320} {
		for shape, row := range rows(n) {
			for name, p := range params {
				b.Run(fmt.Sprintf("%s/%s/%d", name, shape, n), func(b *testing.B) {
					s, err := New(p, words{})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportAllocs()
					for b.Loop() {
						if _, err := s.Sample(row); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkOption is what each option adds to the default draw, with a history
// of 32,768 tokens that repeats itself now and then.
func BenchmarkOption(b *testing.B) {
	const n = 248320
	row := rows(n)["normal"]
	whole := inference.Params{Penalties: inference.Penalties{Presence: 1, LastN: -1}}
	for _, c := range []struct {
		name string
		p    inference.Params
	}{
		{"none", inference.Params{}},
		{"bias", inference.Params{LogitBias: everything.LogitBias}},
		{"penalties", inference.Params{Penalties: everything.Penalties}},
		{"penalties_whole", whole},
		{"dry", inference.Params{DRY: everything.DRY}},
		{"typical", inference.Params{TypicalP: 0.9}},
		{"xtc", inference.Params{XTC: everything.XTC}},
		{"mirostat1", withMirostat(inference.Params{}, 1)},
		{"mirostat2", withMirostat(inference.Params{}, 2)},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.p.TopP, c.p.Temperature = 1, 1
			s := must(b, c.p)
			s.Prompt(text(32768))
			b.ReportAllocs()
			for b.Loop() {
				token, err := s.Sample(row)
				if err != nil {
					b.Fatal(err)
				}
				s.Accept(token)
			}
		})
	}
	b.Run("logprobs", func(b *testing.B) {
		s := must(b, inference.Params{TopP: 1, Logprobs: true})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Logprobs(row, 7, 20); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// text has the shape of a text: few tokens are frequent, some stretches repeat.
func text(n int) []int32 {
	random := rand.New(rand.NewPCG(4, 4))
	tokens := make([]int32, n)
	for i := range tokens {
		if i > 1000 && i%100 < 20 {
			tokens[i] = tokens[i-1000]
		} else {
			tokens[i] = int32(40000 * random.Float64() * random.Float64() * random.Float64())
		}
	}
	return tokens
}

// BenchmarkDRY is the search alone: in a text, and where all tokens are equal.
func BenchmarkDRY(b *testing.B) {
	for _, n := range []int{32768, 262144} {
		for shape, past := range map[string][]int32{"text": text(n), "equal": make([]int32, n)} {
			b.Run(fmt.Sprintf("%s/%d", shape, n), func(b *testing.B) {
				s := must(b, inference.Params{TopP: 1, DRY: inference.DRY{Multiplier: 1}})
				s.Prompt(past)
				b.ReportAllocs()
				for b.Loop() {
					s.dry.mark(s.history, s.changes)
				}
			})
		}
	}
}

// kept is a vocabulary that keeps its pieces, as Vocabulary asks for.
type kept struct {
	words
	text string
	ends []uint32
}

func (k kept) Pieces() (string, []uint32) { return k.text, k.ends }

// BenchmarkNewDRY is what DRY's breakers cost a request.
func BenchmarkNewDRY(b *testing.B) {
	v := kept{words: make(words, 248320)}
	random := rand.New(rand.NewPCG(8, 8))
	for i := range v.words {
		word := make([]byte, 1+random.IntN(12))
		for j := range word {
			word[j] = " \n:\"*abcdefghijklmnopqrstuvwxyz"[random.IntN(31)]
		}
		v.words[i] = string(word)
	}
	v.text, v.ends = v.words.Pieces()
	var many []string
	for i := range MaxBreakers {
		many = append(many, fmt.Sprintf("ea%c", 'a'+i%26))
	}
	for name, breakers := range map[string][]string{"default": nil, "many": many} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := New(inference.Params{TopP: 1, DRY: inference.DRY{Multiplier: 1, Breakers: breakers}}, v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
