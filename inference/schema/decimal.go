package schema

import (
	"cmp"
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// decimal is a number exactly as JSON can write it. Equal numbers are equal values.
type decimal struct {
	negative bool
	whole    string // digits without zeros in front; empty below 1
	fraction string // digits without zeros behind
}

// maxExponent bounds the digits that a number may take when written out.
const maxExponent = 400

var errNumberRange = errors.New("a number has an exponent beyond 400")

// parseDecimal reads a number of JSON.
func parseDecimal(raw string) (decimal, error) {
	mantissa, exponent := raw, 0
	if i := strings.IndexAny(raw, "eE"); i >= 0 {
		n, err := strconv.Atoi(raw[i+1:])
		if err != nil || n > maxExponent || n < -maxExponent {
			return decimal{}, errNumberRange
		}
		mantissa, exponent = raw[:i], n
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits, point := whole+fraction, len(whole)+exponent
	if point < 0 {
		digits, point = strings.Repeat("0", -point)+digits, 0
	}
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	d := decimal{negative, strings.TrimLeft(digits[:point], "0"), strings.TrimRight(digits[point:], "0")}
	if d.zero() {
		d.negative = false
	}
	return d, nil
}

func (d decimal) zero() bool { return d.whole == "" && d.fraction == "" }

func (d decimal) integer() bool { return d.fraction == "" }

// negated is -d.
func (d decimal) negated() decimal {
	if !d.zero() {
		d.negative = !d.negative
	}
	return d
}

// compare is below 0 if d is less than e, above if it is more.
func (d decimal) compare(e decimal) int {
	if d.negative != e.negative {
		if d.negative {
			return -1
		}
		return 1
	}
	c := cmp.Or(cmp.Compare(len(d.whole), len(e.whole)), cmp.Compare(d.whole, e.whole), cmp.Compare(d.fraction, e.fraction))
	if d.negative {
		return -c
	}
	return c
}

// scaled is d times 10^places as an integer; places are at least those of d.
func (d decimal) scaled(places int) *big.Int {
	n, _ := new(big.Int).SetString("0"+d.whole+d.fraction+strings.Repeat("0", places-len(d.fraction)), 10)
	if d.negative {
		n.Neg(n)
	}
	return n
}

// multipleOf says whether d is an integer times step, which is above 0.
func (d decimal) multipleOf(step decimal) bool {
	places := max(len(d.fraction), len(step.fraction))
	return new(big.Int).Rem(d.scaled(places), step.scaled(places)).Sign() == 0
}

// commonMultiple is the least number above 0 that is a multiple of both.
func commonMultiple(a, b decimal) decimal {
	places := max(len(a.fraction), len(b.fraction))
	x, y := a.scaled(places), b.scaled(places)
	x.Mul(x.Quo(x, new(big.Int).GCD(nil, nil, x, y)), y)
	digits := x.String()
	if len(digits) <= places {
		digits = strings.Repeat("0", places-len(digits)+1) + digits
	}
	point := len(digits) - places
	return decimal{false, strings.TrimLeft(digits[:point], "0"), strings.TrimRight(digits[point:], "0")}
}

// bound is one end of a range of numbers.
type bound struct {
	decimal
	exclusive bool
}

// tighter returns the bound that leaves less, of two lower ones (sign 1) or two upper
// ones (sign -1). Either may be nil.
func tighter(a, b *bound, sign int) *bound {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	c := sign * a.compare(b.decimal)
	if c > 0 || c == 0 && a.exclusive {
		return a
	}
	return b
}

// apart says whether no number is both above the lower bound and below the upper one.
func apart(lower, upper *bound) bool {
	if lower == nil || upper == nil {
		return false
	}
	c := lower.compare(upper.decimal)
	return c > 0 || c == 0 && (lower.exclusive || upper.exclusive)
}

func (b *bound) allowsAbove(d decimal) bool {
	return b == nil || b.compare(d) < 0 || b.compare(d) == 0 && !b.exclusive
}

func (b *bound) allowsBelow(d decimal) bool {
	return b == nil || b.compare(d) > 0 || b.compare(d) == 0 && !b.exclusive
}
