package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// tokenCount is a flag: a number of tokens, as 65536 or 64k.
type tokenCount int

// String implements pflag.Value.
func (t *tokenCount) String() string { return strconv.Itoa(int(*t)) }

// Type implements pflag.Value.
func (*tokenCount) Type() string { return "tokens" }

// Set implements pflag.Value.
func (t *tokenCount) Set(text string) error {
	n, err := parseTokens(text)
	if err == nil {
		*t = tokenCount(n)
	}
	return err
}

// mostTokens is beyond any context.
const mostTokens = 1 << 30

// parseTokens reads "65536", "64k", "1.5k" or "1m"; k is 1024 and m its square.
func parseTokens(text string) (int, error) {
	lower := strings.ToLower(text)
	digits := strings.TrimRight(lower, "km")
	factor, ok := map[string]float64{"": 1, "k": 1 << 10, "m": 1 << 20}[lower[len(digits):]]
	n, err := strconv.ParseFloat(digits, 64)
	if n *= factor; err != nil || !ok || n < 0 || n > mostTokens || n != math.Trunc(n) {
		return 0, fmt.Errorf("%q is not a number of tokens; write for example 65536 or 64k", text)
	}
	return int(n), nil
}

// leastMemory is what nobody means by an amount of memory: a number whose unit
// was forgotten.
const leastMemory = 1 << 20

// memoryBytes reads an amount of a device's memory.
func memoryBytes(text string) (uint64, error) {
	n, err := diskBytes(text)
	if err == nil && n < leastMemory {
		err = fmt.Errorf("%q is %d bytes; name the unit, for example 24GiB", text, n)
	}
	return uint64(max(n, 0)), err
}

// diskBytes reads a size such as 200GiB, 1.5TB or 1000.
func diskBytes(s string) (int64, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	end := strings.TrimLeft(text, "0123456789.")
	unit := strings.TrimSpace(end)
	units := map[string]float64{"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
	factor, ok := units[unit]
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, end), 64)
	if bytes := n * factor; err != nil || !ok || bytes < 1 || bytes >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is no size; write for example 200GiB or 500GB", s)
	}
	return int64(n * factor), nil
}
