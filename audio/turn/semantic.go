package turn

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"dure/audio"
)

// Verdict is whether words sound finished.
type Verdict int

// Verdicts.
const (
	Unknown Verdict = iota
	Finishes
	GoesOn
)

// SemanticWait is the pause after which semantic_vad takes a turn for ended: short where
// the words are finished, as long as the eagerness allows where they go on (2, 4 or 8
// seconds), and longer than most pauses within a sentence where nothing is known.
func SemanticWait(e Eagerness, v Verdict) audio.Samples {
	row := [3]int64{640, 384, 4000} // medium and auto
	switch e {
	case EagerHigh:
		row = [3]int64{416, 224, 2000}
	case EagerLow:
		row = [3]int64{1024, 512, 8000}
	}
	return audio.FromMilliseconds(row[v])
}

// Korean particles and words of hesitation that something follows, where a recogniser
// writes them apart.
var hangingKorean = set("음 어 그 저 그리고 그런데 근데 그래서 하지만 만약 혹시 그러니까 또 및 더 좀")

// Korean endings of a word that something follows: particles, and endings that connect.
var hangingEnds = []string{"은", "는", "을", "를", "에서", "에게", "한테", "부터", "까지", "처럼", "보다", "하고", "이랑", "랑", "와", "과", "의",
	"고", "며", "면서", "는데", "은데", "인데", "지만", "니까", "므로", "거나", "려고", "려면", "도록", "면", "아서", "어서", "해서", "여서", "라서"}

// Korean endings of a sentence.
var finalEnds = []string{"요", "다", "까", "습니까", "입니까", "합니까", "됩니까", "겠습니까", "죠", "니다", "세요", "줘", "해라", "하자", "할게", "할래", "했어", "있어", "없어", "됐어", "맞아", "좋아", "그래", "알겠어", "네", "니", "냐", "지"}

// Finished judges whether words, as a recogniser wrote them so far, sound like a whole turn.
// It knows English and Korean; of other languages it knows the punctuation.
func Finished(words string) Verdict {
	words = strings.TrimSpace(words)
	if words == "" {
		return Unknown
	}
	last, _ := utf8.DecodeLastRuneInString(words)
	list := split(words)
	if len(list) == 0 {
		return Unknown
	}
	word := list[len(list)-1]
	switch {
	case strings.ContainsRune(",、，…-—", last) || strings.HasSuffix(words, "..."):
		return GoesOn
	case hangingKorean[word]:
		return GoesOn
	case korean(word) && strings.ContainsRune("?？", last):
		return Finishes
	case korean(word):
		return koreanEnd(word)
	case latin(word):
		return english(words, list, strings.ContainsRune(".!?", last))
	case strings.ContainsRune(".!?。！？", last):
		return Finishes
	}
	return Unknown
}

func latin(word string) bool {
	last, _ := utf8.DecodeLastRuneInString(word)
	return last < unicode.MaxASCII
}

// koreanEnd looks at the ending of a turn's last word. The longest ending that fits
// decides: 그런데요 ends, 그런데 does not.
func koreanEnd(word string) Verdict {
	longest, v := 0, Unknown
	for _, e := range finalEnds {
		if strings.HasSuffix(word, e) && len(e) > longest {
			longest, v = len(e), Finishes
		}
	}
	for _, e := range hangingEnds {
		if strings.HasSuffix(word, e) && len(e) > longest && utf8.RuneCountInString(word) > utf8.RuneCountInString(e) {
			longest, v = len(e), GoesOn
		}
	}
	return v
}

func korean(word string) bool {
	last, _ := utf8.DecodeLastRuneInString(word)
	return unicode.Is(unicode.Hangul, last)
}

var backchannels = set(
	"uh-huh uhhuh mhm mm mmhm mm-hmm hmm yeah yep yes ok okay right sure i see got it aha oh wow cool",
	"네 넵 예 응 어 음 아 오 그래 그래요 그렇군요 그렇구나 아하 맞아 맞아요 좋아 좋아요 알겠어 알겠어요",
	"はい うん ええ なるほど そう 嗯 好 是 对")

// Phrases of several words that are backchannels as a whole.
var backchannelPhrases = set2("i see", "got it", "all right", "uh huh", "mm hmm", "아 네", "아 그래요", "네 네", "아 그렇군요")

// Backchannel reports whether words only say that somebody listens: they do not want to
// speak.
func Backchannel(words string) bool {
	list := split(words)
	if len(list) == 0 || len(list) > 3 {
		return false
	}
	if backchannelPhrases[strings.Join(list, " ")] {
		return true
	}
	for _, w := range list {
		if !backchannels[w] {
			return false
		}
	}
	return true
}

var stopWords = set("stop cancel abort halt quit")

// Korean ones are a stem and an ending; 취소하지 (마) is none.
var (
	stopStems = []string{"취소", "그만", "중지", "중단", "멈춰", "멈추"}
	stopEnds  = set("해 해줘 해주세요 해라 하자 하세요 합시다 시켜 시켜줘 시켜주세요 둬 두세요 줘 주세요 세요 어 자 요 할래 할게")
)

func stopWord(w string) bool {
	for _, s := range stopStems {
		if rest, ok := strings.CutPrefix(w, s); ok && (rest == "" || stopEnds[rest]) {
			return true
		}
	}
	return stopWords[w]
}

// stopFill are words that may stand beside a stop word without changing what is wanted.
var stopFill = set("please it that this now the task everything all just ok okay no work job", "네 아니 이제 그거 그 작업 일 전부 다 지금 그냥 좀 줘 해줘 해주세요")

// Stops reports whether words want the work to be called off, and nothing else.
func Stops(words string) bool {
	found := false
	list := split(words)
	for _, w := range list {
		switch {
		case stopWord(w):
			found = true
		case !stopFill[w] && !stopFill[strings.TrimRight(w, "은는을를이가")]:
			return false
		}
	}
	return found && len(list) <= 6
}

// Words counts words; of scripts without spaces every two characters are one.
func Words(text string) int {
	n := 0
	for _, w := range split(text) {
		dense := 0
		for _, r := range w {
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
				dense++
			}
		}
		n += max(1, dense/2)
	}
	return n
}

// split gives the words in lower case, without punctuation around them.
func split(text string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) && r != '\'' && r != '-'
	})
}

func set(lists ...string) map[string]bool {
	out := map[string]bool{}
	for _, l := range lists {
		for w := range strings.FieldsSeq(l) {
			out[w] = true
		}
	}
	return out
}

func set2(phrases ...string) map[string]bool {
	out := map[string]bool{}
	for _, p := range phrases {
		out[p] = true
	}
	return out
}
