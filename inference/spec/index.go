package spec

// Token is a token id of the model's vocabulary.
type Token = int32

const (
	// MinMatch is how many tokens must be equal before a guess is made.
	MinMatch = 3
	// longestMatch is how far back two places are compared: beyond it they are as
	// good as each other.
	longestMatch = 48
	// tries bounds how many earlier places are compared, newest first.
	tries = 32
)

// Index finds earlier occurrences of the end of a text. It grows by a token at a
// time.
type Index struct {
	tokens []Token
	// head is the newest place of each hash of MinMatch tokens, before the one
	// before it with the same hash. A place is the position behind those tokens; 0 is
	// none.
	head   []int32
	before []int32
}

// NewIndex makes the index of a copy of tokens.
func NewIndex(tokens []Token) *Index {
	x := &Index{tokens: make([]Token, 0, len(tokens)+len(tokens)/4+64)}
	x.tokens = append(x.tokens, tokens...)
	x.rebuild()
	return x
}

// Len is the number of tokens.
func (x *Index) Len() int { return len(x.tokens) }

// Bytes that it takes.
func (x *Index) Bytes() int { return 4 * (cap(x.tokens) + cap(x.head) + cap(x.before)) }

// rebuild makes the table twice as large as the text.
func (x *Index) rebuild() {
	size := 256
	for size < len(x.tokens)+1 {
		size *= 2
	}
	x.head = make([]int32, size)
	x.before = make([]int32, len(x.tokens)+1, cap(x.tokens)+1)
	for at := MinMatch; at <= len(x.tokens); at++ {
		x.enter(at)
	}
}

func (x *Index) enter(at int) {
	h := x.hash(x.tokens[at-MinMatch : at])
	x.before[at], x.head[h] = x.head[h], int32(at)
}

func (x *Index) hash(t []Token) uint32 {
	h := uint32(0)
	for _, v := range t {
		h = (h ^ uint32(v)) * 0x9e3779b1
		h ^= h >> 15
	}
	return h & uint32(len(x.head)-1)
}

// Push adds a token.
func (x *Index) Push(t Token) {
	x.tokens = append(x.tokens, t)
	if len(x.tokens) >= len(x.head) {
		x.rebuild()
		return
	}
	x.before = append(x.before, 0)
	if len(x.tokens) >= MinMatch {
		x.enter(len(x.tokens))
	}
}

// Guess appends to dst up to most tokens that followed the longest earlier
// occurrence of the end of the text, and returns how many tokens that had in common
// with the end; 0, and nothing appended, where there is none of MinMatch.
func (x *Index) Guess(dst []Token, most int) (guess []Token, matched int) {
	at, matched := x.find(x.tokens, len(x.tokens))
	return x.follow(dst, at, most), matched
}

// find the place behind the longest match, but for a place itself; 0 for none.
func (x *Index) find(text []Token, self int) (at, matched int) {
	if len(text) < MinMatch {
		return 0, 0
	}
	place := int(x.head[x.hash(text[len(text)-MinMatch:])])
	for range tries {
		if place == 0 {
			break
		}
		if n := common(x.tokens[:place], text); place != self && n >= MinMatch && n > matched {
			at, matched = place, n
			if n == longestMatch {
				break
			}
		}
		place = int(x.before[place])
	}
	return at, matched
}

// common is how many tokens two ends have in common, longestMatch at most.
func common(a, b []Token) (n int) {
	for n < longestMatch && n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// follow copies what came behind a place. A text that repeats itself does so beyond
// its end.
func (x *Index) follow(dst []Token, at, most int) []Token {
	if at == 0 {
		return dst
	}
	begin := len(dst)
	for i := range most {
		if p := at + i; p < len(x.tokens) {
			dst = append(dst, x.tokens[p])
		} else {
			dst = append(dst, dst[begin+p-len(x.tokens)])
		}
	}
	return dst
}
