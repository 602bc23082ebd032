package grammar

import (
	"slices"
	"unicode/utf8"
)

// Range is the characters from Lo to Hi, both included. Surrogates are no
// characters: ranges may go across them.
type Range struct{ Lo, Hi rune }

const (
	surrogateMin = 0xd800
	surrogateMax = 0xdfff
)

type class []Range // sorted, apart from each other, without surrogates

// Class is one character of any of the ranges, in UTF-8.
func Class(ranges ...Range) Expr { return class(Join(ranges...)) }

// Except is one character of none of the ranges.
func Except(ranges ...Range) Expr { return class(Others(ranges...)) }

// Join returns the same characters as ranges that are sorted and apart from each
// other, without what is no character.
func Join(ranges ...Range) []Range {
	var cut []Range
	for _, r := range ranges {
		r.Lo, r.Hi = max(r.Lo, 0), min(r.Hi, utf8.MaxRune)
		for _, part := range []Range{{r.Lo, min(r.Hi, surrogateMin-1)}, {max(r.Lo, surrogateMax+1), r.Hi}} {
			if part.Lo <= part.Hi {
				cut = append(cut, part)
			}
		}
	}
	slices.SortFunc(cut, func(a, b Range) int { return int(a.Lo - b.Lo) })
	var out []Range
	for _, r := range cut {
		if last := len(out) - 1; last >= 0 && r.Lo <= out[last].Hi+1 {
			out[last].Hi = max(out[last].Hi, r.Hi)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// Others returns all other characters, in the form of Join.
func Others(ranges ...Range) []Range {
	var gaps []Range
	next := rune(0)
	for _, r := range Join(ranges...) {
		gaps = append(gaps, Range{next, r.Lo - 1})
		next = r.Hi + 1
	}
	gaps = append(gaps, Range{next, utf8.MaxRune})
	return Join(gaps...)
}

func containsRune(ranges []Range, r rune) bool {
	return slices.ContainsFunc(ranges, func(x Range) bool { return x.Lo <= r && r <= x.Hi })
}

// span is a range of bytes.
type span struct{ lo, hi byte }

// spans cuts ranges of characters into sequences of byte ranges: a character is in
// the ranges if and only if its bytes are, one by one, in the spans of one
// sequence. Sequences are in order, and their first spans are equal or apart.
func spans(ranges []Range) [][]span {
	var out [][]span
	for _, r := range ranges {
		lo := r.Lo
		for _, last := range []rune{0x7f, 0x7ff, 0xffff, utf8.MaxRune} {
			if lo <= min(r.Hi, last) {
				out = appendSpans(out, lo, min(r.Hi, last))
				lo = last + 1
			}
		}
	}
	return out
}

// appendSpans does it for characters of the same length in bytes.
func appendSpans(out [][]span, lo, hi rune) [][]span {
	// Cut where a byte but the last differs and the ones behind it do not go over
	// their whole range: then the bytes are independent of each other.
	for bits := 6; bits < 6*utf8.RuneLen(lo); bits += 6 {
		low := rune(1)<<bits - 1
		if lo&^low == hi&^low {
			break
		}
		if lo&low != 0 {
			return appendSpans(appendSpans(out, lo, lo|low), (lo|low)+1, hi)
		}
		if hi&low != low {
			return appendSpans(appendSpans(out, lo, hi&^low-1), hi&^low, hi)
		}
	}
	var a, b [utf8.UTFMax]byte
	n := utf8.EncodeRune(a[:], lo)
	utf8.EncodeRune(b[:], hi)
	sequence := make([]span, n)
	for i := range sequence {
		sequence[i] = span{a[i], b[i]}
	}
	return append(out, sequence)
}

func (e class) compile(c *compiler, next int32) int32 {
	if len(e) == 0 {
		return c.add(node{kind: split})
	}
	// Alike ends of sequences are made once.
	return c.spans(spans(e), next, map[string]int32{})
}

func (c *compiler) spans(sequences [][]span, next int32, made map[string]int32) int32 {
	if len(sequences) == 1 && len(sequences[0]) == 0 {
		return next
	}
	key := make([]byte, 0, 16)
	for _, sequence := range sequences {
		key = append(key, byte(len(sequence)))
		for _, s := range sequence {
			key = append(key, s.lo, s.hi)
		}
	}
	if at, ok := made[string(key)]; ok {
		return at
	}
	var edges []edge
	for i := 0; i < len(sequences); {
		first, tails := sequences[i][0], [][]span{}
		for i < len(sequences) && sequences[i][0] == first {
			tails = append(tails, sequences[i][1:])
			i++
		}
		edges = append(edges, edge{first.lo, first.hi, c.spans(tails, next, made)})
	}
	at := c.bytes(edges)
	made[string(key)] = at
	return at
}
