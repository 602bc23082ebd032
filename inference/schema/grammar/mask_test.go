package grammar

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// vocabulary makes one of pieces, all of text, with an end token and a control token
// behind them.
func vocabulary(pieces []string) *Vocabulary {
	all := append(append([]string{}, pieces...), "</s>", "a")
	var text strings.Builder
	ends := make([]uint32, len(all))
	for i, p := range all {
		text.WriteString(p)
		ends[i] = uint32(text.Len())
	}
	return NewVocabulary(text.String(), ends, func(i int32) Kind {
		switch int(i) {
		case len(pieces):
			return End
		case len(pieces) + 1:
			return Control
		}
		return Text
	})
}

// randomPieces are tokens as models have them: all bytes, words with and without a
// space in front, punctuation, parts of characters, and a few twice.
func randomPieces(n int, seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	pieces := []string{"", "aa", "aa"}
	for b := range 256 {
		pieces = append(pieces, string([]byte{byte(b)}))
	}
	letters := []rune("etaoinshrdlucmfwypvbgkqjxz0123456789ABCDEF")
	other := []rune("éüßжшн日本語한국어中文😀🎉\"\\{}[],:\n\t <>/-+.")
	for len(pieces) < n {
		var b []byte
		if r.IntN(3) == 0 {
			b = append(b, ' ')
		}
		alphabet := letters
		if r.IntN(3) == 0 {
			alphabet = append(other, letters[:8]...)
		}
		for range 1 + r.IntN(8) {
			b = append(b, string(alphabet[r.IntN(1+r.IntN(len(alphabet)))])...)
		}
		if r.IntN(8) == 0 && len(b) > 1 {
			b = b[:len(b)-1]
		}
		if r.IntN(8) == 0 && len(b) > 1 {
			b = b[1:]
		}
		pieces = append(pieces, string(b))
	}
	return pieces
}

// jsonLike is about what JSON Schema becomes.
func jsonLike(max int) Expr { return Concat(Literal("{"), jsonTail(max)) }

func jsonTail(max int) Expr {
	plain := Except(Range{0, 0x1f}, Range{'"', '"'}, Range{'\\', '\\'})
	escape := Concat(Literal(`\`), Class(Range{'"', '"'}, Range{'\\', '\\'}, Range{'n', 'n'}))
	text := NewRule("string")
	text.Define(Concat(Literal(`"`), Repeat(Alternative(plain, escape), 0, Unlimited), Literal(`"`)))
	short := Concat(Literal(`"`), Repeat(Alternative(plain, escape), 3, max), Literal(`"`))
	number := Concat(Optional(Literal("-")), Repeat(Class(Range{'0', '9'}), 1, 15))
	value := NewRule("value")
	space := Alternative(Literal(""), Literal(" "), Concat(Literal("\n"), Repeat(Literal(" "), 0, 8)))
	member := Concat(text, Literal(":"), space, value)
	value.Define(Alternative(text, number, short, Literal("true"),
		Concat(Literal("["), Repeat(Concat(value, Literal(","), space), 0, max), Literal("]")),
		Concat(Literal("{"), space, Optional(Concat(member, Repeat(Concat(Literal(","), space, member), 0, Unlimited))), Literal("}"))))
	return Concat(Literal(`"key":`), space, value, Literal(`,"name":`), short, Literal("}"))
}

// checkMask compares the mask of a state with what is allowed token by token, and
// that with the bytes.
func checkMask(t fataler, s State) {
	t.Helper()
	v := s.m.vocabulary
	mask, err := s.Mask()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for token := range int32(v.Size()) {
		allows := s.Allows(token)
		if mask.Allows(token) != allows {
			t.Fatal(fmt.Sprintf("token %d %q: in the mask %v, allowed %v", token, v.piece(token), mask.Allows(token), allows))
		}
		after := s
		bytes := after.Accept([]byte(v.piece(token))) && v.piece(token) != ""
		switch v.kinds[token] {
		case Control:
			bytes = false
		case End:
			bytes = s.Done()
		}
		if allows != bytes {
			t.Fatal(fmt.Sprintf("token %d %q: allowed %v, its bytes %v", token, v.piece(token), allows, bytes))
		}
		if allows {
			count++
		}
	}
	var all []int32
	for token := range mask.All() {
		if !mask.Allows(token) {
			t.Fatal(fmt.Sprintf("token %d is yielded, but not in the mask", token))
		}
		all = append(all, token)
	}
	if mask.Count() != count || len(all) != count {
		t.Fatal(fmt.Sprintf("%d tokens counted, %d yielded, %d allowed", mask.Count(), len(all), count))
	}
	if mask.Allows(-1) || mask.Allows(int32(v.Size())) || s.Allows(-1) || s.Allows(int32(v.Size())) {
		t.Fatal("a token that does not exist is allowed")
	}
}

func TestMaskOfAnyGrammar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := Compile(anyGrammar(t))
		if err != nil {
			return
		}
		pieces := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("abé")), 0, 6, -1), 1, 40).Draw(t, "pieces")
		s := NewMatcher(g, vocabulary(append(pieces, "\xc3", "\xa9", "a\xc3", "é\xc3"))).Start()
		checkMask(t, s)
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			mask, _ := s.Mask()
			var can []int32
			for token := range mask.All() {
				can = append(can, token)
			}
			if len(can) == 0 {
				break
			}
			if !s.AcceptToken(rapid.SampledFrom(can).Draw(t, "token")) {
				t.Fatal("an allowed token is not accepted")
			}
			checkMask(t, s)
		}
	})
}

func TestMaskOfJSON(t *testing.T) {
	v := vocabulary(randomPieces(3000, 7))
	for _, max := range []int{7, 30, 1000} {
		s := NewMatcher(compiled(t, jsonLike(max)), v).Start()
		r := rand.New(rand.NewPCG(uint64(max), 2))
		for range 150 {
			checkMask(t, s)
			mask, _ := s.Mask()
			n, i := r.IntN(mask.Count()), 0
			for token := range mask.All() {
				if i == n && !s.AcceptToken(token) {
					t.Fatal("an allowed token is not accepted")
				}
				i++
			}
			if s.Ended() {
				break
			}
		}
		if max == 1000 && len(s.m.masks.of) > 120 {
			t.Errorf("%d masks of 150 places in a text with counts", len(s.m.masks.of))
		}
	}
}

// Counts that are far from their bounds share a mask, and near ones do not.
func TestMaskAtCounts(t *testing.T) {
	e := Concat(Repeat(Literal("a"), 20, 60), Literal("b"))
	v := vocabulary([]string{"a", "aaaaa", "aaaaaaaaa", "b", "ab", "aab", "aaaaaab"})
	m := NewMatcher(compiled(t, e), v)
	for n := range 60 {
		s := m.Start()
		if !s.Accept([]byte(strings.Repeat("a", n))) {
			t.Fatal("refused")
		}
		checkMask(t, s)
	}
	if n := len(m.masks.of); n < 10 || n > 40 {
		t.Errorf("%d masks of 60 places", n)
	}
}

func TestEndToken(t *testing.T) {
	v := vocabulary([]string{"a", "b"})
	s := NewMatcher(compiled(t, Concat(Literal("a"), Optional(Literal("b")))), v).Start()
	if s.Allows(2) || s.AcceptToken(2) || s.Ended() {
		t.Error("the text may not end at its beginning")
	}
	if !s.AcceptToken(0) || !s.Done() || !s.Allows(2) || s.Allows(3) {
		t.Error("the text may end, and not by a control token")
	}
	copied := s
	if !s.AcceptToken(2) || !s.Ended() || s.Done() {
		t.Error("the text has ended")
	}
	checkMask(t, s)
	if s.AcceptToken(2) || s.AcceptToken(1) {
		t.Error("something follows the end")
	}
	if copied.Ended() || !copied.AcceptToken(1) || !copied.Done() {
		t.Error("a copy has changed")
	}
}

// Masks that are not asked for give way, and those that are stay.
func TestMasksAreBounded(t *testing.T) {
	m := NewMatcher(compiled(t, Literal(strings.Repeat("ab", 2*maxMasks))), vocabulary([]string{"a", "b"}))
	hot := m.Start()
	first, _ := hot.Mask()
	for s := m.Start(); !s.Done(); {
		if _, err := s.Mask(); err != nil {
			t.Fatal(err)
		}
		if again, _ := hot.Mask(); again != first {
			t.Fatal("a mask in use was forgotten")
		}
		if !s.AcceptToken(0) && !s.AcceptToken(1) {
			t.Fatal("refused")
		}
	}
	if len(m.masks.of) != maxMasks || len(m.masks.ring) != maxMasks {
		t.Errorf("%d masks", len(m.masks.of))
	}
}
