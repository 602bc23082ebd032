package english

import (
	"math/big"
	"strings"
)

var (
	ones = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	tens = strings.Fields("_ _ twenty thirty forty fifty sixty seventy eighty ninety")
	// scales are the names of the powers of a thousand.
	scales    = strings.Fields("_ thousand million billion trillion quadrillion")
	irregular = map[string]string{"one": "first", "two": "second", "three": "third", "five": "fifth",
		"eight": "eighth", "nine": "ninth", "twelve": "twelfth"}
	money = map[rune][2]string{'$': {"dollar", "cent"}, '£': {"pound", "pence"}, '€': {"euro", "cent"}}
)

// say reads a number as words: "1,234", "-3.5", "2026", "21st", "$9.99", "7:30". What is
// longer than the words reach is read digit by digit.
func say(text string) []string {
	if text == "" {
		return nil
	}
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		return append([]string{"minus"}, say(rest)...)
	}
	if unit, ok := money[[]rune(text)[0]]; ok {
		return sayMoney(strings.TrimLeft(text, "$£€"), unit)
	}
	if hours, minutes, ok := strings.Cut(text, ":"); ok {
		return sayTime(hours, minutes)
	}
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	suffix := text[len(digits):]
	switch {
	case suffix == "s":
		words := say(digits)
		words[len(words)-1] = plural(words[len(words)-1])
		return words
	case suffix != "":
		return ordinal(cardinal(plainDigits(digits)))
	case strings.Count(digits, ".") == 1:
		whole, part, _ := strings.Cut(digits, ".")
		return append(append(cardinal(plainDigits(whole)), "point"), spell(part)...)
	case strings.Contains(digits, "."):
		var words []string
		for i, part := range strings.Split(digits, ".") { // an address or a version
			if i > 0 {
				words = append(words, "point")
			}
			words = append(words, cardinal(part)...)
		}
		return words
	case len(digits) == 4 && !strings.Contains(digits, ","):
		return year(digits)
	}
	return cardinal(plainDigits(digits))
}

func plainDigits(s string) string { return strings.ReplaceAll(s, ",", "") }

// cardinal reads digits as a number; a leading zero or too many digits are spelled.
func cardinal(digits string) []string {
	if len(digits) > 3*len(scales) || len(digits) > 1 && digits[0] == '0' {
		return spell(digits)
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return spell(digits)
	}
	left := int(n.Int64())
	if left == 0 {
		return []string{"zero"}
	}
	var words []string
	for power := len(scales) - 1; power >= 0; power-- {
		unit := 1
		for range power {
			unit *= 1000
		}
		group := left / unit
		left %= unit
		if group == 0 {
			continue
		}
		words = append(words, hundreds(group)...)
		if power > 0 {
			words = append(words, scales[power])
		}
	}
	return words
}

// hundreds reads 1 to 999.
func hundreds(n int) []string {
	var words []string
	if n >= 100 {
		words = append(words, ones[n/100], "hundred")
		n %= 100
	}
	if n >= 20 {
		words = append(words, tens[n/10])
		n %= 10
	}
	if n > 0 {
		words = append(words, ones[n])
	}
	return words
}

// spell reads digit by digit.
func spell(digits string) []string {
	var words []string
	for _, d := range digits {
		if d >= '0' && d <= '9' {
			words = append(words, ones[d-'0'])
		}
	}
	return words
}

// ordinal changes the last word of a cardinal.
func ordinal(words []string) []string {
	if len(words) == 0 {
		return words
	}
	end := &words[len(words)-1]
	switch w, ok := irregular[*end]; {
	case ok:
		*end = w
	case strings.HasSuffix(*end, "y"):
		*end = strings.TrimSuffix(*end, "y") + "ieth"
	default:
		*end += "th"
	}
	return words
}

// year reads four digits in pairs, as people read years: "nineteen oh five".
func year(digits string) []string {
	high, low := digits[:2], digits[2:]
	switch {
	case high == "00" || digits[1] == '0' && low[0] == '0':
		return cardinal(strings.TrimLeft(digits[:3], "0") + digits[3:])
	case low == "00":
		return append(cardinal(strings.TrimLeft(high, "0")), "hundred")
	case low[0] == '0':
		return append(cardinal(strings.TrimLeft(high, "0")), "oh", ones[low[1]-'0'])
	}
	return append(cardinal(strings.TrimLeft(high, "0")), cardinal(low)...)
}

func plural(w string) string {
	if strings.HasSuffix(w, "y") {
		return strings.TrimSuffix(w, "y") + "ies"
	}
	if strings.HasSuffix(w, "x") {
		return w + "es"
	}
	return w + "s"
}

func sayMoney(amount string, unit [2]string) []string {
	whole, part, _ := strings.Cut(plainDigits(amount), ".")
	name := func(words []string, unit string) []string {
		if len(words) != 1 || words[0] != "one" {
			unit = strings.TrimSuffix(plural(unit), "pences")
			if unit == "" {
				unit = "pence"
			}
		}
		return append(words, unit)
	}
	words := name(cardinal(whole), unit[0])
	if len(part) == 2 && part != "00" {
		words = append(append(words, "and"), name(cardinal(strings.TrimLeft(part, "0")), unit[1])...)
	}
	return words
}

func sayTime(hours, minutes string) []string {
	words := cardinal(strings.TrimLeft(hours, "0") + zeroIfEmpty(strings.TrimLeft(hours, "0")))
	switch {
	case minutes == "00":
		return append(words, "o'clock")
	case len(minutes) == 2 && minutes[0] == '0':
		return append(words, "oh", ones[minutes[1]-'0'])
	case len(minutes) == 2:
		return append(words, cardinal(minutes)...)
	}
	return append(words, say(minutes)...)
}

func zeroIfEmpty(s string) string {
	if s == "" {
		return "0"
	}
	return ""
}
