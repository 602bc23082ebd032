package grammar

import (
	"cmp"
	"slices"
	"strings"
)

// Kind says what a token is good for.
type Kind uint8

const (
	// Control tokens are never allowed: they are no text, whatever their piece is.
	Control Kind = iota
	// Text tokens stand for the bytes of their piece. Those without any are never
	// allowed: they would change nothing.
	Text
	// End tokens end the text.
	End
)

// Vocabulary is all tokens of a model, as a tree of their bytes. It is immutable and
// safe for concurrent use.
type Vocabulary struct {
	text  string
	ends  []uint32
	kinds []Kind
	last  []int32 // tokens that end the text

	// The tree in order of depth first, children by rising byte. A node is the
	// bytes on the way to it; the root is left out.
	label  []byte
	depth  []uint32 // of the node, from 1
	skip   []int32  // the next node that is not below this one
	first  []int32  // where in order the node's own tokens begin; those below follow
	inside []uint64 // the kinds of text in the labels of the node and all below
	order  []int32  // text tokens, sorted by piece
	// longest piece of a token of text, in bytes, and the tokens with more than usual.
	longest int
	long    []int32
}

// usual is how long the pieces of all but a few tokens are at most, in bytes.
const usual = 24

// NewVocabulary makes the tree. Token i has the piece text[ends[i-1]:ends[i]] (the
// first begins at 0): the bytes that it adds to an answer.
func NewVocabulary(text string, ends []uint32, kind func(token int32) Kind) *Vocabulary {
	v := &Vocabulary{text: text, ends: ends, kinds: make([]Kind, len(ends))}
	for i := range int32(len(ends)) {
		v.kinds[i] = kind(i)
		switch {
		case v.kinds[i] == End:
			v.last = append(v.last, i)
		case v.kinds[i] == Text && v.piece(i) != "":
			v.order = append(v.order, i)
			if len(v.piece(i)) > usual {
				v.long = append(v.long, i)
			}
		}
	}
	slices.SortFunc(v.order, func(a, b int32) int {
		return cmp.Or(strings.Compare(v.piece(a), v.piece(b)), cmp.Compare(a, b))
	})
	v.grow()
	v.look()
	return v
}

// Size in tokens.
func (v *Vocabulary) Size() int { return len(v.kinds) }

func (v *Vocabulary) piece(token int32) string {
	begin := uint32(0)
	if token > 0 {
		begin = v.ends[token-1]
	}
	return v.text[begin:v.ends[token]]
}

// grow makes the tree of the sorted tokens.
func (v *Vocabulary) grow() {
	var path []int // nodes on the way to the token before
	before := ""
	for i, token := range v.order {
		piece := v.piece(token)
		common := 0
		for common < min(len(piece), len(before)) && piece[common] == before[common] {
			common++
		}
		path = v.close(path, common)
		for _, b := range []byte(piece[common:]) {
			path = append(path, len(v.label))
			v.label = append(v.label, b)
			v.depth = append(v.depth, uint32(len(path)))
			v.skip = append(v.skip, 0)
			v.first = append(v.first, int32(i))
		}
		before = piece
		v.longest = max(v.longest, len(piece))
	}
	v.close(path, 0)
	v.first = append(v.first, int32(len(v.order)))
}

// close ends the nodes of a path below a depth.
func (v *Vocabulary) close(path []int, depth int) []int {
	for _, node := range path[depth:] {
		v.skip[node] = int32(len(v.label))
	}
	return path[:depth]
}

// The kinds of text that a subtree may hold, one bit each: see kindOf for those of
// ASCII.
const (
	wide   = 1 << 62 // characters outside ASCII, or a beginning of one
	broken = 1 << 63 // what is not UTF-8, or does not begin at a character
)

// kindOf sorts the bytes of ASCII into kinds, by what grammars tell apart.
func kindOf(b byte) uint64 {
	switch {
	case b == '\t' || b == '\n' || b == '\r':
		return 1 << (b - '\t') // 0, 1, 4
	case b < ' ':
		return 1 << 2
	case b == 0x7f:
		return 1 << 3
	case '0' <= b && b <= '9':
		return 1 << 5
	case 'A' <= b && b <= 'F':
		return 1 << 6
	case 'G' <= b && b <= 'Z':
		return 1 << 7
	case 'a' <= b && b <= 'f':
		return 1 << 8
	case 'g' <= b && b <= 'z':
		return 1 << 9
	case b < '0': // 16 of them
		return 1 << (10 + b - ' ')
	case b < 'A': // 7
		return 1 << (26 + b - ':')
	case b < 'a': // 6
		return 1 << (33 + b - '[')
	default: // 4
		return 1 << (39 + b - '{')
	}
}

// character is the state of reading a character in UTF-8.
type character struct {
	left   uint8 // bytes that are missing
	lo, hi byte  // what the next of them may be
	broken bool  // the bytes were not UTF-8
}

// read takes one more byte.
func (c character) read(b byte) character {
	switch {
	case c.broken:
		return c
	case c.left > 0 && c.lo <= b && b <= c.hi:
		return character{left: c.left - 1, lo: 0x80, hi: 0xbf}
	case c.left > 0:
		return character{broken: true}
	case b < 0x80:
		return character{}
	}
	for _, l := range leads {
		if l.lo <= b && b <= l.hi {
			return character{left: l.left, lo: l.nextLo, hi: l.nextHi}
		}
	}
	return character{broken: true}
}

// leads are the bytes that begin a character outside ASCII: how many follow, and
// what the first of those may be.
var leads = []struct {
	lo, hi         byte
	left           uint8
	nextLo, nextHi byte
}{
	{0xc2, 0xdf, 1, 0x80, 0xbf},
	{0xe0, 0xe0, 2, 0xa0, 0xbf},
	{0xe1, 0xec, 2, 0x80, 0xbf},
	{0xed, 0xed, 2, 0x80, 0x9f},
	{0xee, 0xef, 2, 0x80, 0xbf},
	{0xf0, 0xf0, 3, 0x90, 0xbf},
	{0xf1, 0xf3, 3, 0x80, 0xbf},
	{0xf4, 0xf4, 3, 0x80, 0x8f},
}

// look finds out what kinds of text each subtree holds.
func (v *Vocabulary) look() {
	v.inside = make([]uint64, len(v.label))
	parent := make([]int32, len(v.label))
	within := make([]bool, len(v.label)) // the label is not at the beginning of a character
	states := make([]character, v.longest+1)
	nodes := make([]int32, v.longest+1)
	for i, b := range v.label {
		d := v.depth[i]
		before := states[d-1]
		after := before.read(b)
		states[d], nodes[d] = after, int32(i)
		parent[i] = nodes[d-1]
		within[i] = before.left > 0
		switch {
		case after.broken:
			v.inside[i] = broken
		case b < 0x80:
			v.inside[i] = kindOf(b)
		default:
			v.inside[i] = wide
		}
	}
	for i := len(v.label) - 1; i >= 0; i-- {
		if v.depth[i] > 1 {
			v.inside[parent[i]] |= v.inside[i]
		}
		if within[i] {
			v.inside[i] |= broken
		}
	}
}
