package grammar

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseGBNF(t *testing.T) {
	for _, test := range []struct {
		grammar  string
		yes, not []string
	}{
		{`root ::= "a"`, []string{"a"}, []string{"", "b", "aa"}},
		{"root ::= \"a\" | # nothing\n  \"b\"\n# end", []string{"a", "b"}, []string{""}},
		{"root ::=\n  x y\r\nx ::= [0-9]+\r\ny ::= (\n\"k\" |\n \"m\"\n)?", []string{"1", "12k", "7m"}, []string{"k", "1km"}},
		{`root ::= "ab"* [^a-c\]x-]{2,3} .`, []string{"abddZ", "ddd\n", "ababé한!!", "\u00ad\u00ae\u00af"}, []string{"a", "aad", "]dd", "--d", "abx"}},
		{`root ::= [a\-\]\[\\] "\x41\u00e9\U0001F600\t\r\n\\\"\[\]\-"`, []string{"-Aé😀\t\r\n\\\"[]-", "]Aé😀\t\r\n\\\"[]-", "\\Aé😀\t\r\n\\\"[]-"}, []string{"b"}},
		{`root ::= [a-]{2} | "x"{3,} | ("y" "z"){ 1 , 2 } | "w"{0,1}`, []string{"a-", "--", "xxx", "xxxxx", "yz", "yzyz", "", "w"}, []string{"a", "aaa", "xx", "yzyzyz", "y", "ww"}},
		{`root ::= "a"{0} "b"?+`, []string{"", "b", "bbb"}, []string{"a"}},
		{"root ::= a-1 | B2\na-1 ::= \"1\" root | \"1\"\nB2 ::= \"2\"\nunused ::= \"3\"", []string{"1", "11", "12", "2"}, []string{"3", "21"}},
	} {
		e, err := ParseGBNF(test.grammar)
		if err != nil {
			t.Errorf("%s: %v", test.grammar, err)
			continue
		}
		m := NewMatcher(compiled(t, e), nil)
		for _, w := range test.yes {
			if s := m.Start(); !s.Accept([]byte(w)) || !s.Done() {
				t.Errorf("%s: %q is refused", test.grammar, w)
			}
		}
		for _, w := range test.not {
			if s := m.Start(); s.Accept([]byte(w)) && s.Done() {
				t.Errorf("%s: %q is accepted", test.grammar, w)
			}
		}
	}
}

func TestRefusedGBNF(t *testing.T) {
	for grammar, want := range map[string]string{
		"":                                     `1:1: there is no rule "root", where a grammar begins`,
		"x ::= \"a\"":                          `1:10: there is no rule "root", where a grammar begins`,
		"root = \"a\"":                         "1:6: here should be ::=",
		"root ::= \"é\" x\n":                   `1:14: rule "x" is not defined`,
		"root ::= \"a\"\nroot ::= \"b\"":       `2:1: rule "root" is defined twice`,
		"root ::= \"a":                         "1:12: the text ends within a literal or a class",
		"root ::= \"a\\":                       "1:13: the text ends within a literal or a class",
		"root ::= [a":                          "1:12: the text ends within a literal or a class",
		"root ::= []":                          "1:10: there is no character in the class",
		"root ::= [^]":                         "1:10: there is no character in the class",
		"root ::= \"a\" [bz-a]":                "1:16: the range runs backwards",
		"root ::= ( \"a\"":                     "1:15: here should be a part of a rule, | or )",
		"root ::= \"a\" )":                     "1:14: here should be a part of a rule, | or the end of the line",
		"root ::= * \"a\"":                     "1:10: here should be a part of a rule, | or the end of the line",
		"root ::= \"a\"{":                      "1:14: here should be a number",
		"root ::= \"a\"{2":                     "1:15: here should be , or }",
		"root ::= \"a\"{3,2}":                  "1:13: at least 3 and at most 2 is never",
		"root ::= \"a\"{99999999999999}":       "1:21: a repetition may be at most 16777216",
		"root ::= \"\\d\"":                     `1:11: there is no such escape; those known are \x \u \U \t \r \n \\ \" \[ \] \-`,
		"root ::= \"\\x4\"":                    "1:11: here should be 2 hexadecimal digits of a character",
		"root ::= \"\\U7fffffff\"":             "1:11: here should be 8 hexadecimal digits of a character",
		"root ::= \"\\ud800\"":                 "1:11: there is no such character",
		"root ::= <think>":                     "1:10: tokens cannot be named here; write their text in quotation marks",
		"root ::= !<[12]>":                     "1:10: tokens cannot be named here; write their text in quotation marks",
		"root ::= \"\xff\"":                    "1:11: this is not UTF-8",
		"root ::= \"a\"\n\n ::= x":             "3:2: here should be the name of a rule: letters, digits and -",
		"root ::= " + strings.Repeat("(", 300): "1:211: groups are nested more than 200 deep",
	} {
		_, err := ParseGBNF(grammar)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || err.Error() != want {
			t.Errorf("%q: %v, not %s", grammar, err, want)
		}
	}
	e, err := ParseGBNF("root ::= a\na ::= \"(\" b | c\nc ::= d? a\nb ::= \"x\"\nd ::= \"y\"")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compile(e); !errors.Is(err, ErrLeftRecursion) || !strings.Contains(err.Error(), `rule "a"`) {
		t.Errorf("left recursion: %v", err)
	}
}

// FuzzGBNF: nothing that is read panics, or takes long to compile and to begin.
func FuzzGBNF(f *testing.F) {
	files, err := filepath.Glob("testdata/*.gbnf")
	if err != nil || len(files) == 0 {
		f.Fatal("no grammars in testdata", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "{\n\"a\": [1")
	}
	f.Add(`root ::= "a"{2,3} [^b-c] ( x | "" )*`+"\nx ::= .", "aaxyz")
	f.Fuzz(func(t *testing.T, grammar, text string) {
		if len(grammar) > 2000 || len(text) > 200 {
			return
		}
		e, err := ParseGBNF(grammar)
		if err != nil {
			return
		}
		g, err := Compile(e)
		if err != nil {
			return
		}
		s := NewMatcher(g, nil).Start()
		for i := range len(text) {
			if !s.Accept([]byte{text[i]}) {
				break
			}
		}
		if s.Accept(s.Forced()); s.m.Err() == nil {
			if _, found := shortest(s); !found && len(s.m.configs) < 1000 {
				t.Errorf("after %q there is no end", text)
			}
		}
	})
}
