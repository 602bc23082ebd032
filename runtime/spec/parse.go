package spec

import (
	"regexp"
	"strings"
)

// A Goal is something that the specification wants.
type Goal struct {
	Name  string `json:"name"` // its number, or the heading's
	Line  int    `json:"line"`
	Text  string `json:"text"`
	Check string `json:"check,omitempty"`
	// CheckLine is where the check stands.
	CheckLine int `json:"check_line,omitempty"`
}

// kind says what a line is.
type kind int

const (
	kindText kind = iota
	kindBlank
	kindHeading
	kindItem // begins an item of a list
	kindCode // of a block of code, its fences too
	kindRow  // of a table
	kindQuote
)

// A line of Markdown.
type line struct {
	number int
	kind   kind
	level  int    // of a heading: 1 to 6; of an item: its indent
	mark   string // of an item: "1" of "1.", or ""
	text   string // without marks of its kind
}

var (
	headingForm = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$`)
	itemForm    = regexp.MustCompile(`^([ \t]*)(?:[-*+]|(\d{1,9})[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)$`)
	fenceForm   = regexp.MustCompile("^ {0,3}(```+|~~~+)")
)

// lines reads Markdown as far as goals need it.
func lines(text string) []line {
	var all []line
	fence, after := "", kindBlank // after: what the line before was
	inItem := false
	for n, raw := range strings.Split(text, "\n") {
		raw = strings.TrimSuffix(raw, "\r")
		l := line{number: n + 1, text: strings.TrimSpace(raw)}
		begins := fenceForm.FindStringSubmatch(strings.TrimLeft(raw, " \t"))
		switch {
		case fence != "":
			l.kind = kindCode
			if begins != nil && strings.HasPrefix(begins[1], fence) {
				fence = ""
			}
		case begins != nil:
			l.kind, fence = kindCode, begins[1]
			inItem = inItem && indent(raw) > 0
		case l.text == "":
			l.kind = kindBlank
		case headingForm.MatchString(raw):
			m := headingForm.FindStringSubmatch(raw)
			l.kind, l.level, l.text = kindHeading, len(m[1]), m[2]
			inItem = false
		case itemForm.MatchString(raw) && (indent(raw) < 4 || inItem):
			m := itemForm.FindStringSubmatch(raw)
			l.kind, l.level, l.mark, l.text = kindItem, indent(raw), m[2], m[3]
			inItem = true
		case indent(raw) >= 4 && !inItem && (after == kindBlank || after == kindCode || after == kindHeading):
			l.kind = kindCode
		case strings.HasPrefix(l.text, "|"):
			l.kind = kindRow
		case strings.HasPrefix(l.text, ">"):
			l.kind = kindQuote
		default:
			if indent(raw) == 0 && after == kindBlank {
				inItem = false
			}
			l.kind, l.level = kindText, indent(raw)
		}
		after = l.kind
		all = append(all, l)
	}
	return all
}

// indent is how far a line is set in; a tab goes to the next fourth column.
func indent(raw string) int {
	n := 0
	for _, r := range raw {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

var (
	goalHeading = regexp.MustCompile(`(?i)^[\d.\s]*(the |our )?(goals?|requirements?|aims?|tasks?|features?|acceptance( criteria)?|deliverables|what (it|is) (shall|must|has to) .*|to ?do)\b`)
	notGoals    = regexp.MustCompile(`(?i)\b(non-?goals?|out of scope|background|introduction|intro|motivation|overview|glossary|terms|references?|notes?|context|questions?|open points?|history|licen[cs]e|not (in|part of) .*)\b`)
	checkForm   = regexp.MustCompile(`(?i)^(?:[-*+][ \t]+)?[*_]{0,2}(checks?|checked by|check command|verified by|verify with|accepted when|acceptance test|test command)[*_]{0,2}[ \t]*:[*_]{0,2}[ \t]*(.*)$`)
	code        = regexp.MustCompile("`+([^`]+)`+")
)

// checkOf is the command of a line that gives one; ok says that it is such a line.
func checkOf(text string) (command string, ok bool) {
	m := checkForm.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	var parts []string
	for _, c := range code.FindAllStringSubmatch(m[2], -1) {
		parts = append(parts, strings.TrimSpace(c[1]))
	}
	if len(parts) > 0 {
		return strings.Join(parts, " && "), true
	}
	return strings.TrimSpace(m[2]), true
}

// title is the text's first heading, or its first line.
func title(all []line) string {
	for _, l := range all {
		if l.kind == kindHeading {
			return l.text
		}
	}
	for _, l := range all {
		if l.text != "" {
			return l.text
		}
	}
	return ""
}
