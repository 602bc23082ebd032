package clause

import (
	"reflect"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func texts(pieces []Piece) []string {
	out := []string{}
	for _, p := range pieces {
		text := p.Text
		if p.Screen {
			text = "[" + text + "]"
		}
		out = append(out, text)
	}
	return out
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"sentences", "The build is green. All tests passed on the first try! Shall I land it?",
			[]string{"The build is green.", "All tests passed on the first try!", "Shall I land it?"}},
		{"an early first clause", "Well, to be honest, I have not looked.", []string{"Well, to be honest,", "I have not looked."}},
		{"a first clause of eight characters", "Yes. No. It works now, I think.", []string{"Yes. No.", "It works now, I think."}},
		{"commas of long clauses only", "I looked at it. After the second run, which took a good while, the numbers were the same, so it holds.",
			[]string{"I looked at it.", "After the second run, which took a good while,", "the numbers were the same, so it holds."}},
		{"a point in a number", "It is about 3.14 of them, roughly. Done it.", []string{"It is about 3.14 of them,", "roughly. Done it."}},
		{"abbreviations", "Please ask Dr. Kim about e.g. the cache today. He will know it.", []string{"Please ask Dr. Kim about e.g. the cache today.", "He will know it."}},
		{"Chinese", "你好！今天天气很好。我们去公园走走吧，然后再去吃饭。", []string{"你好！今天天气很好。", "我们去公园走走吧，然后再去吃饭。"}},
		{"Japanese", "はい、分かりました。すぐに調べてみますね。", []string{"はい、分かりました。", "すぐに調べてみますね。"}},
		{"a quote ends its sentence", "彼は「行きます。」と言いました。それで終わりです。", []string{"彼は「行きます。」", "と言いました。", "それで終わりです。"}},
		{"Korean", "네, 확인해 보겠습니다. 빌드는 성공했습니다.", []string{"네, 확인해 보겠습니다.", "빌드는 성공했습니다."}},
		{"Korean without a comma", "테스트를 모두 돌려 보았습니다. 첫 번째 작업은 이미 끝났고 두 번째 작업은 지금 진행하고 있으며 곧 끝납니다",
			[]string{"테스트를 모두 돌려 보았습니다.", "첫 번째 작업은 이미 끝났고 두 번째 작업은 지금 진행하고", "있으며 곧 끝납니다"}},
		{"code goes to the screen", "Run this please:\n```sh\nmake test. Now!\n```\nThen tell me.", []string{"Run this please:", "[```sh\nmake test. Now!\n```]", "Then tell me."}},
		{"an open block of code", "Here:```go\nfunc", []string{"Here:", "[```go\nfunc]"}},
		{"a list", "These are left:\n1. the parser\n2. the printer\n", []string{"These are left:", "1. the parser", "2. the printer"}},
		{"nothing", " \n ", []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, got := Splitter{}.Feed(c.text)
			s, rest := s.Flush()
			if got := texts(append(got, rest...)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("\n got %q\nwant %q", got, c.want)
			}
			if s.Pending() != "" {
				t.Errorf("%q is left", s.Pending())
			}
		})
	}
}

func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// Nothing is lost or made up, no clause is endless, and how the text came changes nothing.
func TestSplitProperties(t *testing.T) {
	words := rapid.SampledFrom([]string{"word", "I", "a, ", "End. ", "3.5", "네", "알겠습니다", "했고 ", "。", "、", "你好", " ", "\n", "```", "`", "Dr. ", "!", "?\" ", "…", "xxxxxxxxxxxxxxxxxxxxxxxx", "\xff"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(words, 0, 60).Draw(t, "words"), "")
		s, whole := Splitter{}.Feed(text)
		_, rest := s.Flush()
		whole = append(whole, rest...)
		joined := ""
		for _, p := range whole {
			joined += p.Text
			if !p.Screen && Weight(p.Text) > longest+1 {
				t.Fatalf("a clause of weight %d", Weight(p.Text))
			}
			if p.Text == "" {
				t.Fatal("an empty clause")
			}
		}
		if bare(joined) != bare(text) {
			t.Fatalf("%q became %q", text, joined)
		}
		var parts []Piece
		s = Splitter{}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			var more []Piece
			s, more = s.Feed(rest[:n])
			parts, rest = append(parts, more...), rest[n:]
		}
		_, more := s.Flush()
		if parts = append(parts, more...); bare(strings.Join(texts(parts), "")) != bare(strings.Join(texts(whole), "")) {
			t.Fatalf("in pieces: %q, as a whole: %q", texts(parts), texts(whole))
		}
	})
}

func TestSpoken(t *testing.T) {
	for _, c := range []struct{ lang, text, want string }{
		{"en", "There are 3 tasks and 1,204 tests.", "There are three tasks and one thousand two hundred four tests."},
		{"en", "It took 3.14 s, 50% less.", "It took three point one four s, fifty percent less."},
		{"en", "The 1st, 2nd, 12th and 30th.", "The first, second, twelfth and thirtieth."},
		{"en", "In 1984 and 2026, at 10:30 and 9:05.", "In nineteen eighty-four and twenty twenty-six, at ten thirty and nine oh five."},
		{"en", "It costs $20, was -5 and 007.", "It costs twenty dollars, was minus five and zero zero seven."},
		{"en", "Version 1.2.3 of gpt4 on h264.", "Version 1.2.3 of gpt4 on h264."},
		{"en", "**Bold** and `code` in [the file](https://x.example/a), see https://y.example.", "Bold and code in the file, see a link"},
		{"en", "- one\n- 2", "one two"},
		{"ko", "작업 3개가 남았고 21명이 1시간 기다렸습니다.", "작업 세개가 남았고 스물한명이 한시간 기다렸습니다."},
		{"ko", "12,304원과 100만 원, 3개월, 20살.", "만 이천삼백사원과 백만 원, 삼개월, 스무살."},
		{"ko", "10:30에 95.5%가 끝났습니다.", "열 시 삼십 분에 구십오 점 오 퍼센트가 끝났습니다."},
		{"ko", "2026년 11월 30일", "이천이십육년 십일월 삼십일"},
		{"de", "Es sind 3.", "Es sind 3."},
	} {
		if got := Spoken(c.text, c.lang); got != c.want {
			t.Errorf("%s %q\n got %q\nwant %q", c.lang, c.text, got, c.want)
		}
	}
	for n, want := range map[uint64]string{0: "zero", 19: "nineteen", 100: "one hundred", 1000000: "one million", 1<<64 - 1: "eighteen quintillion four hundred forty-six quadrillion seven hundred forty-four trillion seventy-three billion seven hundred nine million five hundred fifty-one thousand six hundred fifteen"} {
		if got := English(n); got != want {
			t.Errorf("%d is %q", n, got)
		}
	}
	for n, want := range map[uint64]string{0: "영", 10: "십", 11: "십일", 110: "백십", 10000: "만", 100000000: "일억", 123456789: "일억 이천삼백사십오만 육천칠백팔십구"} {
		if got := Korean(n); got != want {
			t.Errorf("%d is %q", n, got)
		}
	}
}

func TestLanguage(t *testing.T) {
	for text, want := range map[string]string{"hello": "en", "네 OK": "ko", "はい、分かりました": "ja", "你好": "zh", "123 !": "xx", "The word 네 in a long English sentence": "en"} {
		if got := Language(text, "xx"); got != want {
			t.Errorf("%q is %s", text, got)
		}
	}
}

func FuzzSpoken(f *testing.F) {
	f.Add("It took 3.14 s at 10:30, -5%", "en")
	f.Add("99999999999999999999999개", "ko")
	f.Fuzz(func(t *testing.T, text, lang string) {
		s, a := Splitter{}.Feed(text)
		_, b := s.Flush()
		for _, p := range append(a, b...) {
			Spoken(p.Text, lang)
		}
	})
}
