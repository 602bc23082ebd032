package english_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"dure/audio/enginetest"
	"dure/audio/tts/english"
)

// shared is the tests' only reader.
var shared struct {
	once sync.Once
	r    *english.Reader
	err  error
}

func reader(t testing.TB) *english.Reader {
	t.Helper()
	lib, files := enginetest.Runtime(t), os.DirFS(filepath.Join(enginetest.Dir(t, "english"), "hibari"))
	shared.once.Do(func() { shared.r, shared.err = english.Load(lib, files, false) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.r
}

func TestPhonemes(t *testing.T) {
	r := reader(t)
	for text, want := range map[string]string{
		"Hello there.":                                  "həlˈO ðˈɛɹ.",
		"I read the book; will she read it?":            "ˌI ɹˈɛd ðə bˈʊk; wɪl ʃi ɹˈid ɪt?",
		"the apple and the pear":                        "ði ˈæpᵊl ænd ðə pˈɛɹ",
		"to eat, to go, to":                             "tʊ ˈit, tə ɡˌO, tu",
		"They live here. They used to live well.":       "ðˌA lˈɪv hˈɪɹ. ðˌA jˈust tə lˈɪv wˈɛl.",
		"I used a hammer.":                              "ˌI jˈuzd ɐ hˈæməɹ.",
		"The CPU of the U.S. API":                       "ðə sˌipˌijˈu ʌv ðə jˌuˈɛs ˌApˌiˈI",
		"The tests passed in 21 seconds.":               "ðə tˈɛsts pˈæst ɪn twˈɛnti wˈʌn sˈɛkəndz.",
		"Mr. Brown's children were running.":            "mˈɪstəɹ bɹˈWnz ʧˈɪldɹᵊn wɜɹ ɹˈʌnɪŋ.",
		"It costs $9.99.":                               "ˌɪt kˈɔsts nˈIn dˈɑləɹz ænd nˈIndi nˈIn sˈɛnts.",
		"wanted, waited, boxes, tries, stopped, making": "wˈɑntᵻd, wˈATᵻd, bˈɑksᵻz, tɹˈIz, stˈɑpt, mˈAkɪŋ",
		"":    "",
		"...": "…",
		"안녕":  "",
	} {
		got, err := r.Phonemes(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%q reads\n\t%q, want\n\t%q", text, got, want)
		}
	}
}

// A word that no dictionary has is read by the network, the same each time.
func TestUnknownWords(t *testing.T) {
	r := reader(t)
	for _, w := range []string{"Kubernetes", "flibbertigibbeting", "dure"} {
		first, err := r.Phonemes(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.Phonemes(t.Context(), w)
		if err != nil || first == "" || again != first || !strings.ContainsAny(first, "AIOWYiuæɑəɛɪʊʌᵻ") {
			t.Errorf("%s reads %q, then %q, %v", w, first, again, err)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	lib := enginetest.Runtime(t)
	for name, files := range map[string]fstest.MapFS{
		"nothing": {},
		"no gzip": {"lexicon_us_gold.json.gz": {Data: []byte("{}")}},
	} {
		if r, err := english.Load(lib, files, false); err == nil {
			t.Errorf("%s: loaded", name)
			r.Close()
		}
	}
}

// FuzzPhonemes: whatever is written, reading it is text of the voices' alphabet.
func FuzzPhonemes(f *testing.F) {
	for _, s := range []string{"Hello.", "s'", "'s", "''", "a.", "APIs", "X's", "1st's", "é", "I'm", "vs.", "A.B.", "ﬁne", strings.Repeat("a", 50)} {
		f.Add(s)
	}
	r := reader(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 500 {
			return
		}
		got, err := r.Phonemes(context.Background(), text)
		if err != nil || !utf8.ValidString(got) {
			t.Fatalf("%q reads %q, %v", text, got, err)
		}
	})
}
