package spec

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	openMark    = regexp.MustCompile(`\b(TODO|TBD|TBA|TBC|FIXME|XXX|WIP)\b|\?\?\?|\[\?\]|\(\?\)|<(fill in|todo|tbd)[^>]*>`)
	openWords   = regexp.MustCompile(`(?i)\b(to be (decided|defined|discussed|clarified|determined|confirmed|specified|written)|not (yet )?(decided|clear|defined|settled)|still open|undecided|decide later|we (should|need to|must|could) (decide|discuss|clarify)|open question|maybe|perhaps we|not sure)\b`)
	openHeading = regexp.MustCompile(`(?i)\b(open|unresolved|pending)\b.*\b(questions?|points?|issues?|decisions?)\b|^[\d.\s]*questions?$`)
	aQuestion   = regexp.MustCompile(`\?["')\]]?(\s|$)`)
	linkForm    = regexp.MustCompile(`\bhttps?://\S+`)
)

// prose is a line's text without code and addresses: what is said in words.
func prose(text string) string {
	return linkForm.ReplaceAllString(code.ReplaceAllString(text, "``"), "")
}

// questions finds what is left open.
func (x *reader) questions() {
	open := 0 // the level of a heading for open questions, 0 outside
	for _, l := range x.lines {
		if l.kind == kindHeading {
			if open > 0 && l.level <= open {
				open = 0
			}
			if openHeading.MatchString(l.text) {
				open = l.level
			}
		}
		if l.kind == kindCode || l.kind == kindBlank || l.kind == kindQuote {
			continue
		}
		said := prose(l.text)
		switch {
		case open > 0 && l.kind == kindItem:
			x.open(l, "stands below a heading for open questions")
		case openMark.MatchString(said):
			x.open(l, fmt.Sprintf("has %s", quote(openMark.FindString(said))))
		case openWords.MatchString(said):
			x.open(l, fmt.Sprintf("says %s", quote(openWords.FindString(said))))
		case aQuestion.MatchString(said) && l.kind != kindRow && l.kind != kindHeading:
			x.open(l, "asks something")
		}
	}
}

func (x *reader) open(l line, why string) {
	x.find(Error, "open-question", l.number, x.goalAt(l.number), fmt.Sprintf("%s %s: an agent would decide it, each its own way", quote(l.text), why),
		"decide it here, or say that either way will do")
}

// goalAt is the goal that a line is part of: from its first line to the next goal's, or to
// a heading.
func (x *reader) goalAt(number int) string {
	if x.within == nil {
		x.within = make([]string, len(x.lines)+1)
		begins := map[int]string{}
		for _, g := range x.r.Goals {
			begins[g.Line] = g.Name
		}
		name := ""
		for _, l := range x.lines {
			if g, ok := begins[l.number]; ok {
				name = g
			} else if l.kind == kindHeading {
				name = ""
			}
			x.within[l.number] = name
		}
	}
	return x.within[number]
}

var (
	vagueWords = regexp.MustCompile(`(?i)\b(user[- ]?friendly|intuitive(ly)?|easy|easily|simple to use|nice(ly)?|pretty|beautiful|clean(ly)?|elegant(ly)?|robust(ly)?|scalable|flexible|modern|state[- ]of[- ]the[- ]art|fast|quick(ly)?|performant|efficient(ly)?|responsive|reasonabl[ey]|appropriate(ly)?|adequate(ly)?|suitabl[ey]|sensibl[ey]|as (needed|necessary|appropriate)|if (possible|necessary)|where possible|best practices?|high quality|good (quality|code|performance|enough)|better|improved?|optimi[sz]ed?|etc\.?|and so on|and so forth|maintainable|readable|well[- ]documented|seamless(ly)?|minimal)\b`)
	aNumber    = regexp.MustCompile(`\d`)
)

// vague finds goals that nobody can verify: words without a measure.
func (x *reader) vague() {
	for _, g := range x.r.Goals {
		for i, text := range strings.Split(g.Text, "\n") {
			word := vagueWords.FindString(prose(text))
			if word == "" || aNumber.MatchString(prose(text)) {
				continue
			}
			number := x.lineOf(g, i, text)
			if g.Check == "" {
				x.find(Error, "goal-unverifiable", number, g.Name, fmt.Sprintf("%s in %s has no measure, and the goal no check: nobody can say when it is met", quote(word), quote(text)),
					"say what is measured, how, and which value is enough; then a check can")
				break
			}
			x.find(Warning, "vague", number, g.Name, fmt.Sprintf("%s in %s has no measure: the check decides, and agents guess", quote(word), quote(text)),
				"say what is measured and which value is enough, or leave the word out")
			break
		}
	}
}

// lineOf is where a line of a goal's text stands.
func (x *reader) lineOf(g Goal, _ int, text string) int {
	for _, l := range x.lines[min(g.Line-1, len(x.lines)):] {
		if l.text == text && l.number >= g.Line {
			return l.number
		}
	}
	return g.Line
}
