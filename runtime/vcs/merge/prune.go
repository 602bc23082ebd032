package merge

// Rules of thumb for lines that are too common to say anything.
const (
	mostCommon = 1024 // matches that are always too many
	window     = 100  // lines looked at around a common line
	crowd      = 4    // a common line is left out if its surroundings match this much less than they are common
)

// How often a line is in the other text.
const (
	absent = iota
	rare
	common
)

// keep lists the lines of one text that are worth searching: those between first
// and last which are in the other text too, less common ones (blank lines, braces)
// amid lines that are not. What it leaves out counts as changed.
func keep(class []int32, first, last int, others func(class int32) int) []int32 {
	limit := min(roughRoot(len(class)), mostCommon)
	how := make([]uint8, last-first)
	for i := range how {
		switch n := others(class[first+i]); {
		case n == 0:
			how[i] = absent
		case n >= limit:
			how[i] = common
		default:
			how[i] = rare
		}
	}
	var kept []int32
	for i, h := range how {
		if h == rare || h == common && !lost(how, i) {
			kept = append(kept, int32(first+i))
		}
	}
	return kept
}

// lost reports whether the common line i stands in a run of lines most of which
// the other text has not got.
func lost(how []uint8, i int) bool {
	var n [3]int
	n[common] = 1
	for step := -1; step <= 1; step += 2 {
		before := n[absent]
		for j, left := i+step, window; j >= 0 && j < len(how) && left > 0 && how[j] != rare; j, left = j+step, left-1 {
			n[how[j]]++
		}
		if n[absent] == before {
			return false
		}
	}
	// Both directions start at line i, so it counts in each.
	return (n[common]+1)*crowd < n[common]+1+n[absent]
}
