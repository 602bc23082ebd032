package postgres

import (
	"slices"
	"strings"

	"dure/runtime/board"
)

// named finds the tables that a statement reads and the one that it writes (true), if
// that is certain from its words alone: every table's name in it stands behind FROM or
// JOIN, or where INSERT, UPDATE or DELETE has its own, or is one that does elsewhere in
// it. What could deceive (names in other quotes, escapes, comments, WITH, the other uses
// of FROM) makes it uncertain, and the server is asked, which costs as much as a small
// statement itself. Who is right about a table matters for the account only; what a
// statement may do is decided by the server.
func named(sql string, tables map[string]*shape) (touched map[string]bool, certain bool) {
	if strings.ContainsAny(sql, `\&"`) || strings.Contains(sql, "--") || strings.Contains(sql, "/*") || quoting(sql) {
		return map[string]bool{}, false
	}
	seen := make(map[string]bool) // true: it stands where it is certain
	target, before, n := "", [2]string{}, 0
	for rest := sql; rest != ""; {
		word, after, kind := cut(rest)
		rest = after
		if kind == open {
			return map[string]bool{}, false
		}
		if word == "" {
			continue
		}
		if kind == name {
			word = strings.ToLower(word)
		}
		switch {
		case kind != name:
		case slices.Contains(deceiving, word), word == "distinct" && (before[1] == "is" || before[1] == "not"):
			return map[string]bool{}, false
		case tables[word] != nil && (n == 1 && before[1] == "update" || n == 2 && (before == [2]string{"insert", "into"} || before == [2]string{"delete", "from"})):
			seen[word], target = true, word
		case tables[word] != nil:
			seen[word] = seen[word] || before[1] == "from" || before[1] == "join"
		}
		before, n = [2]string{before[1], word}, n+1
	}
	touched = make(map[string]bool)
	for table, sure := range seen {
		if !sure {
			return map[string]bool{}, false
		}
		touched[table] = table == target
	}
	return touched, target != "" || !verbs[board.First(sql)]
}

// deceiving are words with FROM of their own, or behind which anything may be.
var deceiving = []string{"with", "extract", "substring", "overlay", "trim", "position"}

// quoting reports whether a dollar is more than the number of a parameter.
func quoting(sql string) bool {
	for i := range len(sql) {
		if sql[i] != '$' {
			continue
		}
		if i+1 == len(sql) || sql[i+1] < '0' || sql[i+1] > '9' || i > 0 && (letter(sql[i-1]) || sql[i-1] == '$') {
			return true
		}
	}
	return false
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
