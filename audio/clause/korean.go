package clause

import (
	"strconv"
	"strings"
)

var (
	sino   = []string{"영", "일", "이", "삼", "사", "오", "육", "칠", "팔", "구"}
	myriad = []string{"", "만", "억", "조", "경"}
	// Native numerals, as they stand before a counting word.
	nativeOnes = []string{"", "한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉"}
	nativeTens = []string{"", "열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔"}
	// Words that are counted with native numerals. Longer ones first.
	counters = []string{"가지", "군데", "마리", "사람", "시간", "개", "명", "번", "살", "시", "잔", "장", "대", "권", "벌", "달"}
	// Words that begin like one of them and are counted otherwise.
	notCounted = []string{"개월", "번째", "장관", "대학", "시스템", "명령", "개국"}
)

// Korean writes a number in Sino-Korean words: 12,304 is "만 이천삼백사".
func Korean(n uint64) string {
	if n == 0 {
		return sino[0]
	}
	var parts []string
	for power := 0; n > 0; power++ {
		if group := n % 10000; group > 0 {
			word := sinoGroup(int(group))
			if group == 1 && power == 1 {
				word = "" // 만, not 일만
			}
			parts = append([]string{word + myriad[power]}, parts...)
		}
		n /= 10000
	}
	return strings.Join(parts, " ")
}

func sinoGroup(n int) string {
	var out strings.Builder
	for i, unit := range []string{"천", "백", "십", ""} {
		div := []int{1000, 100, 10, 1}[i]
		digit := n / div % 10
		if digit == 0 {
			continue
		}
		if digit > 1 || unit == "" {
			out.WriteString(sino[digit])
		}
		out.WriteString(unit)
	}
	return out.String()
}

// native writes 1 to 99 in native numerals: 21 is "스물한", but 20 alone "스무".
func native(n uint64) string {
	if n == 20 {
		return "스무"
	}
	return nativeTens[n/10] + nativeOnes[n%10]
}

// counted reports whether what follows a number is counted with native numerals.
func counted(after string) bool {
	after = strings.TrimPrefix(after, " ")
	for _, w := range notCounted {
		if strings.HasPrefix(after, w) {
			return false
		}
	}
	for _, w := range counters {
		if strings.HasPrefix(after, w) {
			return true
		}
	}
	return false
}

func koreanNumbers(text string) string {
	text = clock.ReplaceAllStringFunc(text, func(t string) string {
		hour, minute, _ := strings.Cut(t, ":")
		h, _ := strconv.ParseUint(hour, 10, 64)
		m, _ := strconv.ParseUint(minute, 10, 64)
		said := Korean(h) + " 시"
		if h >= 1 && h <= 12 {
			said = native(h) + " 시"
		}
		if m > 0 {
			said += " " + Korean(m) + " 분"
		}
		return said
	})
	return eachNumber(text, func(sign, whole, decimals, unit, after string) (string, int) {
		whole = strings.ReplaceAll(whole, ",", "")
		n, err := strconv.ParseUint(whole, 10, 64)
		if err != nil || unit != "" && unit != "%" {
			return "", 0
		}
		var words string
		switch {
		case len(whole) > 1 && whole[0] == '0':
			words = digits(whole, append([]string{"공"}, sino[1:]...), "")
		case n >= 1 && n < 100 && sign == "" && decimals == "" && unit == "" && counted(after):
			words = native(n)
		default:
			words = Korean(n)
		}
		if decimals != "" {
			words += " 점 " + digits(decimals, sino, "")
		}
		switch {
		case sign == "-" || sign == "−":
			words = "마이너스 " + words
		case sign != "":
			words += " " + map[string]string{"$": "달러", "€": "유로", "£": "파운드", "₩": "원"}[sign]
		}
		if unit == "%" {
			words += " 퍼센트"
		}
		return words, 0
	})
}
