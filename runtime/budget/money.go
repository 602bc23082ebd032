package budget

import (
	"fmt"
	"math"
	"math/bits"

	"dure/inference"
)

// Money is in millionths of a millionth of a US dollar, so that a token's price is a
// whole number.
type Money int64

// Dollar is one.
const Dollar Money = 1e12

// Micro is in millionths of a dollar, rounded up.
func (m Money) Micro() int64 {
	if m%1e6 == 0 {
		return int64(m / 1e6)
	}
	return int64(m/1e6) + 1
}

// String is in dollars, rounded up to a millionth.
func (m Money) String() string {
	micro := m.Micro()
	return fmt.Sprintf("$%d.%06d", micro/1e6, micro%1e6)
}

// Price is in millionths of a US dollar per million tokens.
type Price struct {
	Input  int64 `json:"input"`  // of a prompt
	Cached int64 `json:"cached"` // of a prompt, and in the server's cache
	Output int64 `json:"output"`
	// Write is of a prompt that the server puts into its cache; 0: as Input.
	Write int64 `json:"write,omitempty"`
}

// write is what a token costs that is put into the cache.
func (p Price) write() int64 {
	if p.Write == 0 {
		return p.Input
	}
	return p.Write
}

// Of is what tokens cost.
func (p Price) Of(t Tokens) Money {
	return plus(plus(plus(times(t.Uncached-t.Written, p.Input), times(t.Written, p.write())), times(t.Cached, p.Cached)), times(t.Output, p.Output))
}

// times and plus stay at the largest number where others would begin anew at the
// smallest; neither is given negative ones.
func times(tokens, price int64) Money {
	hi, lo := bits.Mul64(uint64(tokens), uint64(price))
	if hi > 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return Money(lo)
}

func plus[T ~int64](a, b T) T {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Tokens are those of one call or of many.
type Tokens struct {
	Uncached int64 `json:"uncached"` // of prompts, and read
	Cached   int64 `json:"cached"`   // of prompts, and not read again
	Output   int64 `json:"output"`   // of answers, thinking included
	// Written are those of Uncached that were put into the server's cache.
	Written int64 `json:"written,omitempty"`
}

// All is the number of tokens.
func (t Tokens) All() int64 { return plus(plus(t.Uncached, t.Cached), t.Output) }

func (t Tokens) plus(o Tokens) Tokens {
	return Tokens{plus(t.Uncached, o.Uncached), plus(t.Cached, o.Cached), plus(t.Output, o.Output), plus(t.Written, o.Written)}
}

// TokensOf are the tokens that an answer's usage tells. An endpoint may tell anything:
// no number counts as less than none, and no more of a prompt is cached than there is.
func TokensOf(u inference.Usage) Tokens {
	prompt := int64(max(u.PromptTokens, 0))
	cached := min(int64(max(u.CachedTokens, 0)), prompt)
	written := min(int64(max(u.CacheWriteTokens, 0)), prompt-cached)
	return Tokens{Uncached: prompt - cached, Cached: cached, Output: int64(max(u.CompletionTokens, 0)), Written: written}
}
