package postgres

import (
	"strings"
)

// named finds the tables that a statement reads, if that is certain from its words
// alone: every table's name in it stands behind FROM or JOIN, or is one that does
// elsewhere in it. What could deceive (names in other quotes, escapes, comments,
// WITH, the other uses of FROM) makes it uncertain, and the server is asked, which
// costs as much as a small statement itself. Who is right about a table matters for
// the account only; what a statement may do is decided by the server.
func named(sql string, tables map[string]*shape) (reads []string, certain bool) {
	if strings.ContainsAny(sql, `\$&"`) || strings.Contains(sql, "--") || strings.Contains(sql, "/*") {
		return nil, false
	}
	seen := make(map[string]bool) // tables; true: behind FROM or JOIN
	before := ""
	for rest := sql; rest != ""; {
		word, after, kind := cut(rest)
		rest = after
		switch {
		case kind == open:
			return nil, false
		case kind != name:
			before = word
			continue
		}
		word = strings.ToLower(word)
		switch word {
		case "with", "extract", "substring", "overlay", "trim", "position":
			return nil, false
		case "distinct":
			if before == "is" || before == "not" {
				return nil, false
			}
		}
		if tables[word] != nil {
			seen[word] = seen[word] || before == "from" || before == "join"
		}
		before = word
	}
	for table, sure := range seen {
		if !sure {
			return nil, false
		}
		reads = append(reads, table)
	}
	return reads, true
}

type kind int

const (
	other kind = iota
	name
	open // a text without its end
)

// cut takes a word, a text in quotes, or one other character. Spaces are nothing.
func cut(s string) (word, rest string, k kind) {
	s = strings.TrimLeft(s, " \t\r\n\f\v")
	if s == "" {
		return "", "", other
	}
	if s[0] == '\'' {
		i := strings.IndexByte(s[1:], '\'')
		if i < 0 {
			return "", "", open
		}
		return "'", s[i+2:], other
	}
	n := 0
	for n < len(s) && letter(s[n]) {
		n++
	}
	if n == 0 {
		return s[:1], s[1:], other
	}
	return s[:n], s[n:], name
}

func letter(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c >= 0x80
}
