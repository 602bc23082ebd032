package sample

import (
	"fmt"
	"slices"
	"strings"
)

// maxTail is the most tokens that a breaker may have behind its first.
const maxTail = 20

// breakers are the token sequences that hold one of DRY's breaking strings: a
// token with the whole string in it, or one that ends with its beginning and
// then the tokens of the rest.
type breakers struct {
	single  tokenSet         // hold a whole string
	heads   tokenSet         // begin one
	tails   map[int32][]tail // by head
	longest int              // of the tails, in tokens
}

type tail []int32

// findBreakers looks the strings up in the vocabulary. It reads all of the
// vocabulary's text once for each string.
func findBreakers(texts []string, v Vocabulary) (*breakers, error) {
	b := &breakers{tails: map[int32][]tail{}}
	if len(texts) == 0 {
		return b, nil
	}
	b.single, b.heads = newTokenSet(v.Size()), newTokenSet(v.Size())
	all, ends := v.Pieces()
	for _, s := range texts {
		if err := b.find(s, all, ends, v); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// find adds the sequences of one string.
func (b *breakers) find(s, all string, ends []uint32, v Vocabulary) error {
	rests := make([]tail, len(s)) // by how much of s the head holds
	token, at := 0, 0
	for {
		next := strings.IndexByte(all[at:], s[0])
		if next < 0 {
			return nil
		}
		at += next
		for int(ends[token]) <= at {
			token++
		}
		end := int(ends[token])
		if strings.Contains(all[at:end], s) {
			b.single.add(int32(token))
			at = end
			continue
		}
		for ; at < end; at++ {
			if !strings.HasPrefix(s, all[at:end]) {
				continue
			}
			if err := b.addHead(int32(token), s, end-at, rests, v); err != nil {
				return err
			}
		}
	}
}

// addHead adds the sequence of a head that holds the first n bytes of s.
func (b *breakers) addHead(token int32, s string, n int, rests []tail, v Vocabulary) error {
	if rests[n] == nil {
		t, err := v.Tokenize(s[n:])
		if err != nil {
			return fmt.Errorf("tokenise the rest of DRY's breaker %q: %w", s, err)
		}
		rests[n] = append(tail{}, t[:min(len(t), maxTail)]...)
	}
	rest := rests[n]
	if len(rest) == 0 {
		b.single.add(token)
		return nil
	}
	b.heads.add(token)
	b.longest = max(b.longest, len(rest))
	if !slices.ContainsFunc(b.tails[token], func(t tail) bool { return slices.Equal(t, rest) }) {
		b.tails[token] = append(b.tails[token], rest)
	}
	return nil
}

// match reports whether tokens are a breaker, all of them.
func (b *breakers) match(tokens []int32) bool {
	if len(tokens) == 1 {
		return b.single.has(tokens[0])
	}
	if !b.heads.has(tokens[0]) {
		return false
	}
	for _, t := range b.tails[tokens[0]] {
		if slices.Equal(t, tokens[1:]) {
			return true
		}
	}
	return false
}

// tokenSet is a set of tokens, one bit for each of the vocabulary.
type tokenSet []uint64

func newTokenSet(size int) tokenSet { return make(tokenSet, (size+63)/64) }

func (s tokenSet) add(token int32) { s[token/64] |= 1 << (token % 64) }

func (s tokenSet) has(token int32) bool {
	i := uint32(token) / 64
	return int(i) < len(s) && s[i]>>(uint32(token)%64)&1 != 0
}
