package piper

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTranslate(t *testing.T) {
	for from, want := range map[string]string{
		"ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˈOvəɹ ðə lˈAzi dˈɔɡ.": "ðə kwˈɪk bɹˈaʊn fˈɑːks dʒˈʌmps ˈoʊvɚ ðə lˈeɪzi dˈɔːɡ.",
		"bˈɛTəɹ bˈɜɹd bˈY": "bˈɛɾɚ bˈɜːd bˈɔɪ", "plˈiz": "plˈiːz", "“hˈI” —": "\"hˈaɪ\" ,", "": "",
	} {
		if got := string(translate([]rune(from))); got != want {
			t.Errorf("%q becomes %q, want %q", from, got, want)
		}
	}
}

func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := []rune(rapid.StringOf(rapid.SampledFrom([]rune("ab ,.ˈ—"))).Draw(t, "sounds"))
		most := rapid.IntRange(4, 20).Draw(t, "most")
		whole := ""
		for _, part := range parts(s, most) {
			if len(part) > most || len(part) == 0 && len(s) > most {
				t.Fatalf("%q: a part of %d, at most %d", string(s), len(part), most)
			}
			whole += string(part)
		}
		if whole != string(s) {
			t.Fatalf("the parts of %q are %q", string(s), whole)
		}
	})
}
