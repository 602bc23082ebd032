package spec

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A claim is a sentence that wants something, as what it is compared by.
type claim struct {
	line    int
	goal    string
	isGoal  bool // the first sentence of a goal
	text    string
	words   []string // of content, sorted, each once, without numbers and negations
	numbers string
	not     bool
}

var (
	sentenceEnd = regexp.MustCompile(`[.;!]\s+|\n`)
	wordForm    = regexp.MustCompile(`[\pL\pN_./-]+`)
	numeral     = regexp.MustCompile(`^-?\d[\d.,:%]*$`)
	wants       = regexp.MustCompile(`(?i)\b(must|shall|should|has to|have to|never|always|only|may not|cannot|can't|won't|is|are|prints?|returns?|takes?|gives?|at (most|least))\b`)
	negation    = regexp.MustCompile(`(?i)\b(not|never|no|none|without|cannot|can't|mustn't|shouldn't|isn't|aren't|won't|doesn't|don't|forbidden|refuses?|rejects?)\b`)
)

const fillers = " a an and are as at be been being but by can could do does for from had has have if in into is it its of on or our shall should so such than that the their them then there these they this those to was were what when where which while who will with would must may might each every any all also not never no none without cannot only always very more most at least "

// words are those of content.
func words(text string) (content []string, numbers string) {
	var figures []string
	for _, w := range wordForm.FindAllString(strings.ToLower(text), -1) {
		w = strings.Trim(w, "._-/")
		switch {
		case numeral.MatchString(w):
			figures = append(figures, w)
		case len(w) > 1 && !strings.Contains(fillers, " "+w+" ") && !negation.MatchString(w):
			content = append(content, stem(w))
		}
	}
	slices.Sort(content)
	return slices.Compact(content), strings.Join(figures, " ")
}

// stem takes off the commonest endings.
func stem(w string) string {
	for _, end := range []string{"ing", "ed", "es", "s"} {
		if base, ok := strings.CutSuffix(w, end); ok && len(base) > 2 {
			return base
		}
	}
	return w
}

// claims are the sentences that want something.
func (x *reader) claims() []claim {
	var out []claim
	add := func(line int, goal, text string, isGoal bool) {
		content, numbers := words(text)
		if len(content) < 3 {
			return
		}
		out = append(out, claim{line: line, goal: goal, isGoal: isGoal, text: strings.TrimSpace(text), words: content, numbers: numbers, not: negation.MatchString(text)})
	}
	begins := map[int]string{}
	for _, g := range x.r.Goals {
		begins[g.Line] = g.Name
		add(g.Line, g.Name, sentenceEnd.Split(g.Text, 2)[0], true)
	}
	for _, l := range x.lines {
		if _, check := checkOf(l.text); check || l.kind != kindText && l.kind != kindItem {
			continue
		}
		for i, s := range sentenceEnd.Split(l.text, -1) {
			if _, first := begins[l.number]; first && i == 0 || !wants.MatchString(s) {
				continue
			}
			add(l.number, x.goalAt(l.number), s, false)
		}
	}
	return out
}

// Bounds of the comparison, and how alike two sentences are that say the same.
const (
	maxClaims   = 4000
	maxCompared = 100_000
	likeness    = 0.8
)

// alike finds what is said twice, and what contradicts itself. Sentences are compared only
// where they share one of their rarest words, which those that are alike must.
func (x *reader) alike() {
	all := x.claims()
	if len(all) > maxClaims {
		x.find(Note, "not-compared", all[maxClaims].line, "", fmt.Sprintf("only the first %d sentences were looked at for contradictions", maxClaims), "shorten the text")
		all = all[:maxClaims]
	}
	uses := map[string]int{}
	for _, c := range all {
		for _, w := range c.words {
			uses[w]++
		}
	}
	holders, compared := map[string][]int{}, 0
	for i, c := range all {
		rare := slices.Clone(c.words)
		slices.SortFunc(rare, func(a, b string) int { return cmp.Or(cmp.Compare(uses[a], uses[b]), strings.Compare(a, b)) })
		rare = rare[:len(rare)-int(likeness*float64(len(rare))+0.999)+1]
		seen := map[int]bool{}
		for _, w := range rare {
			for _, j := range holders[w] {
				if seen[j] {
					continue
				}
				if seen[j] = true; compared >= maxCompared {
					x.find(Note, "not-compared", c.line, "", "the sentences from here on were not looked at for contradictions: too many are alike", "shorten the text")
					return
				}
				compared++
				x.compare(all[j], c)
			}
			holders[w] = append(holders[w], i)
		}
	}
}

func (x *reader) compare(a, b claim) {
	if a.line == b.line || len(x.r.Findings) > 2*MaxFindings || shared(a.words, b.words) < likeness {
		return
	}
	opposite, other := a.not != b.not && a.numbers == b.numbers, a.numbers != b.numbers && a.not == b.not && a.numbers != "" && b.numbers != ""
	twice := a.isGoal && b.isGoal && a.numbers == b.numbers
	if !opposite && !other && !twice {
		return
	}
	where := fmt.Sprintf("%s and line %d, %s,", quote(b.text), a.line, quote(a.text))
	switch {
	case opposite:
		x.find(Error, "contradiction", b.line, b.goal, where+" say opposite things", "keep one of them, or say when which holds")
	case other:
		x.find(Warning, "contradiction", b.line, b.goal, fmt.Sprintf("%s say the same with other numbers (%s, %s)", where, b.numbers, a.numbers), "keep one of them, or say when which holds")
	default:
		x.find(Warning, "duplicate-goal", b.line, b.goal, where+" want the same: two workers would do it twice, and conflict", "keep one of them")
	}
}

// shared is how much two sorted lists of words have in common: 0 to 1.
func shared(a, b []string) float64 {
	both, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		switch c := strings.Compare(a[i], b[j]); {
		case c == 0:
			both, i, j = both+1, i+1, j+1
		case c < 0:
			i++
		default:
			j++
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}
