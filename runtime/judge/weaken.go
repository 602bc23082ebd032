package judge

import (
	"math"
	"strconv"
	"strings"
)

// A change of a test that asserts as often as before and less than before.

var (
	vague   = express(`\btoBe(?:Defined|Truthy)\b|\bnot\.toBe(?:Null|Undefined)\b|\bassertIsNotNone\b|\bassert(?:\.NotNil|NotNull)\b|\brequire\.NotNil\b|\bis not None\b|\bassert\w*\.NotEmpty\b|\bassertIsInstance\b|\btoBeInstanceOf\b|\bexpect\.anything\b|\bis_ok\(\)|\bis_some\(\)|!= nil\b|\bassert\s+\w+\s*$|\bANY\b|\bisinstance\(|\btypeof\b`)
	precise = express(`\btoEqual\b|\btoBe\(|\btoStrictEqual\b|\btoMatch\w*\b|\bassert(?:\w*Equals?|_eq!?)\b|\b(?:assert|require)\.(?:Equal|EqualValues|JSONEq|Exactly)\b|\bassert\b[^\n]*==|!=\s*(?:want\w*|expected\w*|"[^"]*"|\d)|\bDeepEqual\b|\bcmp\.Diff\b|\bXCTAssertEqual\b|\bEXPECT_EQ\b|\bASSERT_EQ\b|\bshould\s+eq\b|\beq\(`)
	near    = express(`(?i)\babs\(|\btol\w*|\beps\w*|\bdelta\b|\brel\b|\brtol\b|\batol\b|\bInDelta\b|\bapprox\b|\bInEpsilon\b|\bprecision\b`)
	aNumber = express(`\b\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b`)
	compare = express(`\b(?:assert\s+|assert\w*\(\s*(?:t,\s*)?|expect\(\s*|assert_eq!\(\s*|EXPECT_EQ\(\s*)([\w.\[\]()"']+?)\s*(?:==|,|\)\.to(?:Be|Equal|StrictEqual)\()\s*([\w.\[\]()"']+)`)
)

// weakened is what a test says instead of more; "" where it says as much.
func weakened(old, text string) string {
	if old == "" || len(old)+len(text) > 64<<10 {
		return ""
	}
	if v := vague.FindString(text); v != "" && len(precise.FindAllString(text, -1)) < len(precise.FindAllString(old, -1)) && len(vague.FindAllString(text, -1)) > len(vague.FindAllString(old, -1)) {
		return v
	}
	for _, m := range compare.FindAllStringSubmatch(text, 40) {
		left, right := m[1], strings.TrimSuffix(m[2], ")")
		if (left == right || left == m[2]) && !strings.Contains(old, m[0]) {
			return m[0]
		}
	}
	if near.MatchString(old) && near.MatchString(text) {
		before, after := aNumber.FindAllString(old, -1), aNumber.FindAllString(text, -1)
		for i := range min(len(before), len(after)) {
			b, err1 := strconv.ParseFloat(before[i], 64)
			a, err2 := strconv.ParseFloat(after[i], 64)
			if len(before) == len(after) && err1 == nil && err2 == nil && b > 0 && b < 10 && a >= 100*b && !math.IsInf(b, 0) {
				return after[i]
			}
		}
	}
	return ""
}
