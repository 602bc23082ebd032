package clause

import (
	"strconv"
	"strings"
)

var (
	ones = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
		"thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"}
	tens     = []string{"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
	powers   = []string{"", " thousand", " million", " billion", " trillion", " quadrillion", " quintillion"}
	ordinals = map[string]string{"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth", "twelve": "twelfth"}
	currency = map[string]string{"$": "dollars", "€": "euros", "£": "pounds", "₩": "won"}
)

// English writes a number in words: 1,204 is "one thousand two hundred four".
func English(n uint64) string {
	if n == 0 {
		return "zero"
	}
	var parts []string
	for power := 0; n > 0; power++ {
		if group := n % 1000; group > 0 {
			parts = append([]string{hundreds(int(group)) + powers[power]}, parts...)
		}
		n /= 1000
	}
	return strings.Join(parts, " ")
}

func hundreds(n int) string {
	var parts []string
	if n >= 100 {
		parts = append(parts, ones[n/100]+" hundred")
		n %= 100
	}
	switch {
	case n == 0:
	case n < 20:
		parts = append(parts, ones[n])
	case n%10 == 0:
		parts = append(parts, tens[n/10])
	default:
		parts = append(parts, tens[n/10]+"-"+ones[n%10])
	}
	return strings.Join(parts, " ")
}

// year says 1984 as "nineteen eighty-four".
func year(n uint64) string {
	high, low := n/100, n%100
	switch {
	case low == 0:
		return English(high) + " hundred"
	case low < 10:
		return English(high) + " oh " + English(low)
	}
	return English(high) + " " + English(low)
}

func ordinal(n uint64) string {
	words := English(n)
	at := strings.LastIndexAny(words, " -") + 1
	last := words[at:]
	switch {
	case ordinals[last] != "":
		last = ordinals[last]
	case strings.HasSuffix(last, "y"):
		last = last[:len(last)-1] + "ieth"
	default:
		last += "th"
	}
	return words[:at] + last
}

func digits(s string, names []string, between string) string {
	words := make([]string, len(s))
	for i := range s {
		words[i] = names[s[i]-'0']
	}
	return strings.Join(words, between)
}

func englishNumbers(text string) string {
	text = clock.ReplaceAllStringFunc(text, func(t string) string {
		hour, minute, _ := strings.Cut(t, ":")
		h, _ := strconv.ParseUint(hour, 10, 64)
		m, _ := strconv.ParseUint(minute, 10, 64)
		switch {
		case m == 0:
			return English(h) + " o'clock"
		case m < 10:
			return English(h) + " oh " + English(m)
		}
		return English(h) + " " + English(m)
	})
	return eachNumber(text, func(sign, whole, decimals, unit, after string) (string, int) {
		grouped := strings.Contains(whole, ",")
		whole = strings.ReplaceAll(whole, ",", "")
		n, err := strconv.ParseUint(whole, 10, 64)
		if err != nil {
			return digits(whole, ones, " "), 0
		}
		var words string
		switch {
		case len(whole) > 1 && whole[0] == '0':
			words = digits(whole, ones, " ")
		case unit == "st" || unit == "nd" || unit == "rd" || unit == "th":
			return ordinal(n), 0
		case !grouped && sign == "" && decimals == "" && unit == "" && len(whole) == 4 && (n >= 1100 && n < 2000 || n >= 2010 && n < 2100):
			words = year(n)
		default:
			words = English(n)
		}
		if decimals != "" {
			words += " point " + digits(decimals, ones, " ")
		}
		if sign == "-" || sign == "−" {
			words = "minus " + words
		} else if sign != "" {
			words += " " + currency[sign]
		}
		if unit == "%" {
			words += " percent"
		}
		return words, 0
	})
}
