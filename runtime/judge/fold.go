package judge

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Code in other languages is not parsed but folded: its texts are found, and what the
// usual ways of hiding a word do to them (joining, codes of characters, encodings,
// turning round) is carried out, whatever the language. In between, a text stands
// between two marks that no code holds.
const (
	from = "\uE000"
	till = "\uE001"
)

// Bounds of folding.
const (
	maxFold   = 32 << 10
	maxRounds = 40
)

// folded is code after folding, and the texts in it.
type folded struct {
	text  string
	texts []string
}

// fold folds code.
func fold(code string) folded {
	if len(code) > maxFold {
		return folded{text: code}
	}
	code = words.ReplaceAllStringFunc(code, func(list string) string {
		return `["` + strings.Join(strings.Fields(list[3:len(list)-1]), `","`) + `"]`
	})
	s := wide2narrow(tokens(strings.NewReplacer(from, " ", till, " ").Replace(code)))
	for range maxRounds {
		next := s
		for _, w := range ways {
			next = w.carryOut(next)
		}
		next = named(next)
		if next == s || len(next) > 2*maxFold {
			break
		}
		s = next
	}
	f := folded{text: strings.NewReplacer(from, `"`, till, `"`).Replace(s)}
	for _, m := range aText.FindAllStringSubmatch(s, 400) {
		f.texts = append(f.texts, m[1])
	}
	return f
}

// words are Ruby's lists of words.
var words = regexp.MustCompile(`%w(?:\[[^\]"]*\]|\([^)"]*\)|\{[^}"]*\})`)

var aText = regexp.MustCompile(from + "([^" + from + till + "]*)" + till)

// wide2narrow writes letters of full width as the languages read them.
func wide2narrow(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 0xFF01 && c <= 0xFF5E {
			return c - 0xFEE0
		}
		return c
	}, s)
}

// tokens marks the texts of code. A quote that is not closed on its line is none.
func tokens(code string) string {
	var out strings.Builder
	for i := 0; i < len(code); {
		open, end, body := quoted(code[i:])
		if end == 0 {
			_, n := utf8.DecodeRuneInString(code[i:])
			out.WriteString(code[i : i+n])
			i += n
			continue
		}
		// b"", r'' and f"" are texts as well.
		kept := strings.TrimRight(out.String(), "bBrRuUfF")
		if last, _ := utf8.DecodeLastRuneInString(kept); out.Len()-len(kept) <= 2 && !unicode.IsLetter(last) && last != '_' && !unicode.IsDigit(last) && last != '%' {
			rest := kept
			out.Reset()
			out.WriteString(rest)
		}
		if open != "'" || strings.Contains(body, `\x`) || strings.Contains(body, `\u`) || strings.Contains(body, `\'`) {
			body = unescape(body)
		}
		out.WriteString(from + body + till)
		i += end
	}
	return out.String()
}

// quoted is a text at the beginning of code: its quote, its length with quotes, and
// what stands between them.
func quoted(code string) (open string, length int, body string) {
	pair := func(open, end string) (string, int, string) {
		for j := len(open); j < len(code); j++ {
			switch {
			case code[j] == '\\':
				j++
			case strings.HasPrefix(code[j:], end):
				return open, j + len(end), code[len(open):j]
			case code[j] == '\n' && len(open) == 1 && open != "`":
				return "", 0, ""
			}
		}
		return "", 0, ""
	}
	for _, q := range []string{`"""`, `'''`, `"`, `'`, "`"} {
		if strings.HasPrefix(code, q) {
			return pair(q, q)
		}
	}
	for _, q := range []string{"%q(", "%Q(", "%x(", "qq(", "qx(", "q(", "%q{", "%Q{", "%x{", "qq{", "qx{", "q{", "%x[", "qx[", "qq[", "q["} {
		if strings.HasPrefix(code, q) {
			return pair(q, string(map[byte]byte{'(': ')', '{': '}', '[': ']'}[q[len(q)-1]]))
		}
	}
	return "", 0, ""
}

var escapes = regexp.MustCompile(`\\(x\{?[0-9a-fA-F]{1,6}\}?|u\{?[0-9a-fA-F]{2,6}\}?|[0-7]{1,3}|.)`)

// unescape carries out the escapes that most languages share.
func unescape(s string) string {
	return escapes.ReplaceAllStringFunc(s, func(e string) string {
		body := e[1:]
		switch c := body[0]; {
		case c == 'n':
			return "\n"
		case c == 't':
			return "\t"
		case (c == 'x' || c == 'u') && len(body) > 1:
			if n, err := strconv.ParseUint(strings.Trim(body[1:], "{}"), 16, 32); err == nil {
				return string(rune(n))
			}
		case c >= '0' && c <= '7':
			if n, err := strconv.ParseUint(body, 8, 32); err == nil && n > 0 {
				return string(rune(n))
			}
		case strings.ContainsRune(`"'\`+"`$/", rune(c)):
			return body
		}
		return e
	})
}

var assigns = pattern(`([$@]?[\p{L}_][\p{L}\p{N}_]*)\s*(\+|\.|:)?=\s*§[ \t]*(?:[;,)}\n\r]|$|\bfor\b)`)

// named puts the texts that names are given in place of the names.
func named(s string) string {
	values := map[string]string{}
	var names []string
	for _, m := range assigns.FindAllStringSubmatch(s, 100) {
		if _, ok := values[m[1]]; !ok {
			names = append(names, m[1])
		}
		if m[2] == "+" || m[2] == "." {
			values[m[1]] += m[3]
		} else {
			values[m[1]] = m[3]
		}
	}
	slices.Sort(names)
	for _, n := range names {
		if len(s) > 2*maxFold {
			break
		}
		s = used(s, n, values[n])
	}
	return s
}

// used puts a text in place of a name, but where the name is given a text. Within
// texts it stands as $name, ${name}, #{name} or {name}.
func used(s, name, value string) string {
	bare := strings.TrimLeft(name, "$@")
	x := regexp.MustCompile(from + "[^" + from + till + "]*" + till + `|[$@][\p{L}_][\p{L}\p{N}_]*|[\p{L}\p{N}_.]+`)
	var out strings.Builder
	last := 0
	for _, at := range x.FindAllStringIndex(s, -1) {
		word := s[at[0]:at[1]]
		out.WriteString(s[last:at[0]])
		last = at[1]
		rest := strings.TrimLeft(s[last:], " \t")
		set := strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "==") || strings.HasPrefix(rest, ":=") || strings.HasPrefix(rest, "+=") || strings.HasPrefix(rest, ".=")
		switch {
		case strings.HasPrefix(word, from):
			inner := strings.NewReplacer("${"+bare+"}", value, "#{"+bare+"}", value, "{"+bare+"}", value).Replace(word)
			if strings.HasPrefix(name, "$") {
				inner = strings.ReplaceAll(inner, name, value)
			}
			out.WriteString(inner)
		case word == name && !set:
			out.WriteString(from + value + till)
		default:
			out.WriteString(word)
		}
	}
	out.WriteString(s[last:])
	return out.String()
}
