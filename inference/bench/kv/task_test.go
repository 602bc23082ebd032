package kv

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(Kinds()).Draw(t, "kind")
		seed := rapid.Uint64().Draw(t, "seed")
		n := rapid.IntRange(1, 20000).Draw(t, "bytes")
		short, long := Text(kind, seed, n), Text(kind, seed, 2*n)
		if len(short) < n || !strings.HasPrefix(long, short) {
			t.Fatalf("%d bytes asked for, %d got; the longer one begins alike: %v", n, len(short), strings.HasPrefix(long, short))
		}
		if other := Text(kind, seed+1, n); other == short {
			t.Fatal("another seed gives the same text")
		}
		if strings.Contains(long, "%!") {
			t.Fatalf("a broken format: %q", long)
		}
	})
	for _, k := range Kinds() {
		// What is compressible is no test of a cache: words must not come in one order.
		text := Text(k, 3, 30000)
		seen := map[string]bool{}
		for _, s := range strings.SplitAfter(text, "\n") {
			seen[s] = true
		}
		if lines := strings.Count(text, "\n"); len(seen) < lines/4 {
			t.Errorf("%s: %d different lines of %d", k, len(seen), lines)
		}
	}
}

func TestDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		task := rapid.SampledFrom(Tasks()).Draw(t, "task")
		seed := rapid.Uint64().Draw(t, "seed")
		n := rapid.IntRange(0, 30000).Draw(t, "bytes")
		doc := NewDocument(task, seed, n)
		if len(doc.Questions) != questionsOf(task) || doc.Task != task {
			t.Fatalf("%d questions", len(doc.Questions))
		}
		for _, q := range doc.Questions {
			if found(q.Answer, q.Want) != 1 {
				t.Fatalf("the answer %q lacks something of %q", q.Answer, q.Want)
			}
			if found(doc.Text, q.Want) != 1 {
				t.Fatalf("the document lacks something of %q", q.Want)
			}
			if !strings.HasPrefix(q.Answer, " ") || strings.HasSuffix(q.Ask, " ") {
				t.Fatalf("%q and %q do not join at a space", q.Ask, q.Answer)
			}
			for _, w := range q.Want { // the question gives nothing away
				if strings.Contains(q.Ask, w) {
					t.Fatalf("%q is in the question %q", w, q.Ask)
				}
			}
		}
		again, longer := NewDocument(task, seed, n), NewDocument(task, seed, n+2000)
		if again.Text != doc.Text || len(longer.Text) < len(doc.Text) {
			t.Fatal("the same seed gives another document, or more bytes a shorter one")
		}
		if task != MultiKey && !slices.EqualFunc(longer.Questions, doc.Questions, func(a, b Question) bool { return a.Answer == b.Answer && a.Ask == b.Ask }) {
			t.Fatal("a longer document hides something else")
		}
	})
}

func TestNeedlesLieAtTheirDepth(t *testing.T) {
	for _, task := range []Task{Needles, SingleNeedle, MultiKey, ManyQuestions} {
		for seed := range uint64(20) {
			doc := NewDocument(task, seed, 20000)
			for _, q := range doc.Questions {
				at := strings.Index(doc.Text, q.Want[0])
				if task == ManyQuestions { // towns come in the story too
					name := strings.TrimSuffix(q.Ask[strings.Index(q.Ask, "above, ")+len("above, "):], " lives in")
					at = strings.Index(doc.Text, name+" lives in "+q.Want[0])
				}
				if got := float64(at) / float64(len(doc.Text)); at < 0 || math.Abs(got-q.Depth) > 0.06 {
					t.Errorf("%s, seed %d: %q at %.3f, said to be at %.3f", task, seed, q.Want[0], got, q.Depth)
				}
			}
		}
	}
}

func TestCommonWordsAreCommon(t *testing.T) {
	for seed := range uint64(10) {
		doc := NewDocument(CommonWords, seed, 4000)
		count := map[string]int{}
		for _, w := range strings.Fields(doc.Text)[15:] {
			count[w]++
		}
		least := 1 << 30
		for _, w := range doc.Questions[0].Want {
			least = min(least, count[w])
			delete(count, w)
		}
		for w, n := range count {
			if n >= least {
				t.Errorf("seed %d: %q comes %d times, a common word %d", seed, w, n, least)
			}
		}
	}
}
