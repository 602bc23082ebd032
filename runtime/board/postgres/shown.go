package postgres

import (
	"strconv"
	"strings"
)

// shown is a value of a result as a board.Result has it: whole numbers and truth
// values are an int64, others a float64, all else its text.
func shown(oid uint32, text string) (any, error) {
	switch oid {
	case oidBool:
		if text == "t" {
			return int64(1), nil
		}
		return int64(0), nil
	case oidInt2, oidInt4, oidInt8:
		return strconv.ParseInt(text, 10, 64)
	case oidNumeric:
		if !strings.Contains(text, ".") {
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				return n, nil
			}
		}
		return real(text)
	case oidFloat4, oidFloat8:
		return real(text)
	}
	return text, nil
}

func real(text string) (any, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f-f != 0 {
		return nil, errNotFinite
	}
	return f, nil
}
