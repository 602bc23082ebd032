package judge

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/expand"
)

var zeroOctal = regexp.MustCompile(`\\0([0-7]{1,3})`)

// percentB carries out the escapes of the words that printf prints by %b.
func percentB(args []string) []string {
	out := []string{strings.ReplaceAll(args[0], "%b", "%s")}
	for _, a := range args[1:] {
		s, _, err := expand.Format(&expand.Config{}, strings.ReplaceAll(zeroOctal.ReplaceAllString(a, `\$1`), "%", "%%"), nil)
		if err != nil {
			s = unknown
		}
		out = append(out, s)
	}
	return out
}

// wide are widths that make a large text of a small one.
var wide = regexp.MustCompile(`%[^a-zA-Z%]*(\d{4,}|\*)`)

func echo(args []string) string {
	escapes, newline := false, "\n"
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		escapes = escapes || strings.Contains(args[0], "e")
		if strings.Contains(args[0], "n") {
			newline = ""
		}
		args = args[1:]
	}
	s := strings.Join(args, " ")
	switch {
	case escapes:
		f, _, err := expand.Format(&expand.Config{}, s, nil)
		if err != nil {
			return unknown
		}
		s = f
	case strings.Contains(s, `\`):
		return unknown // shells differ about it
	}
	return s + newline
}

// filter carries out programs that only rewrite text.
func filter(program string, args []string, input string) string {
	decodes := false
	for _, a := range args {
		switch a {
		case "-d", "-D", "--decode", "-di", "-id":
			decodes = true
		}
	}
	switch program {
	case "base64":
		if decodes {
			return decoded(base64.StdEncoding.DecodeString(squeeze(input)))
		}
	case "base32":
		if decodes {
			return decoded(base32.StdEncoding.DecodeString(squeeze(input)))
		}
	case "xxd":
		if strings.Contains(strings.Join(args, ""), "r") {
			return decoded(hex.DecodeString(squeeze(input)))
		}
	case "rev":
		lines := strings.Split(input, "\n")
		for i, l := range lines {
			lines[i] = reverse(l)
		}
		return strings.Join(lines, "\n")
	case "tr":
		if len(args) == 2 && args[0] != "-d" {
			return translate(args[0], args[1], input)
		}
		if len(args) == 2 {
			set := expandRanges(args[1])
			return strings.Map(func(c rune) rune {
				if strings.ContainsRune(set, c) {
					return -1
				}
				return c
			}, input)
		}
	}
	return unknown
}

func decoded(b []byte, err error) string {
	if err != nil {
		return unknown
	}
	return strings.ToValidUTF8(string(b), unknown)
}

func squeeze(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return -1
		}
		return c
	}, s)
}

func reverse(s string) string {
	runes := []rune(s)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes)
}

// translate is tr for sets with ranges, as rot13 needs them.
func translate(from, to, s string) string {
	a, b := []rune(expandRanges(from)), []rune(expandRanges(to))
	if len(a) == 0 || len(b) == 0 {
		return unknown
	}
	return strings.Map(func(c rune) rune {
		for i, x := range a {
			if x == c {
				return b[min(i, len(b)-1)]
			}
		}
		return c
	}, s)
}

func expandRanges(set string) string {
	set = strings.NewReplacer(`\n`, "\n", `\t`, "\t", "[:space:]", " \n\t").Replace(set)
	runes := []rune(set)
	var out []rune
	for i := 0; i < len(runes); i++ {
		if i+2 < len(runes) && runes[i+1] == '-' && runes[i] <= runes[i+2] && runes[i+2]-runes[i] < 256 {
			for c := runes[i]; c <= runes[i+2]; c++ {
				out = append(out, c)
			}
			i += 2
			continue
		}
		out = append(out, runes[i])
	}
	return string(out)
}
