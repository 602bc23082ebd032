package chat

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// maxFormat is the longest format that strftime takes, in bytes; a directive
// makes a few dozen bytes of two.
const maxFormat = 1 << 12

// goLayouts are the directives that Go's own layouts express.
var goLayouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January",
	'd': "02", 'e': "_2", 'm': "01", 'y': "06", 'Y': "2006",
	'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'f': "000000",
	'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05",
	'D': "01/02/06", 'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'r': "03:04:05 PM",
}

// strftime formats a time as Python's datetime.strftime does in the C locale
// for a time without a zone: %z and %Z are empty. %-d and its like drop the
// zero in front. An unknown directive stays as it is.
func strftime(t time.Time, format string) (string, error) {
	if t.IsZero() {
		return "", errors.New("strftime_now: the caller gave no time")
	}
	if len(format) > maxFormat {
		return "", errors.New("strftime_now: the format is too long")
	}
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(format, "%")
		b.WriteString(text)
		if !found {
			return b.String(), nil
		}
		bare := strings.HasPrefix(rest, "-")
		directive := strings.TrimPrefix(rest, "-")
		if directive == "" {
			b.WriteString("%" + rest)
			return b.String(), nil
		}
		out, ok := formatTime(t, directive[0])
		switch {
		case !ok:
			b.WriteString("%" + rest[:len(rest)-len(directive)+1])
		case bare && len(out) > 1:
			b.WriteString(strings.TrimLeft(out[:len(out)-1], "0 ") + out[len(out)-1:])
		default:
			b.WriteString(out)
		}
		format = directive[1:]
	}
}

func formatTime(t time.Time, directive byte) (string, bool) {
	if layout, ok := goLayouts[directive]; ok {
		if directive == 'f' {
			return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
		}
		return t.Format(layout), true
	}
	year, week := t.ISOWeek()
	switch directive {
	case '%':
		return "%", true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'z', 'Z':
		return "", true
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay()), true
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100), true
	case 'k':
		return fmt.Sprintf("%2d", t.Hour()), true
	case 'l':
		return fmt.Sprintf("%2d", (t.Hour()+11)%12+1), true
	case 'w':
		return fmt.Sprint(int(t.Weekday())), true
	case 'u':
		return fmt.Sprint((int(t.Weekday())+6)%7 + 1), true
	case 'U':
		return fmt.Sprintf("%02d", (t.YearDay()+6-int(t.Weekday()))/7), true
	case 'W':
		return fmt.Sprintf("%02d", (t.YearDay()+6-(int(t.Weekday())+6)%7)/7), true
	case 'V':
		return fmt.Sprintf("%02d", week), true
	case 'G':
		return fmt.Sprint(year), true
	case 'g':
		return fmt.Sprintf("%02d", year%100), true
	}
	return "", false
}
