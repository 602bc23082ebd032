package turn

import (
	"slices"
	"strings"
)

// English words that tell whether a sentence goes on.
var (
	// hangingEnglish are words that something follows.
	hangingEnglish = set("and but or so because if when while that which who whether where why until unless although though since "+
		"the a an to of in on at for with from by as than about into between without through during under over against toward towards near "+
		"my your his her our their its every is was are were am be been will would can could should may might must do does did have has had "+
		"i we they he she it's i'm we're they're let's not very really just um uh er hmm like maybe also then",
		// What a recogniser makes of hesitation.
		"uhm umm ah erm")
	// strands are those of them that a question or a relative clause may well end with:
	// what are you talking about, I know where it is.
	strands = set("to of in on at for with from by about like near through under over is was are were am be been will would can could should do does did have has had that")
	asking  = set("what who whom which where how when whatever whoever yes yeah no so")
	// subordinate words begin a clause that a main one follows, unless an auxiliary says
	// that it is a question.
	subordinate = set("if when whenever although though because before after while since unless once until")
	// subordinatePhrases do the same.
	subordinatePhrases = []string{"as soon as", "as long as", "as far as", "every time", "each time", "the moment", "even if", "even though", "in case", "only if", "just because"}
	auxiliary          = set("do does did is are was were will would can could should has have had am may must don't doesn't didn't isn't aren't can't won't")
	// numbered words announce a number that is said in groups.
	numbered = set("number code pin phone telephone account extension zip digits")
	// soundsLike are what recognisers take digits for.
	soundsLike = set("to too for won ate oh zero one two three four five six seven eight nine")
	// single words after a comma that are no item of a list.
	afterComma = set("please thanks thank you too again now right sir then yet well though okay ok and or both either today tomorrow yesterday")
	// open are words that a noun usually follows, but need not.
	open = set("first second third fourth fifth next last other another all some more most many few any each this these those new old same own")
)

// wanting are verbs that say little without what follows.
var wanting = set("need needs needed want wants wanted called named mean means meant contains includes became becomes seems seem requires require " +
	"say says said tell tells told give gives gave makes made put puts bring brings brought keep keeps kept take takes took get gets got find finds found has use uses")

// longClause is how many words a clause may have and still be taken for one alone.
const longClause = 8

// english judges words whose last is list's last one; stop says that a sentence's end is
// written behind it. Where the words may be whole as well as not, it is Unknown.
func english(words string, list []string, stop bool) Verdict {
	last := list[len(list)-1]
	if hangingEnglish[last] {
		if stop && strands[last] && anyOf(list[:len(list)-1], asking) {
			return Unknown
		}
		return GoesOn
	}
	if clauseAlone(words, list) {
		return GoesOn
	}
	if !stop || openNumber(list) || openList(words) || openNoun(list) || wanting[last] {
		return Unknown
	}
	return Finishes
}

// clauseAlone is a clause that a main one follows, with nothing after it: when it is done.
func clauseAlone(words string, list []string) bool {
	if len(list) < 3 || len(list) > longClause || strings.ContainsAny(words, ",;") {
		return false
	}
	begins := strings.Join(list, " ")
	for _, p := range subordinatePhrases {
		if strings.HasPrefix(begins, p+" ") {
			return true
		}
	}
	return subordinate[list[0]] && !auxiliary[list[1]]
}

// openNumber is a number that was announced and has fewer digits than such numbers have.
func openNumber(list []string) bool {
	announced, digits := false, 0
	for _, w := range list {
		switch n := countDigits(w); {
		case numbered[w]:
			announced, digits = true, 0
		case n > 0:
			digits += n
		case digits > 0 && soundsLike[w]:
			digits++
		}
	}
	last := list[len(list)-1]
	return announced && digits > 0 && digits < 7 && (countDigits(last) > 0 || soundsLike[last])
}

func countDigits(w string) (n int) {
	for _, r := range w {
		if r >= '0' && r <= '9' {
			n++
		}
	}
	return n
}

// openList is a list whose last item so far is not announced as the last: apples, bananas.
func openList(words string) bool {
	at := strings.LastIndexByte(words, ',')
	if at < 0 || len(split(words[:at])) < 2 {
		return false
	}
	items := split(words[at:])
	return len(items) > 0 && len(items) <= 3 && !anyOf(items, afterComma)
}

// openNoun ends before a noun, it seems: why the second, a list of all.
func openNoun(list []string) bool {
	n := len(list)
	return n >= 2 && open[list[n-1]] && (hangingEnglish[list[n-2]])
}

func anyOf(list []string, words map[string]bool) bool {
	return slices.ContainsFunc(list, func(w string) bool { return words[w] })
}
