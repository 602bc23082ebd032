package kv

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// Kind of a text.
type Kind string

// The kinds: a story, a program, a conversation with tools.
const (
	Prose Kind = "prose"
	Code  Kind = "code"
	Talk  Kind = "talk"
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{Prose, Code, Talk} }

// writer makes a text piece by piece. What it wrote before it comes back to, so that
// what follows can be told from what is far behind.
type writer interface {
	// next is a paragraph, a function, or a turn.
	next() string
}

// Text is the beginning of an endless text, at least so many bytes of it. It follows
// from kind and seed: a longer one begins with a shorter one.
func Text(kind Kind, seed uint64, bytes int) string {
	w := newWriter(kind, seed)
	var b strings.Builder
	for b.Len() < bytes {
		b.WriteString(w.next())
	}
	return b.String()
}

func newWriter(kind Kind, seed uint64) writer {
	d := dice{source(string(kind), seed)}
	switch kind {
	case Code:
		return newCoder(d)
	case Talk:
		return newTalker(d)
	}
	return newTeller(d)
}

// source is the random numbers of a name and a seed.
func source(name string, seed uint64) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// dice chooses.
type dice struct{ *rand.Rand }

func (d dice) of(list []string) string { return list[d.IntN(len(list))] }

// some are n different entries of a list.
func (d dice) some(list []string, n int) []string {
	out := make([]string, 0, n)
	for _, i := range d.Perm(len(list))[:min(n, len(list))] {
		out = append(out, list[i])
	}
	return out
}

// chance is true so many times of a hundred.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// number of so many digits, the first not 0.
func (d dice) number(digits int) string {
	low := 1
	for range digits - 1 {
		low *= 10
	}
	return fmt.Sprint(low + d.IntN(9*low))
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
