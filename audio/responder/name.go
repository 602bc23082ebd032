package responder

import (
	"strings"
	"unicode"
)

// Recognisers write names as they hear them: "Poincare", "point carry", 푸앵카레. Names are
// compared by their letters and by their consonants.

// plain are letters with marks, without them.
var plain = strings.NewReplacer("á", "a", "à", "a", "â", "a", "ä", "a", "ã", "a", "å", "a", "é", "e", "è", "e", "ê", "e", "ë", "e", "í", "i", "ì", "i", "î", "i", "ï", "i",
	"ó", "o", "ò", "o", "ô", "o", "ö", "o", "õ", "o", "ø", "o", "ú", "u", "ù", "u", "û", "u", "ü", "u", "ñ", "n", "ç", "c", "ý", "y", "ß", "ss", "š", "s", "ž", "z", "č", "c", "ć", "c", "ł", "l", "ń", "n", "ś", "s", "ő", "o", "ű", "u")

var (
	initials = []string{"k", "kk", "n", "t", "tt", "r", "m", "p", "pp", "s", "ss", "", "j", "jj", "ch", "k", "t", "p", "h"}
	medials  = []string{"a", "ae", "ya", "yae", "eo", "e", "yeo", "ye", "o", "wa", "wae", "oe", "yo", "u", "wo", "we", "wi", "yu", "eu", "ui", "i"}
	finals   = []string{"", "k", "k", "k", "n", "n", "n", "t", "l", "k", "m", "l", "l", "l", "p", "l", "m", "p", "p", "t", "t", "n", "t", "t", "k", "t", "p", ""}
)

// letters is a word in Latin letters without marks; Korean is romanised.
func letters(word string) string {
	var b strings.Builder
	for _, r := range plain.Replace(strings.ToLower(word)) {
		switch {
		case r >= 0xAC00 && r <= 0xD7A3:
			n := int(r - 0xAC00)
			b.WriteString(initials[n/588] + medials[n%588/28] + finals[n%28])
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

var soundsLike = strings.NewReplacer("ph", "p", "th", "t", "ck", "k", "ch", "k", "sh", "s", "qu", "k", "wh", "w", "gh", "k", "f", "p", "v", "p", "b", "p", "c", "k", "q", "k", "g", "k", "x", "ks", "z", "s", "j", "s", "l", "r", "d", "t")

// consonants is how a word sounds without its vowels, sounds that are mistaken for each
// other written alike.
func consonants(word string) string {
	var b strings.Builder
	last := rune(0)
	for _, r := range soundsLike.Replace(letters(word)) {
		if strings.ContainsRune("aeiouywh", r) {
			last = 0
			continue
		}
		if r != last {
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

// distance is how many letters differ (Levenshtein).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			next := diagonal
			if x[i] != y[j] {
				next = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(y)]
}

// particles stand behind a name in Korean.
var particles = []string{"에게", "한테", "이는", "이가", "에서", "는", "은", "이", "가", "를", "을", "도", "의", "야", "씨", "님", "랑"}

func bare(word string) []string {
	out := []string{word}
	for _, p := range particles {
		if rest, ok := strings.CutSuffix(word, p); ok && rest != "" {
			out = append(out, rest)
		}
	}
	return out
}

// far is more than any two names may differ.
const far = 1000

// differ is how unlike a name and what was heard are, in thousandths: 0 is the same, far too
// much.
func differ(name, heard string) int {
	n, h := letters(name), letters(heard)
	if n == "" || h == "" {
		return far
	}
	if n == h {
		return 0
	}
	best := far
	// Short names must be right; of longer ones a quarter may be wrong.
	if d := distance(n, h); len(n) >= 4 && 4*d <= len(n) {
		best = 1000 * d / len(n) / 2
	}
	cn, ch := consonants(name), consonants(heard)
	if len(cn) >= 3 && len(ch) >= 3 && cn[0] == ch[0] && 2*len(h) > len(n) && len(h) < 2*len(n)+4 {
		if d := distance(cn, ch); d == 0 || d == 1 && len(cn) >= 4 {
			best = min(best, 200+1000*d/len(cn)/2)
		}
	}
	// Korean does not write an r at the end: 뇌터 is Noether.
	if rest := strings.TrimSuffix(n, "r"); hangul(heard) && rest != n && consonants(rest) == ch && len(ch) >= 2 && 2*distance(rest, h) < len(rest) {
		best = min(best, 300)
	}
	return best
}

// named finds which of the names is spoken of in words; -1 is none of them, or two alike.
func named(names []string, words string) int {
	list := strings.FieldsFunc(words, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '\'' })
	best, at, tie := far, -1, false
	for i, name := range names {
		least := far
		for from := range list {
			for n := 1; n <= 3 && from+n <= len(list); n++ {
				if n > 1 && common(list[from]) {
					break
				}
				for _, heard := range bare(strings.Join(list[from:from+n], "")) {
					if n == 1 && common(heard) {
						continue
					}
					least = min(least, differ(name, heard))
				}
			}
		}
		switch {
		case least < best:
			best, at, tie = least, i, false
		case least == best && least < far:
			tie = true
		}
	}
	if tie {
		return -1
	}
	return at
}

var commonWords = func() map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq("a an the and or but how what where who why when is are was were be been do does did doing done can could would will should please tell ask say said to of in on at for with from about it its they them he she his her you your i me my we our us this that these those not no yes now how's what's going getting far much many work working task tasks run stop there then than hear know need make made take put get give gave new one two three come came other another anything everything something still never ever are any all some more most next last") {
		out[w] = true
	}
	return out
}()

func common(word string) bool { return commonWords[strings.ToLower(word)] }
