package llm

import (
	"crypto/sha256"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dure/inference/engine"
)

const fileVocabulary = 50_000

// order is what a past holds, the conversation used last first.
func (p *past) order() (all []remembered) {
	for e := p.byUse.Front(); e != nil; e = e.Next() {
		all = append(all, *e.Value.(*remembered))
	}
	return all
}

func same(a, b []remembered) bool {
	return slices.EqualFunc(a, b, func(a, b remembered) bool { return a.name == b.name && slices.Equal(a.tokens, b.tokens) })
}

// What is written is read, in its order; where there is no room for all the ones
// used last are there.
func TestPastAnswersGoThroughAFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := past{limit: 1 << 20}
		for i := range rapid.IntRange(0, 20).Draw(t, "conversations") {
			tokens := rapid.SliceOfN(rapid.Int32Range(0, fileVocabulary-1), 0, 50).Draw(t, "tokens")
			before.remember(spoken(sha256.Sum256([]byte{byte(i)})), tokens, nil)
		}
		most := rapid.IntRange(0, 4000).Draw(t, "most")
		data := before.encode(most)
		if least := len(answersMagic) + sha256.Size; len(data) > max(most, least) {
			t.Fatalf("%d bytes where %d may be", len(data), most)
		}
		after := past{limit: 1 << 20}
		if err := after.decode(data, fileVocabulary); err != nil {
			t.Fatal(err)
		}
		wrote, read := before.order(), after.order()
		if len(read) > len(wrote) || !same(read, wrote[:len(read)]) {
			t.Fatalf("wrote %v, read %v", wrote, read)
		}
		whole := past{limit: 1 << 20}
		if err := whole.decode(before.encode(1<<20), fileVocabulary); err != nil || !same(whole.order(), wrote) {
			t.Fatalf("wrote %v, read %v, %v", wrote, whole.order(), err)
		}
	})
}

// A file that is cut short or in which a bit is another is not used, and neither is
// one with tokens that the model does not have.
func TestDamagedPastAnswersAreNotUsed(t *testing.T) {
	p := past{limit: 1 << 20}
	p.remember(spoken{1}, []engine.Token{1, 2, 300}, []engine.Token{4})
	data := p.encode(1 << 20)
	refused := func(what string, i int, data []byte, vocabulary int) {
		t.Helper()
		var q past
		q.limit = 1 << 20
		if err := q.decode(data, vocabulary); err == nil || len(q.of) > 0 {
			t.Errorf("%s at %d: %v, %d conversations", what, i, err, len(q.of))
		}
	}
	for i := range data {
		refused("cut", i, data[:i], fileVocabulary)
		bad := slices.Clone(data)
		bad[i] ^= 4
		refused("a bit", i, bad, fileVocabulary)
	}
	refused("a smaller vocabulary", 0, data, 300)
}

func FuzzPastAnswers(f *testing.F) {
	p := past{limit: 1 << 20}
	p.remember(spoken{1}, []engine.Token{1, 2, 300}, nil)
	p.remember(spoken{2}, nil, nil)
	data := p.encode(1 << 20)
	f.Add([]byte{})
	f.Add(data[len(answersMagic) : len(data)-sha256.Size])
	f.Fuzz(func(t *testing.T, body []byte) {
		// With a sum that is right, so that what lies behind it is reached.
		data := append([]byte(answersMagic), body...)
		sum := sha256.Sum256(data)
		q := past{limit: 1 << 20}
		if err := q.decode(append(data, sum[:]...), fileVocabulary); err != nil {
			if len(q.of) > 0 {
				t.Error("a part of it was taken")
			}
			return
		}
		for _, r := range q.order() {
			if slices.ContainsFunc(r.tokens, func(t engine.Token) bool { return t < 0 || t >= fileVocabulary }) {
				t.Errorf("tokens %v", r.tokens)
			}
		}
	})
}
