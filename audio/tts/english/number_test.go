package english

import (
	"strings"
	"testing"
	"unicode"
)

func TestSay(t *testing.T) {
	for text, want := range map[string]string{
		"0": "zero", "7": "seven", "13": "thirteen", "40": "forty", "99": "ninety nine", "100": "one hundred",
		"101": "one hundred one", "999": "nine hundred ninety nine", "1,000": "one thousand",
		"1,250": "one thousand two hundred fifty", "1000000": "one million", "12,345,678": "twelve million three hundred forty five thousand six hundred seventy eight",
		"1066": "ten sixty six", "1905": "nineteen oh five", "1900": "nineteen hundred", "2000": "two thousand", "2001": "two thousand one",
		"2026": "twenty twenty six", "0042": "forty two", "-5": "minus five", "3.14": "three point one four", "-0.5": "minus zero point five",
		"1.2.3": "one point two point three", "127.0.0.1": "one hundred twenty seven point zero point zero point one",
		"1st": "first", "2nd": "second", "3rd": "third", "12th": "twelfth", "20th": "twentieth", "21st": "twenty first", "100th": "one hundredth",
		"$1": "one dollar", "$9.99": "nine dollars and ninety nine cents", "£2": "two pounds", "€0.01": "zero euros and one cent", "$5.00": "five dollars",
		"£1.01": "one pound and one pence",
		"7:30":  "seven thirty", "9:05": "nine oh five", "12:00": "twelve o'clock", "00:15": "zero fifteen",
		"1990s": "nineteen nineties", "007": "zero zero seven", "99999999999999999999": strings.TrimSpace(strings.Repeat("nine ", 20)),
	} {
		if got := strings.Join(say(text), " "); got != want {
			t.Errorf("say(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"Hello, world!":           "Hello , world !",
		"Dr. Smith's cat":         "Dr Smith's cat",
		"the U.S. team":           "the U.S. team",
		"It's 7:30—or 8.":         "It's 7:30 — or 8 .",
		"24 GB, 5km":              "24 gigabytes , 5 kilometers",
		"$9.99 & 50%":             "$9.99 and 50 percent",
		"ice-cream is -5 degrees": "ice cream is -5 degrees",
		"wait... what?":           "wait … what ?",
		"He left. She stayed.":    "He left . She stayed .",
		"“quoted” (aside)":        "“ quoted ” ( aside )",
		"\t \n":                   "",
		"don\u2019t":              "don't",
		"v1.2.3":                  "v 1.2.3",
		"the end.Next sentence":   "the end . Next sentence",
		"well -- no":              "well — no",
	} {
		var got []string
		for _, tok := range tokens(text) {
			got = append(got, tok.text)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("tokens(%q) = %q, want %q", text, s, want)
		}
	}
}

func TestStress(t *testing.T) {
	for _, c := range []struct {
		in   string
		e    emphasis
		want string
	}{
		{"həlˈO", plain, "həlˈO"}, {"həlˈO", none, "həlO"}, {"həlˈO", weak, "həlˌO"}, {"ɑbˌʤɛktˈIv", weak, "ɑbʤɛktˌIv"},
		{"ðæt", present, "ðˌæt"}, {"ðˈæt", present, "ðˈæt"}, {"ðæt", strong, "ðˈæt"}, {"ðˌæt", strong, "ðˈæt"}, {"st", strong, "st"}, {"", weak, ""},
	} {
		if got := stress(c.in, c.e); got != c.want {
			t.Errorf("stress(%q, %d) = %q, want %q", c.in, c.e, got, c.want)
		}
	}
}

// Any text is read without a panic, into words and marks only; numbers become words.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{"Hello, world!", "$9.99", "1,2.3:4s", "U.S.A..", "-", "7:", "€", "½ of 0:0", "a.b.c", "１２", "1" + strings.Repeat("0", 40) + "th"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range expand(tokens(text)) {
			if tok.kind == number {
				t.Fatalf("%q: the number %q was left", text, tok.text)
			}
			if tok.kind == word && (tok.text == "" || strings.ContainsFunc(tok.text, unicode.IsSpace)) {
				t.Fatalf("%q: %q is no word", text, tok.text)
			}
		}
	})
}
