package judge

import (
	"regexp"
	"strconv"
	"strings"
)

// A way is one way of writing a text as something else.
type way struct {
	form *regexp.Regexp
	text func(m []string) (string, bool) // of the groups
}

func (w way) carryOut(s string) string {
	return w.form.ReplaceAllStringFunc(s, func(found string) string {
		m := w.form.FindStringSubmatch(found)
		text, ok := w.text(m)
		if !ok || len(text) > maxFold {
			return found
		}
		return from + strings.NewReplacer(from, "", till, "").Replace(text) + till
	})
}

// pattern compiles an expression in which § is a text, its content a group.
func pattern(x string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(x, "§", from+"([^"+from+till+"]*)"+till))
}

// some is an expression for several texts with commas, all of them one group.
const some = `(` + from + `[^` + from + till + `]*` + till + `(?:\s*,\s*` + from + `[^` + from + till + `]*` + till + `)*)\s*,?\s*`

const numbers = `((?:0x[0-9a-fA-F]+|\d+)(?:\s*,\s*(?:0x[0-9a-fA-F]+|\d+))*)\s*,?\s*`

func listOf(group string) []string {
	var all []string
	for _, m := range aText.FindAllStringSubmatch(group, -1) {
		all = append(all, m[1])
	}
	return all
}

// characters makes a text of the codes of its characters.
func characters(list string) (string, bool) {
	var out strings.Builder
	for n := range strings.SplitSeq(list, ",") {
		if n = strings.TrimSpace(n); n == "" {
			continue
		}
		v, err := strconv.ParseUint(n, 0, 21)
		if err != nil {
			return "", false
		}
		out.WriteRune(rune(v))
	}
	return out.String(), true
}

func first(m []string) (string, bool) { return m[1], true }

func known(s string) (string, bool) { return s, !open(s) }

func turned(m []string) (string, bool) { return reverse(m[1]), true }

func replaced(m []string) (string, bool) {
	if m[2] == "" || len(m[1]) > 1024 || len(m[3]) > 256 {
		return "", false
	}
	return strings.ReplaceAll(m[1], m[2], m[3]), true
}

func swapped(m []string) (string, bool) { return replaced([]string{"", m[3], m[1], m[2]}) }

func decodes(how string) func(m []string) (string, bool) {
	return func(m []string) (string, bool) { return decodedAs(how, m[1]) }
}

// decodedAs decodes a text by the name of its encoding.
func decodedAs(how, s string) (string, bool) {
	how = strings.ToLower(how)
	switch {
	case strings.HasPrefix(how, "base64"), how == "m", how == "m0":
		s = strings.NewReplacer("-", "+", "_", "/").Replace(squeeze(s))
		return known(filter("base64", []string{"-d"}, padded(s)))
	case how == "base32":
		return known(filter("base32", []string{"-d"}, s))
	case strings.HasPrefix(how, "h"):
		return known(filter("xxd", []string{"-r", "-p"}, s))
	case strings.HasPrefix(how, "rot"):
		return translate("A-Za-z", "N-ZA-Mn-za-m", s), true
	case strings.HasPrefix(how, "utf"), how == "ascii", how == "latin1", how == "":
		return s, true
	}
	return "", false
}

func padded(s string) string {
	s = strings.TrimRight(s, "=")
	return s + strings.Repeat("=", (4-len(s)%4)%4)
}

func joined(by, list string) (string, bool) {
	all := listOf(list)
	return strings.Join(all, by), len(all) > 0
}

// ways are tried in turn, round after round, until nothing changes.
var ways = []way{
	{pattern(`\b(?:chr|unichr|string|rune)\s*\(\s*(?:rune\(\s*)?(0x[0-9a-fA-F]+|\d{1,6})\s*\)?\s*\)`), func(m []string) (string, bool) { return characters(m[1]) }},
	{pattern(`\b(\d{1,6})\.chr\b(?:\(\))?`), func(m []string) (string, bool) { return characters(m[1]) }},
	{pattern(`String\.from(?:CharCode|CodePoint)\(\s*(?:\.\.\.)?\[?` + numbers + `\]?\)`), func(m []string) (string, bool) { return characters(m[1]) }},
	{pattern(`\b(?:bytes|bytearray)\(\s*[\[(]` + numbers + `[\])]\s*\)`), func(m []string) (string, bool) { return characters(m[1]) }},
	{pattern(`(?:string\()?\[\]byte\{` + numbers + `\}\)?`), func(m []string) (string, bool) { return characters(m[1]) }},
	{pattern(`\b(?:map|list\(map|array_map)\(\s*` + `(?:chr|` + from + `chr` + till + `)\s*,\s*\(?\[?\(?` + numbers + `\]?\)?\s*\)?\)`), func(m []string) (string, bool) { return characters(m[1]) }},
	{pattern(`\[?\(?chr\(\s*\w+\s*\)\s*for\s+\w+\s+in\s*[\[(]` + numbers + `[\])]\)?\]?`), func(m []string) (string, bool) { return characters(m[1]) }},
	{pattern(`\[` + numbers + `\]\.(?:map|collect)\b[^` + from + till + `;\n]{0,60}?(?:chr|fromCharCode)[^` + from + till + `;\n.]{0,12}`), func(m []string) (string, bool) { return characters(m[1]) }},
	{pattern(`\bmap\s*\{?\s*chr\b[^` + from + till + `;\n\d]{0,12}` + numbers), func(m []string) (string, bool) { return characters(m[1]) }},
	{pattern(`\[` + numbers + `\]\.pack\(?\s*` + from + `[cCUW]\*` + till + `\s*\)?`), func(m []string) (string, bool) { return characters(m[1]) }},
	{pattern(`\bpack\(?\s*` + from + `[cCUW]\*` + till + `\s*,\s*` + numbers), func(m []string) (string, bool) { return characters(m[1]) }},
	{pattern(`§(?:\s*(?:\+|\.\.|\.|~|<<)\s*|[ \t]+|)§`), func(m []string) (string, bool) { return m[1] + m[2], true }},
	{pattern(`§\.join\(\s*\(?\[?\s*` + some + `\]?\)?\s*\)`), func(m []string) (string, bool) { return joined(m[1], m[2]) }},
	{pattern(`[\[(]\s*` + some + `[\])]\.join(?:\(\s*§\s*\)|\(\s*\)|\b)`), func(m []string) (string, bool) { return joined(m[2], m[1]) }},
	{pattern(`\b(?:implode|join)\(?\s*§\s*,\s*[\[(]?\s*` + some + `[\])]?\s*\)?`), func(m []string) (string, bool) { return joined(m[1], m[2]) }},
	{pattern(`strings\.Join\(\s*\[\]string\{` + some + `\}\s*,\s*§\s*\)`), func(m []string) (string, bool) { return joined(m[2], m[1]) }},
	{pattern(`(?:[\w.)(]*[.:])?(?:urlsafe_|standard_)?(?:b64decode|atob|base64_decode|decode_base64|decodebytes|(?:strict_|urlsafe_)?decode64|a2b_base64|StdEncoding\.DecodeString)\(\s*§\s*\)?`), decodes("base64")},
	{pattern(`(?:[\w.)(]*\.)?(?:fromhex|unhexlify|a2b_hex|hex2bin|hex\.DecodeString)\(\s*§\s*\)`), decodes("hex")},
	{pattern(`(?:[\w.)(]*\.)?b32decode\(\s*§\s*\)`), decodes("base32")},
	{pattern(`(?:new\s+)?Buffer(?:\.from)?\(\s*§\s*,\s*§\s*\)`), func(m []string) (string, bool) { return decodedAs(m[2], m[1]) }},
	{pattern(`(?:\w+\.)?decode\(\s*§\s*,\s*§\s*\)`), func(m []string) (string, bool) { return decodedAs(m[2], m[1]) }},
	{pattern(`\[?\s*§\s*\]?\.(?:unpack1?|pack)\(?\s*§\s*\)?(?:\[0\]|\.first\b)?`), func(m []string) (string, bool) { return decodedAs(m[2], m[1]) }},
	{pattern(`\b(?:un)?pack\(?\s*` + from + `([hHum])\*?` + till + `\s*,\s*§\s*\)?`), func(m []string) (string, bool) { return decodedAs(m[1], m[2]) }},
	{pattern(`\bstr_rot13\(\s*§\s*\)`), decodes("rot13")},
	{pattern(`\b(?:strrev|reversed|scalar\s+reverse|reverse|string\.reverse)\s*\(?\s*§\s*\)?`), turned},
	{pattern(`§\[::-1\]`), turned},
	{pattern(`§\.split\([^)]*\)\.reverse\(\)\.join\([^)]*\)`), turned},
	{pattern(`§[.:]reverse\b(?:\(\))?`), turned},
	{pattern(`\[\.\.\.§\]`), first},
	{pattern(`§\.(?:decode|encode|toString|strip|trim|to_s|chars|String|lower|toLowerCase|downcase)\(\s*(?:` + from + `(?:utf-?8|ascii|latin1)` + till + `)?\s*\)`), first},
	{pattern(`\b(?:decodeURIComponent|decodeURI|unescape|unquote|urldecode|rawurldecode|CGI\.unescape)\(\s*§\s*\)`), func(m []string) (string, bool) { return percent(m[1]), true }},
	{pattern(`§\.(?:replace|replaceAll|gsub|sub|tr)\(\s*§\s*,\s*§\s*\)`), replaced},
	{pattern(`\b(?:str_replace|strtr)\(\s*§\s*,\s*§\s*,\s*§\s*\)`), swapped},
	{pattern(`\bstrings\.ReplaceAll\(\s*§\s*,\s*§\s*,\s*§\s*\)`), replaced},
	{pattern(`§\s*%\s*\(?\s*` + some + `\)?`), func(m []string) (string, bool) { return formatted(m[1], listOf(m[2])) }},
	{pattern(`\b(?:s?printf|fmt\.Sprintf|format)\(?\s*§\s*,\s*` + some + `\)?`), func(m []string) (string, bool) { return formatted(m[1], listOf(m[2])) }},
	{pattern(`§\.format\(\s*` + some + `\)`), func(m []string) (string, bool) { return formatted(strings.ReplaceAll(m[1], "{}", "%s"), listOf(m[2])) }},
	{pattern(`\(\s*§\s*\)`), first},
}

// formatted fills a format of words only.
func formatted(format string, words []string) (string, bool) {
	if strings.Count(format, "%s") != len(words) || strings.Count(format, "%") != len(words) {
		return "", false
	}
	for _, w := range words {
		format = strings.Replace(format, "%s", w, 1)
	}
	return format, true
}

var hexCode = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

func percent(s string) string {
	return hexCode.ReplaceAllStringFunc(s, func(h string) string {
		n, _ := strconv.ParseUint(h[1:], 16, 8) // two digits, by the expression
		return string(rune(n))
	})
}
