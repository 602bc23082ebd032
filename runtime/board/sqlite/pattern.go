package sqlite

import (
	"errors"
	"strings"
	"unicode/utf8"
)

var errEscape = errors.New("ESCAPE expression must be a single character")

// A pattern is that of LIKE or GLOB, as parts to match one after the other.
type pattern []part

// A part is any text (many), or one character: any, of a set, or a certain one.
type part struct {
	many, any bool
	set       string // inside of [...], with not for [^...]
	not       bool
	isSet     bool
	r         rune
	fold      bool
}

func likePattern(s string, escape rune) pattern {
	var p pattern
	escaped := false
	for _, r := range s {
		switch {
		case !escaped && escape != 0 && r == escape:
			escaped = true
			continue
		case !escaped && r == '%':
			p = append(p, part{many: true})
		case !escaped && r == '_':
			p = append(p, part{any: true})
		default:
			p = append(p, part{r: lower(r), fold: true})
		}
		escaped = false
	}
	if escaped { // a lone escape matches nothing
		p = append(p, part{isSet: true})
	}
	return p
}

func globPattern(s string) pattern {
	var p pattern
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		switch r {
		case '*':
			p = append(p, part{many: true})
		case '?':
			p = append(p, part{any: true})
		case '[':
			set, rest, ok := class(s)
			if !ok {
				return append(p, part{isSet: true}) // never closed: matches nothing
			}
			p, s = append(p, set), rest
		default:
			p = append(p, part{r: r})
		}
	}
	return p
}

// class reads [...] after its bracket. A ']' that comes first is one of the set.
func class(s string) (part, string, bool) {
	p := part{isSet: true}
	if strings.HasPrefix(s, "^") {
		p.not = true
		s = s[1:]
	}
	from := 0
	if strings.HasPrefix(s, "]") {
		from = 1
	}
	end := strings.IndexByte(s[from:], ']')
	if end < 0 {
		return p, "", false
	}
	p.set = s[:from+end]
	return p, s[from+end+1:], true
}

// lower folds ASCII, as SQLite does.
func lower(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

func (p part) one(r rune) bool {
	switch {
	case p.any:
		return true
	case p.isSet:
		return p.in(r) != p.not
	case p.fold:
		return lower(r) == p.r
	}
	return r == p.r
}

// in looks for r in a set of characters and ranges.
func (p part) in(r rune) bool {
	runes := []rune(p.set)
	for i := 0; i < len(runes); i++ {
		if i+2 < len(runes) && runes[i+1] == '-' {
			if r >= runes[i] && r <= runes[i+2] {
				return true
			}
			i += 2
			continue
		}
		if r == runes[i] {
			return true
		}
	}
	return false
}

// match goes back only to the last part that takes many: what an earlier one could
// take differently changes nothing. It takes len(p)*len(s) at most.
func (p pattern) match(s string) bool {
	at, star, mark := 0, -1, ""
	for {
		switch {
		case at < len(p) && p[at].many:
			star, mark = at, s
			at++
			continue
		case s == "":
			return at == len(p) // a shorter rest would not do either
		case at < len(p):
			r, n := utf8.DecodeRuneInString(s)
			if p[at].one(r) {
				s = s[n:]
				at++
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(mark)
		mark = mark[n:]
		s, at = mark, star+1
	}
}
